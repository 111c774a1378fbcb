"""The HIP runtime as a driver of ROCm devices: waits by event, devices, memory and copies.

Source: HIP runtime API, through ctypes.  Stream 0 is the default stream of a device, whichever is
current; 1 and 2 are no streams.
"""

from __future__ import annotations

import contextlib
import os
import sys
from ctypes import byref, c_int, c_ulonglong, c_void_p
from typing import Any

from interchange._types.errors import DriverUnavailableError, ExchangeError, StreamError

from . import _hip_library as hip
from ._hip_devices import DEFAULT_STREAM, HipDevices
from ._hip_memory import HipMemory


class HipDriver(HipMemory):
    """What interchange asks of ROCm.  See `interchange._streams.driver.Driver`.

    Parameters
    ----------
    api : ctypes.CDLL
        What `open_library` returned.
    """

    name = "ROCm"

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self._events: dict[int, list[int]] = {}  # device -> events at rest

    # ------------------------------------------------------------ who waits

    def order(
        self,
        producer: int,
        consumer: int,
        ordinal: int,
        call: str,
        where: int | None = None,
        *,
        fork: bool = False,
    ) -> None:
        """Make `consumer` wait for `producer`: one event is recorded, and waited for."""
        where = ordinal if where is None else where
        if producer == consumer and (where == ordinal or producer != DEFAULT_STREAM):
            return
        source = self.device_of(producer, ordinal, call)
        self.device_of(consumer, where, call)
        self._check_capture(producer, consumer, call, fork=fork)
        event = self._take_event(source, call)
        self._record(event, producer, ordinal, call)
        try:
            with self.on_stream(consumer, where, call):
                error = self.api.hipStreamWaitEvent(consumer, event, 0)
        finally:
            self._events[source].append(event)
        self.check_stream(error, consumer, "hipStreamWaitEvent", call)

    def _record(self, event: int, producer: int, ordinal: int, call: str) -> None:
        """Record an event on a stream, or destroy it."""
        error = -1
        try:
            with self.on_stream(producer, ordinal, call):
                error = self.api.hipEventRecord(event, producer)
        finally:
            if error:
                self.api.hipEventDestroy(event)
        self.check_stream(error, producer, "hipEventRecord", call)

    def _check_capture(self, producer: int, consumer: int, call: str, *, fork: bool) -> None:
        """Refuse what a capture forbids, before a call that would spoil the capture."""
        ours, theirs = self._capture_of(producer, call), self._capture_of(consumer, call)
        if ours == theirs or (fork and theirs is None and consumer != DEFAULT_STREAM):
            return
        if theirs is not None:
            what = f"stream={consumer} captures, and is to wait for stream={producer}, which"
            what += " does not" if ours is None else " captures something else"
        else:
            what = f"stream={producer} captures, and stream={consumer} is not part of it"
        raise StreamError(call, what, "DLP-STREAM-8")

    def _capture_of(self, stream: int, call: str) -> int | None:
        """Return the id of the capture that a stream takes part in, or None."""
        status, number = c_int(), c_ulonglong()
        if stream == DEFAULT_STREAM:  # it takes part in none, and may have no place beside one
            function = "hipStreamIsCapturing"
            error = self.api.hipStreamIsCapturing(stream, byref(status))
        else:
            function = "hipStreamGetCaptureInfo"
            error = self.api.hipStreamGetCaptureInfo(stream, byref(status), byref(number))
        if error == hip.STREAM_CAPTURE_IMPLICIT:
            self.name_of(error)
            what = f"stream={stream} is the default stream, while another captures"
            raise StreamError(call, what, "DLP-STREAM-8")
        self.check_stream(error, stream, function, call)
        if status.value == hip.CAPTURE_INVALIDATED:
            what = f"stream={stream} takes part in a capture that was spoilt"
            raise StreamError(call, what, "DLP-STREAM-8")
        return None if status.value == hip.NOT_CAPTURING else number.value

    def refuse_capture(self, stream: int, ordinal: int, call: str) -> None:
        """Raise `StreamError` where a stream captures (DLP-STREAM-8)."""
        with self.on_stream(stream, ordinal, call):
            captures = self._capture_of(stream, call) is not None
        if captures:
            what = f"stream={stream} captures, which no copy and no wait of the host can be part of"
            raise StreamError(call, what, "DLP-STREAM-8")

    def synchronize(self, stream: int, ordinal: int, call: str) -> None:
        """Let the host wait for a stream."""
        self.device_of(stream, ordinal, call)
        self.refuse_capture(stream, ordinal, call)
        with self.on_stream(stream, ordinal, call):
            error = self.api.hipStreamSynchronize(stream)
        self.check_stream(error, stream, "hipStreamSynchronize", call)

    def synchronize_device(self, ordinal: int, call: str) -> None:
        """Let the host wait for everything on a device."""
        with self.on_device(ordinal, call):
            error = self.api.hipDeviceSynchronize()
        self.check(error, "hipDeviceSynchronize", call)

    # ------------------------------------------------------------ events

    def _take_event(self, device: int, call: str) -> int:
        """Return an event of a device that is at rest, or a fresh one."""
        at_rest = self._events.setdefault(device, [])
        try:
            return at_rest.pop()
        except IndexError:
            return self._make_event(device, call)

    def _make_event(self, device: int, call: str) -> int:
        """Return a fresh event of a device."""
        event = c_void_p()
        with self.on_device(device, call):
            error = self.api.hipEventCreateWithFlags(byref(event), hip.EVENT_WITHOUT_TIMING)
        self.check(error, "hipEventCreateWithFlags", call)
        return event.value or 0

    def mark(self, stream: int, ordinal: int, call: str) -> tuple[int, int]:
        """Return an event behind the work that is on a stream now, and its device."""
        device = self.device_of(stream, ordinal, call)
        event = self._take_event(device, call)
        self._record(event, stream, ordinal, call)
        return device, event

    def is_complete(self, mark: tuple[int, int]) -> bool:
        """Whether the work before a mark is done; then its event is at rest.  Never raises."""
        device, event = mark
        with contextlib.suppress(Exception), self._unnoticed():
            error = self.api.hipEventQuery(event)
            if not error:
                self._events[device].append(event)
                return True
            self.name_of(error)
        return False

    # ------------------------------------------------------------ events that change hands

    def wait_for_event(self, event: int, stream: int | None, ordinal: int, call: str) -> None:
        """Make a stream wait for an event of somebody else's; the host where there is none.

        As on CUDA, nobody can ask whether an event was recorded in a capture.
        """
        if stream is None:
            with self._unnoticed():
                error = self.api.hipEventSynchronize(event)
            self._check_event(error, event, "hipEventSynchronize", call)
            return
        self.device_of(stream, ordinal, call)
        with self.on_stream(stream, ordinal, call):
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures, and is to wait for the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")
            error = self.api.hipStreamWaitEvent(stream, event, 0)
            self._check_event(error, event, "hipStreamWaitEvent", call)
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} was drawn into the capture of the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")

    def _check_event(self, error: int, event: int, function: str, call: str) -> None:
        """Raise what the runtime said of an event."""
        if error in hip.OF_CAPTURES:
            said = self.name_of(error)
            what = f"the event {event:#x} is of a capture ({function} failed with {said})"
            raise StreamError(call, what, "DLP-STREAM-8")
        if error in {hip.INVALID_HANDLE, hip.CONTEXT_IS_DESTROYED}:
            what = f"{event:#x} is no event ({function} failed with {self.name_of(error)})"
            raise ExchangeError(call, what, "ARROW-DEVICE-3")
        self.check(error, function, call)

    def record_event(self, stream: int, ordinal: int, call: str) -> tuple[int, int]:
        """Return a fresh event behind the work that is on a stream now, and its device."""
        device = self.device_of(stream, ordinal, call)
        with self.on_stream(stream, device, call):
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures, and no event of it is waited for by others"
                raise StreamError(call, what, "DLP-STREAM-8")
        event = self._make_event(device, call)
        self._record(event, stream, ordinal, call)
        return event, device

    def destroy_event(self, event: int, home: int) -> None:
        """Destroy an event of ours, on its device.  Never raises: a finaliser calls it."""
        with contextlib.suppress(Exception), self.on_device(home, "destroy_event()"):
            if error := self.api.hipEventDestroy(event):
                self.name_of(error)


def signs_of_driver() -> tuple[Any, ...]:
    """Return what changes when a runtime may be found that was not found before.

    That is, when the user names another file, or modules were imported, which bring a runtime.
    """
    return os.environ.get(hip.VARIABLE), len(sys.modules)


def open_driver(call: str) -> HipDriver:
    """Return the driver, initialised.

    Raises
    ------
    DriverUnavailableError
        There is no HIP runtime, or no device (IX-DRIVER-1).
    """
    api = hip.open_library(call)
    count = c_int()
    error = api.hipGetDeviceCount(byref(count))
    if error or not count.value:
        said = f"failed with {HipDevices(api).name_of(error)}" if error else "found none"
        what = f"ROCm has no device here (hipGetDeviceCount {said})"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1", "use a machine with a device")
    return HipDriver(api)
