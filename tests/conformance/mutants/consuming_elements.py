"""Consumers that read elements as another type.

Source: the rules DLP-DTYPE-1, DLP-DTYPE-2 and DLP-DTYPE-5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._honest_consumer import Consumer, changed, consumer_mutant, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

Element = tuple[int, int, int]


def _reading(mistakes: dict[Element, Element]) -> Subject:
    """Return a consumer that treats some element types as others."""

    def element_of(consumer: Consumer, dtype: Any, managed: Any) -> Element:
        found = mistakes.get((dtype.code, dtype.bits, dtype.lanes))
        return found or Consumer.element_of(consumer, dtype, managed)

    return changed(element_of=element_of)


@mutant("elements_are_read_as_their_type_says", counterpart=honest)
def reads_bfloat16_as_float16() -> Subject:
    """It reads bfloat16 as float16."""
    return _reading({(4, 16, 1): (2, 16, 1)})


@mutant("elements_are_read_as_their_type_says", counterpart=honest)
def reads_float8_as_bytes() -> Subject:
    """It reads float8_e4m3fn as uint8, and exports it as uint8."""
    return _reading({(10, 8, 1): (1, 8, 1)})


@mutant("elements_are_read_as_their_type_says", counterpart=honest)
def reads_signed_numbers_as_unsigned_ones() -> Subject:
    """It reads int8 as uint8."""
    return _reading({(0, 8, 1): (1, 8, 1)})


@mutant("elements_are_read_as_their_type_says", counterpart=honest)
def reads_bools_as_bytes() -> Subject:
    """It reads bool as uint8."""
    return _reading({(6, 8, 1): (1, 8, 1)})


@mutant("unknown_element_types_are_not_read_as_others", counterpart=honest)
def reads_unknown_codes_as_floats() -> Subject:
    """It reads element types with unknown codes as float32."""
    return _reading({(99, 32, 1): (2, 32, 1)})


@mutant("unsettled_element_types_are_not_read", counterpart=honest)
def reads_bools_of_one_bit_as_bytes() -> Subject:
    """It reads bools of one bit as bools of one byte."""
    return _reading({(6, 1, 1): (6, 8, 1)})


@mutant("elements_of_no_size_are_not_read", counterpart=honest)
def reads_no_bits_as_the_usual_number() -> Subject:
    """It reads floats with 0 bits or 0 lanes as float32."""
    return _reading({(2, 0, 1): (2, 32, 1), (2, 32, 0): (2, 32, 1)})


@mutant("lanes_are_not_dropped", counterpart=honest)
def drops_lanes() -> Subject:
    """It reads an array of pairs as one of single numbers."""
    return _reading({(2, 32, 2): (2, 32, 1)})


@mutant("elements_below_8_bits_are_read_as_the_flag_says", counterpart=honest)
def reads_one_element_per_byte() -> Subject:
    """It reads packed elements of 4 bits as if each had a byte."""
    return _reading({(1, 4, 1): (1, 8, 1)})


@consumer_mutant("elements_below_8_bits_of_the_legacy_struct_are_packed", step="element_of")
def reads_one_element_per_byte_of_the_legacy_struct(
    consumer: Consumer, dtype: Any, managed: Any
) -> Element:
    """It reads 4-bit elements in a legacy struct as if each had a byte."""
    element = (dtype.code, dtype.bits, dtype.lanes)
    if element == (1, 4, 1) and not hasattr(managed, "flags"):
        return (1, 8, 1)
    return Consumer.element_of(consumer, dtype, managed)
