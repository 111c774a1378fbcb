"""Mutants of Arrow's streams and device fields."""

from __future__ import annotations

import ctypes
import errno
from functools import partial
from typing import TYPE_CHECKING, Any

from interchange_conformance.driver.cuda import opened
from interchange_conformance.zoo.arrow import Place

from ._honest_arrow_producer import (
    HonestColumn,
    HonestDeviceColumn,
    column_mutant,
    honest_arrow_producer,
    producer_of,
)
from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@column_mutant("callbacks_of_streams_are_there")
def has_no_words_for_errors(x: Any) -> Any:
    """Its streams have no get_last_error."""
    return x.but(has_get_last_error=False)


@column_mutant("callbacks_of_streams_return_zero")
def returns_positive_numbers(x: Any) -> Any:
    """get_schema of its streams returns 1."""
    return x.but(schema_error=1)


@column_mutant("callbacks_of_streams_return_zero", "streams_end_after_their_last_chunk")
def ends_with_an_error(x: Any) -> Any:
    """Its streams return an error at their end."""
    return x.but(next_error=errno.ENODATA, fails_at=len(x.chunks))


@column_mutant("streams_end_after_their_last_chunk")
def ends_after_the_first_chunk(x: Any) -> Any:
    """Its streams return only one chunk."""
    return type(x)(x.field, x.chunks[:1], x.values)


@column_mutant("memory_of_the_host_is_said_to_be_there")
def counts_devices_from_zero(x: Any) -> Any:
    """It writes device type 0 for the host."""
    return x.but(place=Place(0, 0))


@column_mutant("reserved_bytes_are_zero")
def leaves_reserved_bytes(x: Any) -> Any:
    """It does not zero the reserved bytes."""
    return x.but(place=Place(1, -1, reserved=0xAB))


@column_mutant("memory_of_the_host_is_said_to_be_there")
def has_events_on_the_host(x: Any) -> Any:
    """It has an event for memory of the host."""
    return x.but(place=Place(1, -1, 4096))


def _on_devices(**methods: Any) -> Subject:
    """Return a producer whose columns on devices have some methods replaced."""
    return producer_of(HonestColumn, type("Changed", (HonestDeviceColumn,), methods))


_device_mutant = partial(mutant, counterpart=honest_arrow_producer, build=replacing(_on_devices))


@_device_mutant("events_come_after_pending_work", step="_give")
def has_no_event(x: HonestDeviceColumn, method: str, keywords: Any, make: Any) -> Any:
    """It exports columns with pending work as if they were ready."""
    x.place = Place(2, 0)
    return super(HonestDeviceColumn, x)._give(method, keywords, make)


@_device_mutant("columns_of_devices_say_where_they_are", step="_give")
def says_the_current_device(x: HonestDeviceColumn, method: str, keywords: Any, make: Any) -> Any:
    """It states the current device instead of that of the memory."""
    x.place = Place(2, opened().current_device, ctypes.addressof(x.event()))
    return super(HonestDeviceColumn, x)._give(method, keywords, make)


@_device_mutant("memory_of_devices_is_not_exported_as_that_of_the_host", step="__arrow_c_array__")
def exports_pointers_of_devices(x: HonestDeviceColumn, requested_schema: Any = None) -> Any:
    """Its method for host memory exports the pointers of a device."""
    return super(HonestDeviceColumn, x)._give(
        "__arrow_c_array__", {"requested_schema": requested_schema}, lambda: x._pair(None)
    )


@_device_mutant("events_come_after_pending_work", step="record")
def records_on_another_stream(_: Any, event: Any) -> Any:
    """It records its events on a stream without work."""
    return opened()("cuEventRecord", event, opened().stream())


@_device_mutant("events_come_after_pending_work", step="record")
def destroys_its_event(x: HonestDeviceColumn, event: Any) -> None:
    """It destroys its events after the export."""
    HonestDeviceColumn.record(x, event)
    opened()("cuEventDestroy_v2", event)
