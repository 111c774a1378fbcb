"""Mutants of Arrow's streams and device fields.

Source: the checks of the same name.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from interchange_conformance.driver.cuda import opened
from interchange_conformance.zoo.arrow import Place

from ._honest_arrow_producer import (
    HonestColumn,
    HonestDeviceColumn,
    honest_arrow_producer,
    producer_of,
    saying,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@mutant("callbacks_of_streams_are_there", twin=honest_arrow_producer)
def has_no_words_for_errors() -> Subject:
    """Its streams have no get_last_error."""
    return saying(lambda x: x.but(has_get_last_error=False))


@mutant("callbacks_of_streams_return_zero", twin=honest_arrow_producer)
def returns_positive_numbers() -> Subject:
    """get_schema of its streams returns 1."""
    return saying(lambda x: x.but(schema_error=1))


@mutant("callbacks_of_streams_return_zero", "streams_end_after_their_last_chunk",
        twin=honest_arrow_producer)  # fmt: skip
def ends_with_an_error() -> Subject:
    """Its streams return an error at their end."""
    return saying(lambda x: x.but(next_error=errno.ENODATA, fails_at=len(x.chunks)))


@mutant("streams_end_after_their_last_chunk", twin=honest_arrow_producer)
def ends_after_the_first_chunk() -> Subject:
    """Its streams return only one chunk."""
    return saying(lambda x: type(x)(x.field, x.chunks[:1], x.values))


@mutant("memory_of_the_host_is_said_to_be_there", twin=honest_arrow_producer)
def counts_devices_from_zero() -> Subject:
    """It writes device type 0 for the host."""
    return saying(lambda x: x.but(place=Place(0, 0)))


@mutant("reserved_bytes_are_zero", twin=honest_arrow_producer)
def leaves_reserved_bytes() -> Subject:
    """It does not zero the reserved bytes."""
    return saying(lambda x: x.but(place=Place(1, -1, reserved=0xAB)))


@mutant("memory_of_the_host_is_said_to_be_there", twin=honest_arrow_producer)
def has_events_on_the_host() -> Subject:
    """It has an event for memory of the host."""
    return saying(lambda x: x.but(place=Place(1, -1, 4096)))


def _on_devices(**methods: Any) -> Subject:
    """Return a producer whose columns on devices have some methods replaced."""
    return producer_of(HonestColumn, type("Changed", (HonestDeviceColumn,), methods))


@mutant("events_come_after_pending_work", twin=honest_arrow_producer)
def has_no_event() -> Subject:
    """It exports columns with pending work as if they were ready."""

    def give(x: HonestDeviceColumn, method: str, keywords: Any, make: Any) -> Any:
        x.place = Place(2, 0)
        return super(HonestDeviceColumn, x)._give(method, keywords, make)

    return _on_devices(_give=give)


@mutant("events_come_after_pending_work", twin=honest_arrow_producer)
def records_on_another_stream() -> Subject:
    """It records its events on a stream without work."""
    return _on_devices(record=lambda _, event: opened()("cuEventRecord", event, opened().stream()))


@mutant("events_come_after_pending_work", twin=honest_arrow_producer)
def destroys_its_event() -> Subject:
    """It destroys its events after the export."""

    def record(x: HonestDeviceColumn, event: Any) -> None:
        HonestDeviceColumn.record(x, event)
        opened()("cuEventDestroy_v2", event)

    return _on_devices(record=record)
