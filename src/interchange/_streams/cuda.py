"""The CUDA driver: waits by event, pointer attributes, memory and copies.

Source: CUDA driver API, through ``cuda.bindings.driver`` of cuda-python (extra ``cuda``), which
only this module imports.  Every call is made with the context current that it belongs to.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import DriverUnavailableError, ExchangeError, StreamError
from interchange.abi._records import NamedTuple

from ._cuda_calls import LIBRARY, find_quick_calls
from ._cuda_events import CudaEvents
from .driver import is_loaded
from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES: Final = ("cuda", "cuda.bindings", "cuda.bindings.driver")
_LAST_DEFAULT: Final = PER_THREAD_DEFAULT_STREAM
_MOST_STREAMS: Final = 1024  # that are remembered
_NOT_CAPTURING: Final = 0  # CU_STREAM_CAPTURE_STATUS_NONE
_SPOILT: Final = 2  # CU_STREAM_CAPTURE_STATUS_INVALIDATED


class _Event(NamedTuple):
    """An event that keeps no time, and room for the answer to whether a stream captures."""

    handle: ctypes.c_void_p
    answer: ctypes.c_int
    place: ctypes.c_void_p  # of the answer
    number: int  # the handle's

    @classmethod
    def of(cls, handle: Any) -> _Event:
        """Return the event of a handle."""
        answer = ctypes.c_int()
        place = ctypes.c_void_p(ctypes.addressof(answer))
        return cls(ctypes.c_void_p(int(handle)), answer, place, int(handle))


class CudaDriver(CudaEvents):
    """What interchange asks of CUDA.  See `interchange._streams.driver.Driver`.

    Parameters
    ----------
    api : module
        ``cuda.bindings.driver``, initialised.
    """

    name = "CUDA"

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self._events: dict[int, list[_Event]] = {}  # those at rest, by context
        self._ready: dict[int, tuple[list[_Event], ctypes.c_void_p]] = {}  # the same, by stream
        self._targets: dict[int, ctypes.c_void_p] = {}  # consumers
        self._count = 0  # of devices, once it was asked for
        self._capturing, self._record, self._wait = find_quick_calls(api)

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
        """Make `consumer` wait for `producer`: one event is recorded, and waited for.

        Streams that were met before are ordered whatever device is current: an event is recorded
        on a stream of its own context, and waited for on any (CUDA programming guide, Stream and
        Event Behavior).
        """
        if producer == consumer and (where in {None, ordinal} or producer > _LAST_DEFAULT):
            return
        try:
            events, source = self._ready[producer]
            target = self._targets[consumer]
            event = events.pop()
        except LookupError:  # not met before, or other threads have all events
            self._order_carefully(producer, consumer, ordinal, call, where, fork=fork)
            return
        handle, answer, place, number = event
        failed: Any
        if self._order_compiled is not None:
            failed = self._order_compiled(producer, consumer, number)
        else:
            failed = self._capturing(target, place) or answer.value
            failed = failed or self._capturing(source, place) or answer.value
            failed = failed or self._record(handle, source) or self._wait(target, handle, 0)
        events.append(event)
        if failed:  # a capture, or a handle that was used again for a stream of another context
            self._ready.pop(producer, None)
            self._order_carefully(producer, consumer, ordinal, call, where, fork=fork)

    def _order_carefully(
        self,
        producer: int,
        consumer: int,
        ordinal: int,
        call: str,
        where: int | None,
        *,
        fork: bool,
    ) -> None:
        """Order streams of any context, captures among them; learn what speeds up the next time."""
        where = ordinal if where is None else where
        with self.on_device(where, call):
            theirs = self._capture_of(consumer, call)
        with self.on_device(ordinal, call):
            ours = self._capture_of(producer, call)
            self._check_capture((producer, ours), (consumer, theirs), call, fork=fork)
            context = self._find_context(producer, ordinal, call)
            with self._in_context(context, call):
                event = self._record_event(context, producer, call)
        try:
            with self.on_device(where, call):
                (error,) = self.api.cuStreamWaitEvent(consumer, event.handle.value, 0)
        finally:
            self._events[context].append(event)
        if error:
            raise self._refuse_stream(error, consumer, "cuStreamWaitEvent", call)
        self._remember(producer, consumer, context)

    def _record_event(self, context: int, producer: int, call: str) -> _Event:
        """Record an event on a stream of the current context.

        One at rest may be of a context that is gone, and whose number was used again.
        """
        event = self._take_event(context, call)
        (error,) = self.api.cuEventRecord(event.handle.value, producer)
        if error:
            self.api.cuEventDestroy(event.handle.value)
            self._events[context].clear()
            event = self._take_event(context, call)
            (error,) = self.api.cuEventRecord(event.handle.value, producer)
        if error:
            self.api.cuEventDestroy(event.handle.value)
            raise self._refuse_stream(error, producer, "cuEventRecord", call)
        return event

    def _remember(self, producer: int, consumer: int, context: int) -> None:
        """Keep what the next order of two streams needs; default streams depend on the context."""
        if len(self._ready) >= _MOST_STREAMS or len(self._targets) >= _MOST_STREAMS:
            self._ready.clear()
            self._targets.clear()
        if producer > _LAST_DEFAULT < consumer:
            self._targets[consumer] = ctypes.c_void_p(consumer)
            self._ready[producer] = self._events[context], ctypes.c_void_p(producer)

    @staticmethod
    def _check_capture(
        producer: tuple[int, int | None],
        consumer: tuple[int, int | None],
        call: str,
        *,
        fork: bool,
    ) -> None:
        """Refuse what a capture forbids, before a call that would spoil the capture.

        Both are a stream and the id of its capture.  A stream that captures nothing may be drawn
        into a capture where somebody sees to it that it joins again.
        """
        (first, ours), (then, theirs) = producer, consumer
        if ours == theirs or (fork and theirs is None and then != LEGACY_DEFAULT_STREAM):
            return
        if theirs is not None:
            what = f"stream={then} captures, and is to wait for stream={first}, which"
            what += " does not" if ours is None else " captures something else"
        else:
            what = f"stream={first} captures, and stream={then} is not part of it"
        raise StreamError(call, what, "DLP-STREAM-8")

    def _capture_of(self, stream: int, call: str) -> int | None:
        """Return the id of the capture that a stream takes part in, or None."""
        error, *answer = self.api.cuStreamGetCaptureInfo(stream)
        if error == self.api.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
            what = f"stream={stream} is the legacy default stream, while another captures"
            raise StreamError(call, what, "DLP-STREAM-8")
        if error:
            raise self._refuse_stream(error, stream, "cuStreamGetCaptureInfo", call)
        status = int(answer[0])
        if status == _SPOILT:
            what = f"stream={stream} takes part in a capture that was spoilt"
            raise StreamError(call, what, "DLP-STREAM-8", "end the capture first")
        return None if status == _NOT_CAPTURING else int(answer[1])

    def refuse_capture(self, stream: int, ordinal: int, call: str) -> None:
        """Raise `StreamError` where a stream captures (DLP-STREAM-8)."""
        with self.on_device(ordinal, call):
            captures = self._capture_of(stream, call) is not None
        if captures:
            what = f"stream={stream} captures, which no copy and no wait of the host can be part of"
            raise StreamError(call, what, "DLP-STREAM-8")

    def refuse_disturbing(self, stream: int, call: str) -> None:
        """Raise `StreamError` where the use of a stream would end a capture (DLP-STREAM-8).

        It is asked in the stream's context.
        """
        self._capture_of(stream, call)

    def synchronize(self, stream: int, ordinal: int, call: str) -> None:
        """Let the host wait for a stream."""
        self.refuse_capture(stream, ordinal, call)
        with self.on_device(ordinal, call):
            (error,) = self.api.cuStreamSynchronize(stream)
        if error:
            raise self._refuse_stream(error, stream, "cuStreamSynchronize", call)

    def synchronize_device(self, ordinal: int, call: str) -> None:
        """Let the host wait for everything on a device."""
        with self.on_device(ordinal, call):
            (error,) = self.api.cuCtxSynchronize()
        self.check(error, "cuCtxSynchronize", call)

    def _refuse_stream(self, error: Any, stream: int, function: str, call: str) -> Exception:
        """Return the error for a stream that the driver refused."""
        codes = self.api.CUresult
        if error in {codes.CUDA_ERROR_INVALID_HANDLE, codes.CUDA_ERROR_CONTEXT_IS_DESTROYED}:
            return StreamError(call, f"stream={stream} is no stream ({function})", "DLP-STREAM-7")
        return ExchangeError(call, f"{function} failed with {error.name}", "IX-DRIVER-2")

    # ------------------------------------------------------------ events

    def _take_event(self, context: int, call: str) -> _Event:
        """Return an event at rest, or a fresh one; its context is current."""
        at_rest = self._events.get(context)
        if at_rest is None:
            at_rest = self._events.setdefault(context, [])
        try:
            return at_rest.pop()
        except IndexError:
            flag = self.api.CUevent_flags.CU_EVENT_DISABLE_TIMING
            error, event = self.api.cuEventCreate(flag)
            self.check(error, "cuEventCreate", call)
            return _Event.of(event)

    def mark(self, stream: int, ordinal: int, call: str) -> tuple[int, _Event]:
        """Return an event behind the work that is on a stream now, and its context."""
        with self.on_stream(stream, ordinal, call) as context:
            return context, self._record_event(context, stream, call)

    def is_complete(self, mark: tuple[int, _Event]) -> bool:
        """Whether the work before a mark is done; then its event is at rest.  Never raises."""
        context, event = mark
        with contextlib.suppress(Exception), self.unnoticed():
            if not self.api.cuEventQuery(event.handle.value)[0]:
                self._events[context].append(event)
                return True
        return False

    # ------------------------------------------------------------ contexts

    def _find_context(self, stream: int, ordinal: int, call: str) -> int:
        """Return the context of a stream; of a default stream, that of the device."""
        if stream in {LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM}:
            return self._context_on(ordinal, call)
        error, *answer = self.api.cuStreamGetCtx(stream)
        if error:
            raise self._refuse_stream(error, stream, "cuStreamGetCtx", call)
        return int(answer[0])

    def _context_on(self, ordinal: int, call: str) -> int:
        """Return the current context if it is on the device, else the device's primary one.

        -1 stands for the device that is current, or the first.
        """
        error, device = self.api.cuCtxGetDevice()
        if not error and ordinal in {int(device), -1}:
            error, current = self.api.cuCtxGetCurrent()
            self.check(error, "cuCtxGetCurrent", call)
            return int(current)
        return self._primary_of(max(ordinal, 0), call)

    @contextlib.contextmanager
    def _in_context(self, context: int, call: str) -> Iterator[int]:
        """Make a context current, and restore what was."""
        error, current = self.api.cuCtxGetCurrent()
        self.check(error, "cuCtxGetCurrent", call)
        if int(current) == context:
            yield context
            return
        try:  # from here on, so that an interrupt leaves nothing pushed
            (error,) = self.api.cuCtxPushCurrent(context)
            self.check(error, "cuCtxPushCurrent", call)
            yield context
        finally:
            error, left = self.api.cuCtxGetCurrent()
            if not error and int(left) != int(current):
                self.api.cuCtxPopCurrent()

    @contextlib.contextmanager
    def on_device(self, ordinal: int, call: str) -> Iterator[None]:
        """Make a device current, and restore what was."""
        with self._in_context(self._context_on(ordinal, call), call):
            yield

    @contextlib.contextmanager
    def on_stream(self, stream: int, ordinal: int, call: str) -> Iterator[int]:
        """Make the context of a stream current, and restore what was."""
        with self.on_device(ordinal, call):
            context = self._find_context(stream, ordinal, call)
            with self._in_context(context, call):
                yield context

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device; the first where none is current."""
        error, device = self.api.cuCtxGetDevice()
        if error == self.api.CUresult.CUDA_ERROR_INVALID_CONTEXT:
            return 0
        self.check(error, "cuCtxGetDevice", call)
        return int(device)

    def count_devices(self, call: str) -> int:
        """Return the number of devices, which stays as it is."""
        if not self._count:
            error, count = self.api.cuDeviceGetCount()
            self.check(error, "cuDeviceGetCount", call)
            self._count = int(count)
        return self._count


def signs_of_driver() -> tuple[Any, ...]:
    """Return what changes when a driver may be found that was not found before.

    That is, when cuda-python was imported, or somebody has loaded the driver.
    """
    modules = (sys.modules.get(name, "") for name in _PACKAGES)
    return *modules, is_loaded(LIBRARY)


def open_driver(call: str) -> CudaDriver:
    """Return the driver, initialised.

    Raises
    ------
    DriverUnavailableError
        cuda-python or the driver is not installed, or there is no device (IX-DRIVER-1).
    """
    try:
        from cuda.bindings import driver as api
    except ImportError as error:
        what = f"cuda-python cannot be imported ({error})"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1") from error
    try:
        (result,) = api.cuInit(0)
    except RuntimeError as missing:  # the bindings found no library of the driver
        what = f"the CUDA driver cannot be loaded ({str(missing).splitlines()[0]})"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1") from missing
    if result:
        what = f"the CUDA driver does not start (cuInit failed with {result.name})"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1")
    return CudaDriver(api)
