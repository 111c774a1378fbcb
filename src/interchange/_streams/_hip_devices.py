"""The HIP runtime, devices: the current one, that of a stream; and what errors are called.

Source: HIP runtime API, Device Management and Error Handling.
"""

from __future__ import annotations

import contextlib
from ctypes import byref, c_int
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ExchangeError, StreamError

from . import _hip_library as hip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

DEFAULT_STREAM: Final = 0
_NO_STREAMS: Final = (1, 2)  # HIP's own handles for its default streams, which no protocol has
_IN_VAIN: Final = frozenset({hip.INVALID_HANDLE, hip.CONTEXT_IS_DESTROYED})


class HipDevices:
    """The part of `HipDriver` that is about devices.

    Parameters
    ----------
    api : ctypes.CDLL
        What `open_library` returned.
    """

    def __init__(self, api: Any) -> None:
        self.api = api
        self._count = 0  # of devices, once it was asked for

    # ------------------------------------------------------------ errors

    def name_of(self, error: int) -> str:
        """Return the name of an error, and let the runtime forget it.

        Others ask it for the last error of a thread, to see how launches of theirs went.
        """
        self.api.hipGetLastError()
        name: bytes | None = self.api.hipGetErrorName(error)
        return (name or b"an unknown error").decode(errors="replace")

    def check(self, error: int, function: str, call: str) -> None:
        """Raise what the runtime said."""
        if error:
            what = f"{function} failed with {self.name_of(error)}"
            raise ExchangeError(call, what, "IX-DRIVER-2")

    def check_stream(self, error: int, stream: int, function: str, call: str) -> None:
        """Raise what the runtime said of a stream."""
        if error in _IN_VAIN:
            self.name_of(error)
            raise _no_stream(stream, function, call)
        self.check(error, function, call)

    # ------------------------------------------------------------ devices

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device."""
        found = c_int()
        self.check(self.api.hipGetDevice(byref(found)), "hipGetDevice", call)
        return found.value

    def count_devices(self, call: str) -> int:
        """Return the number of devices, which stays as it is."""
        if not self._count:
            count = c_int()
            self.check(self.api.hipGetDeviceCount(byref(count)), "hipGetDeviceCount", call)
            self._count = count.value
        return self._count

    @contextlib.contextmanager
    def on_device(self, ordinal: int, call: str) -> Iterator[None]:
        """Make a device current, and restore what was."""
        before = self.current_device(call)
        if before == ordinal:
            yield
            return
        self.check(self.api.hipSetDevice(ordinal), f"hipSetDevice({ordinal})", call)
        try:
            yield
        finally:
            self.api.hipSetDevice(before)

    # ------------------------------------------------------------ streams

    def device_of(self, stream: int, ordinal: int, call: str) -> int:
        """Return the device of a stream; of the default stream, `ordinal`.

        This is asked before anything else is done with a handle: of all functions that take one,
        it alone looks whether there is such a stream, in every release; the others follow it.
        """
        if stream == DEFAULT_STREAM:
            return ordinal
        if stream in _NO_STREAMS or stream < 0:
            raise StreamError(call, f"stream={stream} is not a stream on ROCm", "DLP-STREAM-3")
        found: int = self.api.hipGetStreamDeviceId(stream)
        if found < 0:
            raise _no_stream(stream, "hipGetStreamDeviceId", call)
        return found

    def on_stream(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make the device current whose default stream is meant; other streams need none."""
        if stream == DEFAULT_STREAM:
            return self.on_device(ordinal, call)
        return contextlib.nullcontext()


def _no_stream(stream: int, function: str, call: str) -> StreamError:
    """Return the error for a handle that names no stream."""
    return StreamError(call, f"stream={stream} is no stream ({function})", "DLP-STREAM-7")
