"""Consumers of the CUDA Array Interface that accept invalid records.

Source: CUDA Array Interface, version 3; `checks.cai_wrong`.  Most of them guess the intention.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import BrokenRule
from interchange_conformance.checks._records import ATTRIBUTE

from ._honest_taker import Taker, honest_taker, taker_mutant, taker_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.abi import InterfaceRecord
    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken

_PAGE: Final = 2**20  # lower addresses are never allocated


def _correcting(rule: str, correct: Callable[[Any], Any]) -> Subject:
    """Return a subject that corrects records which break a rule, and accepts them."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        try:
            return Taker.parse(taker, raw)
        except BrokenRule as broken:
            if broken.rule != rule or is_sloppy(raw):
                raise
            return Taker.parse(taker, correct(raw))

    return taker_of(parse=parse)


def is_sloppy(raw: Any) -> bool:
    """Return whether a record is one that NumPy or Python would accept."""
    if not isinstance(raw, dict):
        return False
    odd = raw.get("shape"), raw.get("typestr"), raw.get("version")
    return odd[0] == 6 or odd[1] in {"float32", "<f", "f4"} or odd[2] in {-1, "3"}


# ---------------------------------------------------------------- missing record


@taker_mutant("objects_without_the_interface_are_refused", step="read_attribute")
def calls_it_a_wrong_value(taker: Taker, x: Any) -> Any:
    """Refuses objects without the interface with ValueError."""
    if not hasattr(type(x), ATTRIBUTE):
        raise ValueError("this is no array")
    return Taker.read_attribute(taker, x)


@taker_mutant("properties_that_raise_attribute_error_are_no_interface", step="read_attribute")
def believes_the_type(taker: Taker, x: Any) -> Any:
    """Treats an object as one with the interface because its type has the property."""
    raw = getattr(x, ATTRIBUTE, None)
    if raw is None and hasattr(type(x), ATTRIBUTE):
        raise RuntimeError("the interface is there, and gives nothing")
    return Taker.read_attribute(taker, x) if raw is None else raw


@taker_mutant("errors_of_the_property_come_through", step="read_attribute")
def swallows_errors_of_the_property(taker: Taker, x: Any) -> Any:
    """Reports a missing interface if the property raises."""
    try:
        return Taker.read_attribute(taker, x)
    except (RuntimeError, ValueError, TypeError):
        pass
    raise TypeError("there is no interface")


def _plain(taker: Taker) -> dict[str, Any]:
    """Return a record of new memory."""
    data = (taker.cuda.memory(64), False)
    return {"shape": (2, 3), "typestr": "<f4", "data": data, "version": 3}


@taker_mutant("what_is_no_dict_is_refused", step="read_attribute")
def makes_records_up(taker: Taker, x: Any) -> Any:
    """Creates a record if it gets another object."""
    raw = Taker.read_attribute(taker, x)
    return raw if isinstance(raw, dict) else _plain(taker)


@taker_mutant("records_without_what_is_required_are_refused", step="read_attribute")
def fills_in_what_is_missing(taker: Taker, x: Any) -> Any:
    """Fills in missing entries of a record."""
    raw = Taker.read_attribute(taker, x)
    return {**_plain(taker), **raw} if isinstance(raw, dict) else raw


# ---------------------------------------------------------------- wrong entries


@mutant("wrong_shapes_are_refused", counterpart=honest_taker)
def guesses_shapes() -> Subject:
    """Treats an invalid shape as (6,)."""
    return _correcting("CAI-SHAPE-1", lambda raw: {**raw, "shape": (6,)})


@mutant("wrong_strides_are_refused", counterpart=honest_taker)
def guesses_strides() -> Subject:
    """Treats invalid strides as None."""
    return _correcting("CAI-STRIDES-1", lambda raw: {**raw, "strides": None})


@mutant("strides_that_are_not_one_per_axis_are_refused", counterpart=honest_taker)
def guesses_how_many_strides() -> Subject:
    """Treats a wrong number of strides as None."""
    return _correcting("CAI-STRIDES-2", lambda raw: {**raw, "strides": None})


@mutant("wrong_data_is_refused", counterpart=honest_taker)
def takes_no_address_for_nothing() -> Subject:
    """Accepts a record with invalid data as one without elements."""
    return _correcting("CAI-DATA-1", lambda raw: {**raw, "data": (0, False), "shape": (0,)})


@mutant("wrong_typestrs_are_refused", counterpart=honest_taker)
def guesses_typestrs() -> Subject:
    """Treats an invalid typestr as '<f4', as NumPy treats None as '<f8'."""
    return _correcting("CAI-TYPESTR-1", lambda raw: {**raw, "typestr": "<f4"})


@mutant("wrong_versions_are_refused", counterpart=honest_taker)
def guesses_versions() -> Subject:
    """Treats an invalid version as 3."""
    return _correcting("CAI-VER-1", lambda raw: {**raw, "version": 3})


@taker_mutant("wrong_streams_are_refused", step="parse")
def takes_stream_0_for_none(taker: Taker, raw: Any) -> InterfaceRecord:
    """Treats stream 0 as None, as Numba does."""
    if isinstance(raw, dict) and raw.get("stream") == 0:
        raw = {**raw, "stream": None}
    return Taker.parse(taker, raw)


@taker_mutant("sloppy_records_are_refused", step="parse")
def reads_typestrs_like_numpy(taker: Taker, raw: Any) -> InterfaceRecord:
    """Treats 'f4' and 'float32' as '<f4'."""
    if isinstance(raw, dict) and raw.get("typestr") in {"f4", "float32"}:
        raw = {**raw, "typestr": "<f4"}
    return Taker.parse(taker, raw)


# ---------------------------------------------------------------- wrong memory


@taker_mutant("elements_at_address_0_are_refused", step="check_memory")
def takes_address_0_for_no_elements(taker: Taker, taken: Taken) -> None:
    """Accepts every record with address 0 as one without elements."""
    if taken.record.ptr:
        Taker.check_memory(taker, taken)


@taker_mutant("addresses_that_the_driver_does_not_know_are_refused", step="check_kind")
def believes_any_address(taker: Taker, taken: Taken, kind: str) -> None:
    """Does not query the driver for addresses that are never valid."""
    if kind != "host" or taken.record.ptr >= _PAGE:
        Taker.check_kind(taker, taken, kind)


@taker_mutant("plain_memory_of_the_host_is_refused", step="check_kind")
def takes_the_host_for_a_device(taker: Taker, taken: Taken, kind: str) -> None:
    """Accepts host memory that no device can access."""
    if kind != "host" or taken.record.ptr < _PAGE:
        Taker.check_kind(taker, taken, kind)


@taker_mutant("elements_outside_their_allocation_are_refused", step="check_span")
def looks_at_the_first_element_only(*_: object) -> None:
    """Queries the driver for the first element only."""


@taker_mutant("records_beyond_64_bits_are_refused", step="size_of")
def counts_elements_in_64_bits(_: Any, shape: Any) -> Any:
    """Multiplies extents in 64 bits, so that 2**40 times 2**40 is 0."""
    return math.prod(shape) % 2**64
