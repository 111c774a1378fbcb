"""Consumers of the CUDA Array Interface that misread versions, layouts, memory or lifetimes.

Source: CUDA Array Interface, versions 0 to 3; `checks.cai_in`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from interchange_conformance.checks._records import ATTRIBUTE, FIRST_WITH_STREAM

from ._honest_taker import Taker, honest_taker, taker_mutant, taker_of
from .model import mutant

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord
    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken


# ---------------------------------------------------------------- versions and readings


@taker_mutant("records_of_version_3_are_taken", step="parse")
def needs_strides(taker: Taker, raw: Any) -> InterfaceRecord:
    """Requires the optional entry 'strides'."""
    if isinstance(raw, dict) and {"shape", "typestr", "data"} <= set(raw):
        raw["strides"]
    return Taker.parse(taker, raw)


@taker_mutant("unknown_keys_of_records_are_ignored", step="parse")
def refuses_unknown_keys(taker: Taker, raw: Any) -> InterfaceRecord:
    """Refuses records with unknown keys."""
    if "flavour" in raw:
        raise BufferError("unknown key")
    return Taker.parse(taker, raw)


@taker_mutant("records_of_older_versions_are_taken", step="parse")
def refuses_older_versions(taker: Taker, raw: Any) -> InterfaceRecord:
    """Refuses versions before 3, as cuda.core does."""
    record = Taker.parse(taker, raw)
    if record.version < FIRST_WITH_STREAM:
        raise BufferError("only version 3 is taken")
    return record


@taker_mutant("records_of_newer_versions_are_taken", step="parse")
def refuses_newer_versions(taker: Taker, raw: Any) -> InterfaceRecord:
    """Refuses versions after 3."""
    record = Taker.parse(taker, raw)
    if record.version > FIRST_WITH_STREAM:
        raise BufferError("version 4 is not known here")
    return record


@taker_mutant("records_are_read_once", step="read_attribute")
def asks_whether_there_is_one(taker: Taker, x: Any) -> Any:
    """Calls hasattr() first, which also reads the record."""
    if not hasattr(x, ATTRIBUTE):
        raise TypeError(f"{type(x).__name__} has no {ATTRIBUTE}")
    return Taker.read_attribute(taker, x)


@taker_mutant("records_that_change_are_not_mixed", step="read_attribute")
def takes_the_address_of_a_second_reading(taker: Taker, x: Any) -> Any:
    """Uses shape and strides of one read, and the address of the next."""
    first = Taker.read_attribute(taker, x)
    if not isinstance(first, dict) or "data" not in first:
        return first
    return {**first, "data": Taker.read_attribute(taker, x)["data"]}


# ---------------------------------------------------------------- layouts


@taker_mutant("layouts_are_read_as_the_strides_say", step="strides")
def ignores_strides(taker: Taker, taken: Taken) -> tuple[int, ...]:
    """Reads everything in C order."""
    record = taken.record
    if record.strides and any(step % 4 for step in record.strides):
        return Taker.strides(taker, taken)
    return Taker.strides(taker, taken._replace(record=record._replace(strides=None)))


@taker_mutant("layouts_are_read_as_the_strides_say", step="places")
def loses_the_sign_of_strides(taker: Taker, taken: Taken) -> list[int]:
    """Reads negative strides as positive ones."""
    found = Taker.places(taker, taken)
    return sorted(found) if any(step < 0 for step in taker.strides(taken)) else found


@taker_mutant("inexact_strides_are_not_rounded", step="strides")
def rounds_strides(taker: Taker, taken: Taken) -> tuple[int, ...]:
    """Divides strides by the size of an element, without checking the remainder."""
    size = struct.calcsize(taken.layout)
    return tuple(step // size * size for step in Taker.strides(taker, taken))


@taker_mutant("scalars_are_read_as_they_are", step="size_of")
def takes_scalars_for_nothing(taker: Taker, shape: tuple[int, ...]) -> int:
    """Treats an array without axes as one without elements."""
    return Taker.size_of(taker, shape) if shape else 0


@taker_mutant("empty_records_are_taken", step="take")
def asks_about_nothing(taker: Taker, x: Any) -> Taken:
    """Queries the driver for the address of arrays without elements."""
    taken = Taker.take(taker, x)
    if not taken.record.ptr and 0 in taken.record.shape:
        raise BufferError("the driver knows no memory at 0")
    return taken


@taker_mutant("empty_records_are_not_followed", step="read")
def reads_an_element_of_nothing(taker: Taker, taken: Taken) -> list[Any]:
    """Reads one element of arrays without elements."""
    return Taker.read(taker, taken) or [0.0]


# ---------------------------------------------------------------- memory and lifetime


@taker_mutant("taking_a_record_leaves_the_current_device_alone", step="check_kind")
def leaves_the_device_of_the_memory_current(taker: Taker, taken: Taken, kind: str) -> None:
    """Makes the device of the memory current, and never restores the previous one."""
    taker.cuda.make_current(taker.cuda.kind(taken.record.ptr)[1])
    Taker.check_kind(taker, taken, kind)


@taker_mutant("taking_a_record_leaves_the_current_device_alone", step="layout_of")
def leaves_the_device_current_of_what_it_refuses(taker: Taker, record: InterfaceRecord) -> str:
    """Restores the previous device when it accepts a record, but not when it refuses one."""
    before = taker.cuda.current_device
    taker.cuda.make_current(taker.cuda.kind(record.ptr)[1])
    layout = Taker.layout_of(taker, record)
    taker.cuda.make_current(before)
    return layout


@taker_mutant("memory_that_a_device_reaches_is_taken", step="check_kind")
def takes_memory_of_devices_only(taker: Taker, taken: Taken, kind: str) -> None:
    """Refuses managed and page-locked memory."""
    Taker.check_kind(taker, taken, kind)
    if kind != "cuda":
        raise BufferError(f"this is {kind} memory")


@taker_mutant("memory_of_other_devices_is_read_there", step="load")
def reads_zeros_from_other_devices(taker: Taker, address: int, nbytes: int) -> bytes:
    """Reads memory of the current device instead of that of another."""
    if taker.cuda.kind(address)[1] != taker.cuda.current_device:
        address = taker.cuda.memory(nbytes)
    return Taker.load(taker, address, nbytes)


@taker_mutant("read_only_records_are_not_written", step="is_readonly")
def drops_the_flag(*_: object) -> Any:
    """Drops the read-only flag, as CuPy and Numba do."""
    return False


@taker_mutant("taken_arrays_keep_their_exporter", step="owner_of")
def keeps_no_owner(*_: object) -> None:
    """Does not keep the exporter alive."""


@mutant("dropped_arrays_let_their_exporter_go", counterpart=honest_taker)
def keeps_every_owner() -> Subject:
    """Keeps every exporter alive forever."""
    kept: list[Any] = []

    def owner_of(_: Taker, x: Any) -> Any:
        kept.append(x)
        return x

    return taker_of(owner_of=owner_of)
