"""Consumers of the CUDA Array Interface that accept invalid records.

Source: CUDA Array Interface, version 3; `checks.cai_wrong`.  Most of them guess the intention.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import BrokenRule
from interchange_conformance.checks._records import ATTRIBUTE

from ._honest_taker import Taker, honest_taker, taker_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.abi import InterfaceRecord
    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken

_PAGE: Final = 2**20  # lower addresses are never allocated


def _mending(rule: str, mend: Callable[[Any], Any]) -> Subject:
    """Return a subject that corrects records which break a rule, and accepts them."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        try:
            return Taker.parse(taker, raw)
        except BrokenRule as broken:
            if broken.rule != rule or is_sloppy(raw):
                raise
            return Taker.parse(taker, mend(raw))

    return taker_of(parse=parse)


def is_sloppy(raw: Any) -> bool:
    """Return whether a record is one that NumPy or Python would accept."""
    if not isinstance(raw, dict):
        return False
    odd = raw.get("shape"), raw.get("typestr"), raw.get("version")
    return odd[0] == 6 or odd[1] in {"float32", "<f", "f4"} or odd[2] in {-1, "3"}


# ---------------------------------------------------------------- missing record


@mutant("objects_without_the_interface_are_refused", twin=honest_taker)
def calls_it_a_wrong_value() -> Subject:
    """Refuses objects without the interface with ValueError."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        if not hasattr(type(x), ATTRIBUTE):
            raise ValueError("this is no array")
        return Taker.read_attribute(taker, x)

    return taker_of(read_attribute=read_attribute)


@mutant("properties_that_raise_attribute_error_are_no_interface", twin=honest_taker)
def believes_the_type() -> Subject:
    """Treats an object as one with the interface because its type has the property."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        raw = getattr(x, ATTRIBUTE, None)
        if raw is None and hasattr(type(x), ATTRIBUTE):
            raise RuntimeError("the interface is there, and gives nothing")
        return Taker.read_attribute(taker, x) if raw is None else raw

    return taker_of(read_attribute=read_attribute)


@mutant("errors_of_the_property_come_through", twin=honest_taker)
def swallows_errors_of_the_property() -> Subject:
    """Reports a missing interface if the property raises."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        try:
            return Taker.read_attribute(taker, x)
        except (RuntimeError, ValueError, TypeError):
            pass
        raise TypeError("there is no interface")

    return taker_of(read_attribute=read_attribute)


def _plain(taker: Taker) -> dict[str, Any]:
    """Return a record of new memory."""
    data = (taker.cuda.memory(64), False)
    return {"shape": (2, 3), "typestr": "<f4", "data": data, "version": 3}


@mutant("what_is_no_dict_is_refused", twin=honest_taker)
def makes_records_up() -> Subject:
    """Creates a record if it gets another object."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        raw = Taker.read_attribute(taker, x)
        return raw if isinstance(raw, dict) else _plain(taker)

    return taker_of(read_attribute=read_attribute)


@mutant("records_without_what_is_required_are_refused", twin=honest_taker)
def fills_in_what_is_missing() -> Subject:
    """Fills in missing entries of a record."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        raw = Taker.read_attribute(taker, x)
        return {**_plain(taker), **raw} if isinstance(raw, dict) else raw

    return taker_of(read_attribute=read_attribute)


# ---------------------------------------------------------------- wrong entries


@mutant("wrong_shapes_are_refused", twin=honest_taker)
def guesses_shapes() -> Subject:
    """Treats an invalid shape as (6,)."""
    return _mending("CAI-SHAPE-1", lambda raw: {**raw, "shape": (6,)})


@mutant("wrong_strides_are_refused", twin=honest_taker)
def guesses_strides() -> Subject:
    """Treats invalid strides as None."""
    return _mending("CAI-STRIDES-1", lambda raw: {**raw, "strides": None})


@mutant("strides_that_are_not_one_per_axis_are_refused", twin=honest_taker)
def guesses_how_many_strides() -> Subject:
    """Treats a wrong number of strides as None."""
    return _mending("CAI-STRIDES-2", lambda raw: {**raw, "strides": None})


@mutant("wrong_data_is_refused", twin=honest_taker)
def takes_no_address_for_nothing() -> Subject:
    """Accepts a record with invalid data as one without elements."""
    return _mending("CAI-DATA-1", lambda raw: {**raw, "data": (0, False), "shape": (0,)})


@mutant("wrong_typestrs_are_refused", twin=honest_taker)
def guesses_typestrs() -> Subject:
    """Treats an invalid typestr as '<f4', as NumPy treats None as '<f8'."""
    return _mending("CAI-TYPESTR-1", lambda raw: {**raw, "typestr": "<f4"})


@mutant("wrong_versions_are_refused", twin=honest_taker)
def guesses_versions() -> Subject:
    """Treats an invalid version as 3."""
    return _mending("CAI-VER-1", lambda raw: {**raw, "version": 3})


@mutant("wrong_streams_are_refused", twin=honest_taker)
def takes_stream_0_for_none() -> Subject:
    """Treats stream 0 as None, as Numba does."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        if isinstance(raw, dict) and raw.get("stream") == 0:
            raw = {**raw, "stream": None}
        return Taker.parse(taker, raw)

    return taker_of(parse=parse)


@mutant("sloppy_records_are_refused", twin=honest_taker)
def reads_typestrs_like_numpy() -> Subject:
    """Treats 'f4' and 'float32' as '<f4'."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        if isinstance(raw, dict) and raw.get("typestr") in {"f4", "float32"}:
            raw = {**raw, "typestr": "<f4"}
        return Taker.parse(taker, raw)

    return taker_of(parse=parse)


# ---------------------------------------------------------------- wrong memory


@mutant("elements_at_address_0_are_refused", twin=honest_taker)
def takes_address_0_for_no_elements() -> Subject:
    """Accepts every record with address 0 as one without elements."""

    def check_memory(taker: Taker, taken: Taken) -> None:
        if taken.record.ptr:
            Taker.check_memory(taker, taken)

    return taker_of(check_memory=check_memory)


@mutant("addresses_that_the_driver_does_not_know_are_refused", twin=honest_taker)
def believes_any_address() -> Subject:
    """Does not query the driver for addresses that are never valid."""

    def check_kind(taker: Taker, taken: Taken, kind: str) -> None:
        if kind != "host" or taken.record.ptr >= _PAGE:
            Taker.check_kind(taker, taken, kind)

    return taker_of(check_kind=check_kind)


@mutant("plain_memory_of_the_host_is_refused", twin=honest_taker)
def takes_the_host_for_a_device() -> Subject:
    """Accepts host memory that no device can access."""

    def check_kind(taker: Taker, taken: Taken, kind: str) -> None:
        if kind != "host" or taken.record.ptr < _PAGE:
            Taker.check_kind(taker, taken, kind)

    return taker_of(check_kind=check_kind)


@mutant("elements_outside_their_allocation_are_refused", twin=honest_taker)
def looks_at_the_first_element_only() -> Subject:
    """Queries the driver for the first element only."""
    return taker_of(check_span=lambda *_: None)


@mutant("records_beyond_64_bits_are_refused", twin=honest_taker)
def counts_elements_in_64_bits() -> Subject:
    """Multiplies extents in 64 bits, so that 2**40 times 2**40 is 0."""
    return taker_of(size_of=lambda _, shape: math.prod(shape) % 2**64)
