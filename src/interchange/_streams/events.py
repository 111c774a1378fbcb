"""Events of the Arrow device interface: waits for those of producers, and new ones for consumers.

Source: The Arrow C device data interface, ``ArrowDeviceArray.sync_event`` and Memory management: a
pointer to a ``cudaEvent_t`` or ``hipEvent_t``, which the producer keeps until release.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, Any

from interchange._types.errors import DriverUnavailableError, ExchangeError, UnsupportedDeviceError

from .driver import driver_of
from .ordering import ordinal_for, stream_to_publish, wait_on_host
from .pending import WorkOnConsumer, pending_work_of
from .rules import NO_SYNC, STREAM_RULES, check_stream, streams_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._types.devices import Device

    from .device_driver import Driver


class RecordedEvent:
    """An event after the work on some memory, destroyed with this object.

    Attributes
    ----------
    address : int
        Address of the word with the event's handle, valid while this object exists.
    """

    __slots__ = ("_driver", "_home", "_process", "_word", "address")

    _home: int

    def __init__(self, driver: Driver, stream: int, ordinal: int, call: str) -> None:
        self._word = ctypes.c_void_p()  # first, so that nothing is destroyed after an error
        self._driver = driver
        self._process = os.getpid()  # a forked child must not destroy its parent's event
        self.address = ctypes.addressof(self._word)
        self._word.value, self._home = driver.record_event(stream, ordinal, call)

    def __del__(
        self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress
    ) -> None:  # bound as defaults: globals may be gone
        event = self._word.value
        if event and self._process == _process():
            self._word.value = None
            with _suppress(Exception):  # at exit the driver's own globals may be gone
                self._driver.destroy_event(event, self._home)


def wait_for_foreign_event(
    tensor: Any, event_address: int, stream: int | None, keep: Any, call: str
) -> None:
    """Make a consumer's stream wait for a producer's event, and record the ready stream.

    `tensor`: a new import; changed in place.
    `event_address`: address of the word with the event's handle; 0 if no work is pending.
    `stream`: the consumer's stream; None for the standard's default.  For page-locked memory, which
        the host reads, None lets the host wait.  -1 waits for nothing, and records nothing.
        Ignored on devices without streams.
    `keep`: the object that the handle was taken from, kept alive with the memory.

    Raises ExchangeError: there is no driver to wait with (ARROW-DEVICE-2), or no event
        (ARROW-DEVICE-3).
    Raises StreamError: `stream` is not a stream on that device, or a capture forbids the wait
        (``DLP-STREAM-*``).
    """
    device = tensor._spec.device
    consumer = _consumer_of(device, stream, call)
    if consumer == NO_SYNC:
        return
    ordinal = ordinal_for(device, consumer, call)
    if event_address:
        event = _event_at(event_address, device, call)
        _driver_for(event, device, call).wait_for_event(event, consumer, ordinal, call)
    if consumer is not None:
        tensor._pending_work = WorkOnConsumer(consumer, ordinal, keep)


def _consumer_of(device: Device, stream: int | None, call: str) -> int | None:
    """Return the stream that waits; None for the host, which reads memory without streams."""
    streams = streams_of(device)
    is_read_by_host = stream is None and device.type not in STREAM_RULES
    if streams is None or is_read_by_host:
        return NO_SYNC if stream == NO_SYNC else None
    return check_stream(stream, streams, call)


def _event_at(address: int, device: Device, call: str) -> int:
    """Return the handle of a producer's event; on other devices the type of event is unknown."""
    if streams_of(device) is None:
        what = f"memory on {device} has a sync_event, at {address:#x}, of an unknown type"
        hint = "wait for it with the library that created it, and pass `stream=-1`"
        raise UnsupportedDeviceError(call, what, "ARROW-DEVICE-2", hint)
    event = ctypes.c_void_p.from_address(address).value
    if not event:
        what = f"the sync_event of memory on {device} points to NULL"
        raise ExchangeError(call, what, "ARROW-DEVICE-3")
    return event


def _driver_for(event: int, device: Device, call: str) -> Driver:
    """Return the driver that can wait for an event."""
    try:
        return driver_of(device, call)
    except DriverUnavailableError as error:
        what = f"memory on {device} is ready after the event {event:#x}, and {error.what}"
        hint = f"{error.hint}, or wait for the event, and pass `stream=-1`"
        raise ExchangeError(call, what, "ARROW-DEVICE-2", hint) from error


def recorded_event_of(tensors: Sequence[Any], call: str) -> RecordedEvent | None:
    """Return an event after all work that is pending on the memory of some tensors.

    `tensors`: memory that is exported together, on one device.

    Returns None if no work is pending, and for memory that the host reads: then the host has
        waited.

    Raises ExchangeError: there is no driver to record with (ARROW-DEVICE-3).
    Raises StreamError: a stream does not exist (DLP-STREAM-7), or captures (DLP-STREAM-8).
    """
    busy: dict[int, int] = {}  # stream -> its device
    for tensor in tensors:
        if tensor._spec.device.type not in STREAM_RULES:
            wait_on_host(tensor, call)
            continue
        work, stream = pending_work_of(tensor), stream_to_publish(tensor, call)
        if work is not None and stream is not None:
            busy[stream] = work.ordinal
    if not busy:
        return None
    device, (last, ordinal) = tensors[0]._spec.device, busy.popitem()
    driver = _recorder_for(last, device, call)
    for earlier, where in busy.items():
        driver.order(earlier, last, where, call, ordinal)
    return RecordedEvent(driver, last, ordinal, call)


def _recorder_for(stream: int, device: Device, call: str) -> Driver:
    """Return the driver that can record an event on a stream."""
    try:
        return driver_of(device, call)
    except DriverUnavailableError as error:
        what = f"work on {device} is pending on stream={stream}, and {error.what}"
        hint = f"{error.hint}, or synchronize, and import the memory without a stream"
        raise ExchangeError(call, what, "ARROW-DEVICE-3", hint) from error
