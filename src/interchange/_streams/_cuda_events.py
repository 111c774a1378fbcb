"""The CUDA driver, events that are handed over: those of others are waited for, ours recorded.

Source: CUDA driver API, Event Management and Stream Management, ``cuStreamWaitEvent``; on captures,
CUDA programming guide, Cross-stream Dependencies and Events.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

from interchange._types.errors import ExchangeError, StreamError

from ._cuda_memory import CudaMemory

_OF_CAPTURES: Final = range(900, 909)  # CUDA_ERROR_STREAM_CAPTURE_* and CUDA_ERROR_CAPTURED_EVENT


class CudaEvents(CudaMemory):
    """The part of `CudaDriver` that is about events which change hands."""

    def _capture_of(self, stream: int, call: str) -> int | None:
        """Return the id of the capture that a stream takes part in, or None."""
        raise NotImplementedError

    def _refuse_stream(self, error: Any, stream: int, function: str, call: str) -> Exception:
        """Return the error for a stream that the driver refused."""
        raise NotImplementedError

    def wait_for_event(self, event: int, stream: int | None, ordinal: int, call: str) -> None:
        """Make a stream wait for an event of somebody else's; the host where there is none.

        Nobody can ask whether an event was recorded in a capture without spoiling the capture, so
        a stream that captures is refused, and one that was drawn into a capture is found after.
        """
        with self.on_device(ordinal, call):
            if stream is None:
                with self.unnoticed():
                    (error,) = self.api.cuEventSynchronize(event)
                self._check_event(error, event, "cuEventSynchronize", call)
                return
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures, and is to wait for the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")
            (error,) = self.api.cuStreamWaitEvent(stream, event, 0)
            self._check_event(error, event, "cuStreamWaitEvent", call)
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} was drawn into the capture of the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")

    def _check_event(self, error: Any, event: int, function: str, call: str) -> None:
        """Raise what the driver said of an event."""
        codes = self.api.CUresult
        if error in {codes.CUDA_ERROR_INVALID_HANDLE, codes.CUDA_ERROR_CONTEXT_IS_DESTROYED}:
            what = f"{event:#x} is no event ({function} failed with {error.name})"
            raise ExchangeError(call, what, "ARROW-DEVICE-3")
        if int(error) in _OF_CAPTURES:
            what = f"the event {event:#x} is of a capture ({function} failed with {error.name})"
            raise StreamError(call, what, "DLP-STREAM-8")
        self.check(error, function, call)

    def record_event(self, stream: int, ordinal: int, call: str) -> tuple[int, int]:
        """Return a fresh event behind the work that is on a stream now, and its context."""
        with self.on_stream(stream, ordinal, call) as context:
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures, and no event of it is waited for by others"
                raise StreamError(call, what, "DLP-STREAM-8")
            flag = self.api.CUevent_flags.CU_EVENT_DISABLE_TIMING
            error, event = self.api.cuEventCreate(flag)
            self.check(error, "cuEventCreate", call)
            (error,) = self.api.cuEventRecord(event, stream)
            if error:
                self.api.cuEventDestroy(event)
                raise self._refuse_stream(error, stream, "cuEventRecord", call)
        return int(event), context

    def destroy_event(self, event: int, home: int) -> None:
        """Destroy an event of ours, in its context.  Never raises: a finaliser calls it."""
        with contextlib.suppress(Exception), self._in_context(home, "destroy_event()"):
            self.api.cuEventDestroy(event)
