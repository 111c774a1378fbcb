"""Consumers of the CUDA Array Interface that misread versions, layouts, memory or lifetimes.

Source: CUDA Array Interface, versions 0 to 3; `checks.cai_in`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from interchange_conformance.checks._records import ATTRIBUTE, FIRST_WITH_STREAM

from ._honest_taker import Taker, honest_taker, taker_of
from .model import mutant

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord
    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken


# ---------------------------------------------------------------- versions and readings


@mutant("records_of_version_3_are_taken", twin=honest_taker)
def needs_strides() -> Subject:
    """Requires the optional entry 'strides'."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        if isinstance(raw, dict) and {"shape", "typestr", "data"} <= set(raw):
            raw["strides"]
        return Taker.parse(taker, raw)

    return taker_of(parse=parse)


@mutant("unknown_keys_of_records_are_ignored", twin=honest_taker)
def refuses_unknown_keys() -> Subject:
    """Refuses records with unknown keys."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        if "flavour" in raw:
            raise BufferError("unknown key")
        return Taker.parse(taker, raw)

    return taker_of(parse=parse)


@mutant("records_of_older_versions_are_taken", twin=honest_taker)
def refuses_older_versions() -> Subject:
    """Refuses versions before 3, as cuda.core does."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        record = Taker.parse(taker, raw)
        if record.version < FIRST_WITH_STREAM:
            raise BufferError("only version 3 is taken")
        return record

    return taker_of(parse=parse)


@mutant("records_of_newer_versions_are_taken", twin=honest_taker)
def refuses_newer_versions() -> Subject:
    """Refuses versions after 3."""

    def parse(taker: Taker, raw: Any) -> InterfaceRecord:
        record = Taker.parse(taker, raw)
        if record.version > FIRST_WITH_STREAM:
            raise BufferError("version 4 is not known here")
        return record

    return taker_of(parse=parse)


@mutant("records_are_read_once", twin=honest_taker)
def asks_whether_there_is_one() -> Subject:
    """Calls hasattr() first, which also reads the record."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        if not hasattr(x, ATTRIBUTE):
            raise TypeError(f"{type(x).__name__} has no {ATTRIBUTE}")
        return Taker.read_attribute(taker, x)

    return taker_of(read_attribute=read_attribute)


@mutant("records_that_change_are_not_mixed", twin=honest_taker)
def takes_the_address_of_a_second_reading() -> Subject:
    """Uses shape and strides of one read, and the address of the next."""

    def read_attribute(taker: Taker, x: Any) -> Any:
        first = Taker.read_attribute(taker, x)
        if not isinstance(first, dict) or "data" not in first:
            return first
        return {**first, "data": Taker.read_attribute(taker, x)["data"]}

    return taker_of(read_attribute=read_attribute)


# ---------------------------------------------------------------- layouts


@mutant("layouts_are_read_as_the_strides_say", twin=honest_taker)
def ignores_strides() -> Subject:
    """Reads everything in C order."""

    def strides(taker: Taker, taken: Taken) -> tuple[int, ...]:
        record = taken.record
        if record.strides and any(step % 4 for step in record.strides):
            return Taker.strides(taker, taken)
        return Taker.strides(taker, taken._replace(record=record._replace(strides=None)))

    return taker_of(strides=strides)


@mutant("layouts_are_read_as_the_strides_say", twin=honest_taker)
def loses_the_sign_of_strides() -> Subject:
    """Reads negative strides as positive ones."""

    def places(taker: Taker, taken: Taken) -> list[int]:
        found = Taker.places(taker, taken)
        return sorted(found) if any(step < 0 for step in taker.strides(taken)) else found

    return taker_of(places=places)


@mutant("inexact_strides_are_not_rounded", twin=honest_taker)
def rounds_strides() -> Subject:
    """Divides strides by the size of an element, without checking the remainder."""

    def strides(taker: Taker, taken: Taken) -> tuple[int, ...]:
        size = struct.calcsize(taken.layout)
        return tuple(step // size * size for step in Taker.strides(taker, taken))

    return taker_of(strides=strides)


@mutant("scalars_are_read_as_they_are", twin=honest_taker)
def takes_scalars_for_nothing() -> Subject:
    """Treats an array without axes as one without elements."""

    def size_of(taker: Taker, shape: tuple[int, ...]) -> int:
        return Taker.size_of(taker, shape) if shape else 0

    return taker_of(size_of=size_of)


@mutant("empty_records_are_taken", twin=honest_taker)
def asks_about_nothing() -> Subject:
    """Queries the driver for the address of arrays without elements."""

    def take(taker: Taker, x: Any) -> Taken:
        taken = Taker.take(taker, x)
        if not taken.record.ptr and 0 in taken.record.shape:
            raise BufferError("the driver knows no memory at 0")
        return taken

    return taker_of(take=take)


@mutant("empty_records_are_not_followed", twin=honest_taker)
def reads_an_element_of_nothing() -> Subject:
    """Reads one element of arrays without elements."""

    def read(taker: Taker, taken: Taken) -> list[Any]:
        return Taker.read(taker, taken) or [0.0]

    return taker_of(read=read)


# ---------------------------------------------------------------- memory and lifetime


@mutant("taking_a_record_leaves_the_current_device_alone", twin=honest_taker)
def leaves_the_device_of_the_memory_current() -> Subject:
    """Makes the device of the memory current, and never restores the previous one."""

    def check_kind(taker: Taker, taken: Taken, kind: str) -> None:
        taker.cuda.make_current(taker.cuda.kind(taken.record.ptr)[1])
        Taker.check_kind(taker, taken, kind)

    return taker_of(check_kind=check_kind)


@mutant("taking_a_record_leaves_the_current_device_alone", twin=honest_taker)
def leaves_the_device_current_of_what_it_refuses() -> Subject:
    """Restores the previous device when it accepts a record, but not when it refuses one."""

    def layout_of(taker: Taker, record: InterfaceRecord) -> str:
        before = taker.cuda.current_device
        taker.cuda.make_current(taker.cuda.kind(record.ptr)[1])
        layout = Taker.layout_of(taker, record)
        taker.cuda.make_current(before)
        return layout

    return taker_of(layout_of=layout_of)


@mutant("memory_that_a_device_reaches_is_taken", twin=honest_taker)
def takes_memory_of_devices_only() -> Subject:
    """Refuses managed and page-locked memory."""

    def check_kind(taker: Taker, taken: Taken, kind: str) -> None:
        Taker.check_kind(taker, taken, kind)
        if kind != "cuda":
            raise BufferError(f"this is {kind} memory")

    return taker_of(check_kind=check_kind)


@mutant("memory_of_other_devices_is_read_there", twin=honest_taker)
def reads_zeros_from_other_devices() -> Subject:
    """Reads memory of the current device instead of that of another."""

    def load(taker: Taker, address: int, nbytes: int) -> bytes:
        if taker.cuda.kind(address)[1] != taker.cuda.current_device:
            address = taker.cuda.memory(nbytes)
        return Taker.load(taker, address, nbytes)

    return taker_of(load=load)


@mutant("read_only_records_are_not_written", twin=honest_taker)
def drops_the_flag() -> Subject:
    """Drops the read-only flag, as CuPy and Numba do."""
    return taker_of(is_readonly=lambda *_: False)


@mutant("taken_arrays_keep_their_exporter", twin=honest_taker)
def keeps_no_owner() -> Subject:
    """Does not keep the exporter alive."""
    return taker_of(owner_of=lambda *_: None)


@mutant("dropped_arrays_let_their_exporter_go", twin=honest_taker)
def keeps_every_owner() -> Subject:
    """Keeps every exporter alive forever."""
    kept: list[Any] = []

    def owner_of(_: Taker, x: Any) -> Any:
        kept.append(x)
        return x

    return taker_of(owner_of=owner_of)
