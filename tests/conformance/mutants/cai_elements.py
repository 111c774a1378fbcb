"""Consumers of the CUDA Array Interface that misread elements, or ignore a mask.

Source: CUDA Array Interface, version 3; NumPy array interface; `checks.cai_elements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi import parse_typestr
from interchange_conformance.checks._records import ATTRIBUTE

from ._honest_taker import Taker, honest_taker, taker_mutant, taker_of
from .model import mutant

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord
    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken


def _reading(typestr: str, instead: str) -> Subject:
    """Return a subject that reads elements of one typestr as those of another."""

    def layout_of(taker: Taker, record: InterfaceRecord) -> str:
        if str(record.typestr) == typestr:
            record = record._replace(typestr=parse_typestr(instead))
        return Taker.layout_of(taker, record)

    return taker_of(layout_of=layout_of)


@mutant("elements_are_read_as_the_typestr_says", counterpart=honest_taker)
def reads_unsigned_as_signed() -> Subject:
    """Reads unsigned bytes as signed."""
    return _reading("|u1", "|i1")


@mutant("elements_are_read_as_the_typestr_says", counterpart=honest_taker)
def reads_truth_values_as_bytes() -> Subject:
    """Reads bools as unsigned bytes, which are equal to them."""
    return _reading("|b1", "|u1")


@mutant("elements_are_read_as_the_typestr_says", counterpart=honest_taker)
def reads_halves_as_integers() -> Subject:
    """Reads float16 as integers of the same size."""
    return _reading("<f2", "<u2")


@taker_mutant("complex_elements_are_pairs", step="number")
def reads_real_parts(taker: Taker, data: bytes, at: int, taken: Taken) -> Any:
    """Reads only the real parts of complex elements."""
    found = Taker.number(taker, data, at, taken)
    little = taken.layout[0] == "<"
    return found.real if little and isinstance(found, complex) else found


@taker_mutant("foreign_byte_order_is_not_read_as_native", step="byte_order")
def ignores_the_byte_order(*_: object) -> Any:
    """Reads every element as little-endian."""
    return "<"


@mutant("ambiguous_elements_are_not_read_as_numbers", counterpart=honest_taker)
def reads_void_as_a_half() -> Subject:
    """Reads two bytes of void type as float16."""
    return _reading("<V2", "<f2")


@mutant("structures_are_not_read_as_numbers", counterpart=honest_taker)
def reads_structures_as_doubles() -> Subject:
    """Reads structures of eight bytes as float64."""
    return _reading("|V8", "<f8")


# ---------------------------------------------------------------- masks

_DATA: Final = (2, 3)


def _unmasked_if(is_ignored: Any) -> Subject:
    """Return a subject that ignores some masks."""

    def check_mask(taker: Taker, record: InterfaceRecord) -> None:
        if record.mask is not None and is_ignored(record.mask):
            return
        Taker.check_mask(taker, record)

    return taker_of(check_mask=check_mask)


def _shape_of(mask: Any) -> Any:
    """Return the shape of a mask; None if it has no record."""
    raw = getattr(mask, ATTRIBUTE, None)
    return raw and raw["shape"]


@mutant("masks_are_not_ignored", counterpart=honest_taker)
def ignores_masks() -> Subject:
    """Reads masked elements as valid, as JAX does."""
    return _unmasked_if(lambda mask: _shape_of(mask) == _DATA)


@mutant("what_is_no_mask_is_refused", counterpart=honest_taker)
def ignores_what_is_no_mask() -> Subject:
    """Ignores masks without a record."""
    return _unmasked_if(lambda mask: _shape_of(mask) is None)


@mutant("masks_of_another_shape_are_refused", counterpart=honest_taker)
def ignores_masks_of_another_shape() -> Subject:
    """Ignores masks whose shape does not match."""
    return _unmasked_if(lambda mask: _shape_of(mask) not in {None, _DATA})
