"""Ordering of streams before memory is exported or imported.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); CUDA Array Interface, version 3,
Synchronization.  The stream that a consumer names waits by event; the host waits only if the host
is going to read the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._types.devices import ordinal_of
from interchange._types.errors import DriverUnavailableError, ExchangeError, InterchangeError
from interchange.abi._records import NamedTuple

from .driver import driver_of, make_current
from .pending import WorkOnConsumer, pending_copy_of, pending_work_of
from .rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
    streams_of,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from interchange._types.devices import Device

    from .pending import PendingWork


def order_before(tensor: Any, consumer: int | None, call: str) -> None:
    """Make a consumer's stream wait for the work that is pending on the memory of a tensor.

    `consumer`: the stream, checked; -1 for no wait; None on a device without streams: then the host
        waits.

    Raises ExchangeError: there is no driver (DLP-STREAM-6), or it failed (IX-DRIVER-2).
    Raises StreamError: a stream does not exist (DLP-STREAM-7), or a capture forbids it
        (DLP-STREAM-8).
    """
    if consumer == NO_SYNC:
        return
    device = tensor._spec.device  # looked up first, as in `pending_streams_of`
    work = pending_work_of(tensor)
    if work is None:
        return
    _ = work.keepalive  # while the streams are used
    producers = work.pending(call)
    if producers:
        where = ordinal_for(device, consumer, call)
        for producer in producers:
            order_streams(device, producer, consumer, work.ordinal, call, where)


class PendingStreams(NamedTuple):
    """The streams on which work on the memory of a tensor is pending."""

    streams: tuple[int, ...]  # the last one is the producer's current stream
    ordinal: int  # their device
    keep: Any  # keeps the streams alive; to be held while they are used


def pending_streams_of(tensor: Any, call: str) -> PendingStreams:
    """Return the streams that work on the memory of a tensor is pending on."""
    device = tensor._spec.device  # looked up first: to describe a result sets its pending work
    work = pending_work_of(tensor)
    if work is None:
        return PendingStreams((), ordinal_of(device), None)
    keep = work.keepalive  # before the streams: a copy drops it when it is done
    return PendingStreams(work.pending(call), work.ordinal, keep)


def stream_to_publish(tensor: Any, call: str) -> int | None:
    """Return one stream that is ordered after all pending work, or None if no work is pending.

    It is made to wait for the other streams with pending work (CAI-STREAM-2).  It must live as long
    as the tensor: if that is not certain, a private stream is made to wait and returned.
    """
    filled = pending_copy_of(pending_work_of(tensor))  # before a query finds it done
    streams, ordinal, _ = pending_streams_of(tensor, call)
    if not streams:
        return None
    if filled is not None:
        streams = (*streams, filled.rest)
    for earlier in streams[:-1]:
        order_streams(tensor._spec.device, earlier, streams[-1], ordinal, call)
    if filled is not None:
        filled.move()
    return streams[-1]


def ordinal_for(device: Device, stream: int | None, call: str) -> int:
    """Return the ordinal of the device of a stream, for memory on `device`.

    Managed and page-locked memory belong to no single device: a default stream is that of the
    device that is current when it is named.  Other handles belong to one device.
    """
    ordinal = ordinal_of(device)
    if ordinal >= 0 or stream is None or stream > PER_THREAD_DEFAULT_STREAM:
        return ordinal
    try:
        return driver_of(device, call).current_device(call)
    except InterchangeError:  # there is no driver
        return ordinal


def device_guard(
    device: Device, call: str, ordinal: int | None = None
) -> AbstractContextManager[None] | None:
    """Return a context manager that makes a device current, or None (DLP-DEV-8).

    `ordinal`: the ordinal of the device; by default, that of `device`.  Managed memory belongs to
        no single device, and the current device is kept: see `home_of_address`.
    """
    where = ordinal_of(device) if ordinal is None else ordinal
    if where < 0:
        return None
    try:
        return make_current(driver_of(device, call), where, call)
    except InterchangeError:  # there is no driver
        return None


def refuse_capture(device: Device, stream: int, ordinal: int, call: str) -> None:
    """Refuse a stream that captures, before work is enqueued that cannot be part of a capture.

    Raises StreamError: it captures, or its use would end the capture of another (DLP-STREAM-8).
    """
    try:
        driver = driver_of(device, call)
    except ExchangeError:  # the caller that needs a driver raises
        return
    driver.refuse_capture(stream, ordinal, call)


def has_several(device: Device, call: str) -> bool:
    """Whether there are several devices that memory of this type may belong to."""
    try:
        return driver_of(device, call).count_devices(call) > 1
    except InterchangeError:  # there is no driver
        return False


def home_of_address(
    device: Device, ptr: int, call: str
) -> tuple[AbstractContextManager[None], int] | None:
    """Return a context manager that makes the device of an address current, and its ordinal."""
    if not ptr:
        return None
    driver = driver_of(device, call)
    place = driver.pointer_attributes(ptr, call)
    if place is None:
        return None
    home = make_current(driver, place.ordinal, call)
    return None if home is None else (home, place.ordinal)


def wait_for_device(device: Device, ordinal: int, call: str) -> None:
    """Let the host wait for all work on a device."""
    driver_of(device, call).synchronize_device(ordinal, call)


def order_streams(
    device: Device,
    producer: int,
    consumer: int | None,
    ordinal: int,
    call: str,
    where: int | None = None,
    *,
    fork: bool = False,
) -> None:
    """Make a stream wait for another stream; if it is None, the host waits.

    `ordinal`, `where`: their devices, which distinguish default streams; -1 or None for the same.
    `fork`: whether a consumer may join a capture that the producer takes part in.
    """
    where = ordinal if where is None or where < 0 else where
    if producer == consumer and (where == ordinal or producer > PER_THREAD_DEFAULT_STREAM):
        return
    try:
        driver = driver_of(device, call)
    except DriverUnavailableError as error:
        after = "the host" if consumer is None else f"stream={consumer}"
        what = f"{after} has to wait for stream={producer} on {device}, and {error.what}"
        hint = f"{error.hint}, or synchronize on the producer's side"
        raise ExchangeError(call, what, "DLP-STREAM-6", hint) from error
    if consumer is None:
        driver.synchronize(producer, ordinal, call)
    else:
        driver.order(producer, consumer, ordinal, call, where, fork=fork)


def note_ready(tensor: Any, stream: int | None, keep: Any, call: str) -> None:
    """Record the stream on which a producer made memory ready: the next consumer waits for it.

    `tensor`: imported from a capsule.
    `stream`: the stream that the capsule was requested for; None for the standard's default.
    `keep`: the object that the handle was taken from, kept alive with the memory.

    Raises StreamError: `stream` is not a stream on that device (``DLP-STREAM-*``).
    """
    device = tensor._spec.device
    if device.type not in STREAM_RULES:
        return  # the host has waited for the producer
    ready = check_stream(stream, device, call)
    if ready != NO_SYNC:
        tensor._pending_work = WorkOnConsumer(ready, ordinal_for(device, ready, call), keep)


def make_ready(
    tensor: Any, stream: int | None, keep: Any, call: str, *, fresh: bool = False
) -> None:
    """Make a stream wait for the work on a tensor, and record that it does.

    `tensor`: changed in place; nothing is done if its device has no streams.
    `stream`: the consumer's stream; None for the standard's default.
    `keep`: the object that the handle was taken from, kept alive with the memory.
    `fresh`: whether the pending work was read from the producer just now, and need not be read
        again.
    """
    device, work = tensor._spec.device, pending_work_of(tensor)
    streams = streams_of(device)
    if streams is None:
        return
    consumer = check_stream(stream, streams, call)
    if fresh and work is not None and consumer != NO_SYNC:
        producer = work.at_import(call)
        if producer is not None:
            where = ordinal_for(device, consumer, call)
            order_streams(device, producer, consumer, work.ordinal, call, where)
    else:
        order_before(tensor, consumer, call)
    note_consumer(tensor, consumer, keep, call, work)


def note_consumer(
    tensor: Any, consumer: int | None, keep: Any, call: str, origin: PendingWork | None = None
) -> None:
    """Record the stream that waits for the work on a tensor: the next consumer waits for it."""
    if consumer is not None:
        device = tensor._spec.device
        ready = None if consumer == NO_SYNC else consumer
        tensor._pending_work = WorkOnConsumer(ready, ordinal_for(device, ready, call), keep, origin)


def wait_on_host(tensor: Any, call: str) -> None:
    """Let the host wait for the work that is pending on the memory of a tensor."""
    order_before(tensor, None, call)
