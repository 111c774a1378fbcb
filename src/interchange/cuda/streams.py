"""Streams and events: of the GPU if there is one, else of the CPU, where no work is pending.

Source: CUDA driver API, Stream Management and Event Management; CUDA Array Interface, version 3,
whose examples use them; the ``__cuda_stream__`` protocol of cuda.core.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any, Final

from interchange._streams.driver import driver_of
from interchange._streams.handles import stream_handle
from interchange._streams.rules import LEGACY_DEFAULT_STREAM, NO_SYNC, PER_THREAD_DEFAULT_STREAM
from interchange._types.devices import Device, is_index
from interchange._types.errors import ArgumentError, DriverUnavailableError, StreamError, show
from interchange.abi.dlpack import DLDeviceType

from .printed import write_running
from .unloading import dead_code, unload

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST: Final = (DLDeviceType.kDLCUDA, 0)
_NON_BLOCKING: Final = 1  # CU_STREAM_NON_BLOCKING
_NO_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING
_MILLISECONDS: Final = 1e3  # in a second


def find_driver(call: str) -> Any:
    """Return the driver of this machine's GPUs, or None if there is no GPU."""
    try:
        driver = driver_of(Device.of(_FIRST, call), call)
    except DriverUnavailableError:
        return None
    return driver if driver.count_devices(call) else None


def is_available() -> bool:
    """Return whether a GPU is available; new arrays, streams and events are created on it.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.is_available() in {True, False}
    True
    """
    return find_driver("cuda.is_available()") is not None


class Stream:
    """A CUDA stream, created by `stream`.

    On the CPU every call is synchronous, so that a stream has no effect.
    """

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return "<stream of the CPU>"

    def synchronize(self) -> None:
        """Block the host until all enqueued work is done."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Return a context manager that synchronizes the stream on exit."""
        yield self
        self.synchronize()


class DeviceStream(Stream):
    """A stream of a GPU, for any library that supports ``__cuda_stream__``.

    Attributes
    ----------
    handle : int
        Handle of the driver.
    ordinal : int
        Ordinal of the device.
    """

    __slots__ = ("_driver", "_process", "handle", "ordinal")

    ordinal: int
    handle: int

    def __init__(
        self, driver: Any, ordinal: int, call: str, *, flags: int = 0, priority: int = 0
    ) -> None:
        self._driver, self.ordinal, self._process = driver, ordinal, os.getpid()
        self.handle = 0
        with driver.on_device(ordinal, call), driver.unnoticed():
            error, handle = driver.api.cuStreamCreateWithPriority(flags, priority)
            driver.check(error, "cuStreamCreateWithPriority", call)
            self.handle = int(handle)

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of cuda:{self.ordinal}>"

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, 0, and the handle."""
        return 0, self.handle

    def synchronize(self) -> None:
        """Block the host until all enqueued work is done."""
        self._driver.synchronize(self.handle, self.ordinal, "stream.synchronize()")
        write_running()

    def __del__(
        self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress
    ) -> None:  # bound as defaults: globals may be gone
        if self.handle and self._process == _process():
            with _suppress(Exception), self._driver.on_device(self.ordinal, "del"):
                self._driver.api.cuStreamDestroy(self.handle)


class ExternalStream(DeviceStream):
    """A stream that another library created and destroys, or a default stream."""

    __slots__ = ()

    def __init__(self, driver: Any, handle: int, ordinal: int) -> None:
        self._driver = driver
        self.handle: int = handle
        self.ordinal: int = ordinal

    def __del__(self, *_: Any) -> None:
        """Leave the stream to its library."""


class Event:
    """A CUDA event, created by `event`.  On the CPU it is complete as soon as it is recorded."""

    __slots__ = ("__weakref__", "_recorded")

    def __init__(self) -> None:
        self._recorded: float | None = None

    def record(self, stream: Any = None) -> None:
        """Record the event on a stream, after the work that is enqueued there now."""
        check_stream(stream, "event.record()")
        self._recorded = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Make future work on a stream wait for the event."""
        check_stream(stream, "event.wait()")

    def synchronize(self) -> None:
        """Block the host until the event is complete."""

    def query(self) -> bool:
        """Return whether the event is complete."""
        return True

    def elapsed_time(self, later: Event) -> float:
        """Return the time between this event and a later one [ms]."""
        if not isinstance(later, Event):
            raise ArgumentError(
                "event.elapsed_time()", f"{show(later)} is not an event", "CPY-EVENT-1"
            )
        if self._recorded is None or later._recorded is None:
            what = "an event was not recorded"
            raise ArgumentError("event.elapsed_time()", what, "CPY-EVENT-1")
        return (later._recorded - self._recorded) * _MILLISECONDS


class DeviceEvent(Event):
    """An event of a GPU."""

    __slots__ = ("_driver", "_process", "handle", "ordinal")

    ordinal: int
    handle: int

    def __init__(self, driver: Any, ordinal: int, call: str, *, timing: bool) -> None:
        super().__init__()
        self._driver, self.ordinal, self._process = driver, ordinal, os.getpid()
        self.handle = 0
        with driver.on_device(ordinal, call), driver.unnoticed():
            error, handle = driver.api.cuEventCreate(0 if timing else _NO_TIMING)
            driver.check(error, "cuEventCreate", call)
            self.handle = int(handle)

    def _ask(self, function: str, call: str, *arguments: Any) -> None:
        """Make a call of the driver on the event's device."""
        driver = self._driver
        with driver.on_device(self.ordinal, call):
            (error,) = getattr(driver.api, function)(*arguments)
        if error == driver.api.CUresult.CUDA_ERROR_INVALID_HANDLE:
            raise StreamError(call, f"{function} refused the stream or the event", "DLP-STREAM-7")
        driver.check(error, function, call)

    def record(self, stream: Any = None) -> None:
        """Record the event on a stream, after the work that is enqueued there now."""
        call = "event.record()"
        self._ask("cuEventRecord", call, self.handle, check_stream(stream, call))

    def wait(self, stream: Any = None) -> None:
        """Make future work on a stream wait for the event."""
        call = "event.wait()"
        self._ask("cuStreamWaitEvent", call, check_stream(stream, call), self.handle, 0)

    def synchronize(self) -> None:
        """Block the host until the event is complete."""
        self._ask("cuEventSynchronize", "event.synchronize()", self.handle)
        write_running()

    def query(self) -> bool:
        """Return whether the event is complete."""
        driver, call = self._driver, "event.query()"
        with driver.on_device(self.ordinal, call):
            (error,) = driver.api.cuEventQuery(self.handle)
        if error == driver.api.CUresult.CUDA_ERROR_NOT_READY:
            return False
        driver.check(error, "cuEventQuery", call)
        return True

    def elapsed_time(self, later: Event) -> float:
        """Return the time between this event and a later one [ms]."""
        driver, call = self._driver, "event.elapsed_time()"
        if not isinstance(later, DeviceEvent):
            raise ArgumentError(call, f"{show(later)} is not an event of a GPU", "CPY-EVENT-1")
        error, found = driver.api.cuEventElapsedTime(self.handle, later.handle)
        if error == driver.api.CUresult.CUDA_ERROR_INVALID_HANDLE:
            what = "an event was not recorded, or has timing disabled"
            raise ArgumentError(call, what, "CPY-EVENT-1")
        if error == driver.api.CUresult.CUDA_ERROR_NOT_READY:
            what, hint = "an event is not complete yet", "call synchronize() on the later one"
            raise ArgumentError(call, what, "CPY-EVENT-1", hint)
        driver.check(error, "cuEventElapsedTime", call)
        return float(found)

    def __del__(
        self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress
    ) -> None:  # bound as defaults: globals may be gone
        if self.handle and self._process == _process():
            with _suppress(Exception), self._driver.on_device(self.ordinal, "del"):
                self._driver.api.cuEventDestroy(self.handle)


def check_stream(stream: Any, call: str) -> int:
    """Return the handle of a stream; None, 0 and streams of the CPU mean the default one."""
    handle = None if type(stream) is Stream else stream_handle(stream, call)
    if handle is not None and handle <= NO_SYNC:
        raise StreamError(call, f"stream={show(stream)}", "DLP-STREAM-2")
    return handle or LEGACY_DEFAULT_STREAM


def synchronize_stream(handle: int, call: str) -> None:
    """Block the host until a stream of a GPU is done, if there is a GPU."""
    driver = find_driver(call)
    if driver is not None:
        driver.synchronize(handle, driver.current_device(call), call)
        write_running()


def synchronize() -> None:
    """Block the host until all work on the current GPU is done; does nothing on the CPU.

    Code of kernels that are gone is unloaded then, unless it may be part of a graph.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.synchronize()
    """
    call = "cuda.synchronize()"
    driver = find_driver(call)
    if driver is None:
        return
    ordinal, dead = driver.current_device(call), dead_code()
    driver.synchronize_device(ordinal, call)
    write_running()
    if dead:
        with driver.on_device(ordinal, call):
            unload(driver, dead)


def stream(*, non_blocking: bool = False, priority: int = 0) -> Stream:
    """Create a stream on the current GPU, or on the CPU if there is no GPU.

    Parameters
    ----------
    non_blocking : bool, default False
        False: work on it waits for work on the legacy default stream, and the other way round, as
        with ``cudaStreamCreate``.  True: it does not.
    priority : int, default 0
        Lower numbers have higher priority; they are clamped to the range of the GPU.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.stream().synchronize()
    """
    call = "cuda.stream()"
    if not is_index(priority):
        raise ArgumentError(call, f"priority={show(priority)}", "IX-ARGUMENT-1", "pass an int")
    driver = find_driver(call)
    if driver is None:
        return Stream()
    flags = _NON_BLOCKING if non_blocking else 0
    ordinal = driver.current_device(call)
    return DeviceStream(driver, ordinal, call, flags=flags, priority=int(priority))


def external_stream(ptr: Any) -> Stream:
    """Return a stream that another library created and destroys; a stream of the CPU without a GPU.

    Parameters
    ----------
    ptr : int or stream object
        The handle.

    Raises
    ------
    StreamError
        It is not a stream of the driver (DLP-STREAM-7).

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.external_stream(1).synchronize()
    """
    call = "cuda.external_stream()"
    handle, driver = check_stream(ptr, call), find_driver(call)
    if driver is None:
        return Stream()
    with driver.on_stream(handle, driver.current_device(call), call):
        return ExternalStream(driver, handle, driver.current_device(call))


def default_stream() -> Stream:
    """Return the legacy default stream of the current GPU.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.default_stream().synchronize()
    """
    return external_stream(LEGACY_DEFAULT_STREAM)


legacy_default_stream = default_stream


def per_thread_default_stream() -> Stream:
    """Return the default stream of the calling thread, on the current GPU.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.per_thread_default_stream().synchronize()
    """
    return external_stream(PER_THREAD_DEFAULT_STREAM)


def event(*, timing: bool = True) -> Event:
    """Create an event on the current GPU, or on the CPU if there is no GPU.

    Parameters
    ----------
    timing : bool, default True
        Whether it records the time, for `Event.elapsed_time`.

    Examples
    --------
    >>> from interchange import cuda
    >>> first, second = cuda.event(), cuda.event()
    >>> first.record(); second.record(); second.synchronize()
    >>> first.elapsed_time(second) >= 0
    True
    """
    call = "cuda.event()"
    driver = find_driver(call)
    if driver is None:
        return Event()
    return DeviceEvent(driver, driver.current_device(call), call, timing=timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the time between two events [ms], as `Event.elapsed_time`.

    Parameters
    ----------
    evtstart, evtend : Event
        Recorded events with timing; the later one is complete.

    Raises
    ------
    ArgumentError
        They are not such events (CPY-EVENT-1).

    Examples
    --------
    >>> from interchange import cuda
    >>> first, second = cuda.event(), cuda.event()
    >>> first.record(); second.record(); second.synchronize()
    >>> cuda.event_elapsed_time(first, second) >= 0
    True
    """
    if not isinstance(evtstart, Event):
        what = f"{show(evtstart)} is not an event"
        raise ArgumentError("cuda.event_elapsed_time()", what, "CPY-EVENT-1")
    return evtstart.elapsed_time(evtend)
