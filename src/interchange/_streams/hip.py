"""The driver of ROCm devices: the HIP runtime, by ctypes.

Source: HIP runtime API.  Stream 0 is the default stream of a device, whichever is current; 1 and 2
are not streams.
"""

from __future__ import annotations

import contextlib
import os
import sys
from ctypes import byref
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import (
    DriverUnavailableError,
    StreamError,
    UnsupportedDeviceError,
)
from interchange.abi.dlpack import DLDeviceType

from . import _hip_library as hip
from .device_driver import INVALID_HANDLE, Api, Driver, PointerAttributes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from .device_driver import PitchedCopy

DEFAULT_STREAM: Final = 0
_NO_STREAMS: Final = (1, 2)  # HIP's own handles of its default streams, which no protocol uses
_API: Final = Api(
    last_default=DEFAULT_STREAM,
    default="default stream",
    capture_info="hipStreamGetCaptureInfo",
    default_capture_info="hipStreamIsCapturing",  # the other one is refused while a stream captures
    exchange_capture_mode="hipThreadExchangeStreamCaptureMode",
    stream_create="hipStreamCreateWithFlags",
    stream_destroy="hipStreamDestroy",
    stream_synchronize="hipStreamSynchronize",
    stream_wait_event="hipStreamWaitEvent",
    event_create="hipEventCreateWithFlags",
    event_destroy="hipEventDestroy",
    event_query="hipEventQuery",
    event_record="hipEventRecord",
    event_synchronize="hipEventSynchronize",
    device_count="hipGetDeviceCount",
    device_synchronize="hipDeviceSynchronize",
    malloc="hipMalloc",
    malloc_host="hipHostMalloc",
    free="hipFree",
    free_host="hipHostFree",
    memcpy="hipMemcpyAsync",
    memcpy_kind=(hip.COPY_DEFAULT,),
)


class HipDriver(Driver):
    """The driver interface for ROCm.  See `interchange._streams.device_driver.Driver`.

    `api`: the result of `open_library`.
    """

    name = "ROCm"
    device_type = DLDeviceType.kDLROCM

    def __init__(self, api: Any) -> None:
        super().__init__(api, _API, hip.CAPTURE_RELAXED)
        self._kinds = hip.memory_kinds(api)

    # ------------------------------------------------------------ devices and streams

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device."""
        error, found = self.api.hipGetDevice()
        self.check(error, "hipGetDevice", call)
        return int(found)

    @contextlib.contextmanager
    def on_device(self, ordinal: int, call: str) -> Iterator[None]:
        """Make a device current, and restore the previous one; -1 stands for the current one."""
        before = self.current_device(call)
        if ordinal in {before, -1}:
            yield
            return
        (error,) = self.api.hipSetDevice(ordinal)
        self.check_ordinal(error, ordinal, "hipSetDevice", call)
        try:
            yield
        finally:
            self.api.hipSetDevice(before)

    def _device_of(self, stream: int, ordinal: int, call: str) -> int:
        """Return the device of a stream; of the default stream, `ordinal`.

        It is called before a handle is passed to another function: only this one checks in every
        release whether the stream exists; the others dereference the handle.
        """
        if stream == DEFAULT_STREAM:
            return ordinal
        if stream in _NO_STREAMS or stream < 0:
            raise StreamError(call, f"stream={stream} is not a stream on ROCm", "DLP-STREAM-3")
        found: int = self.api.library.hipGetStreamDeviceId(stream)
        if found < 0:
            error = hip.HipError(INVALID_HANDLE)
            raise self._refuse_stream(error, stream, "hipGetStreamDeviceId", call)
        return found

    def _for_queries(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Check a stream; for the default stream, return a context manager that sets the device."""
        self._device_of(stream, ordinal, call)
        if stream == DEFAULT_STREAM:
            return self.on_device(ordinal, call)
        return contextlib.nullcontext()

    def _for_work(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[int]:
        """Yield the device of a stream; work for it needs no current device."""
        return contextlib.nullcontext(self._device_of(stream, ordinal, call))

    def _in_home(self, home: int, call: str) -> AbstractContextManager[None]:
        """Make a device current, and restore the previous one."""
        return self.on_device(home, call)

    def in_lasting_home(self, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make a device current, and restore the previous one."""
        return self.on_device(ordinal, call)

    # ------------------------------------------------------------ addresses

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return the location of an address, or None if the runtime does not know it.

        Managed memory counts as device memory: DLPack has no other type for it on ROCm.
        """
        error, found = self.api.hipPointerGetAttributes(ptr)
        if error == hip.INVALID_VALUE:  # in some releases; in others the type is "unregistered"
            return None
        self.check(error, "hipPointerGetAttributes", call)
        kind = DLDeviceType.kDLROCM if found.is_managed else self._kinds.get(found.type)
        if kind is None:
            return None
        start, end = self._range_of(ptr, found, call)
        return PointerAttributes(kind, found.device, start, end)

    def _range_of(self, ptr: int, found: hip.PointerAttributes, call: str) -> tuple[int, int]:
        """Return the first address of the allocation of an address, and the first after it."""
        error, start, size = self.api.hipMemGetAddressRange(ptr)
        self.check(error, "hipMemGetAddressRange", call)
        if not start:  # for registered host memory the function returns only the length
            error, first = self.api.hipPointerGetAttribute(hip.RANGE_START, ptr)
            self.check(error, "hipPointerGetAttribute", call)
            start = ptr - ((found.host_pointer or 0) - first)
        return start, start + size

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device accesses page-locked host memory."""
        error, found = self.api.hipHostGetDevicePointer(ptr, 0)
        self.check(error, "hipHostGetDevicePointer", call)
        return int(found)

    # ------------------------------------------------------------ allocations

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Refuse: DLPack has no type for managed memory of ROCm."""
        what = f"{nbytes} bytes of managed memory by rocm:{ordinal}"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6")

    def _home_of_allocation(self, ptr: int, ordinal: int) -> int | None:
        """Return the device of an allocation of interchange; freeing waits for all its streams."""
        return ordinal if ptr else None

    # ------------------------------------------------------------ copies

    def copy_pitched(self, copy: PitchedCopy, stream: int, ordinal: int, call: str) -> None:
        """Enqueue a copy of rows and slices, between addresses that the runtime knows."""
        function = "hipMemcpy2DAsync" if copy.depth == 1 else "hipMemcpy3DAsync"
        enqueue = self._copy_rows if copy.depth == 1 else self._copy_slices
        with self.on_stream(stream, ordinal, call):
            (error,) = enqueue(copy, stream)
        self.check(error, function, call)

    def _copy_rows(self, copy: PitchedCopy, stream: int) -> Any:
        """Enqueue a copy of rows."""
        target, source, size = copy.target[:2], copy.source[:2], (copy.width, copy.height)
        return self.api.hipMemcpy2DAsync(*target, *source, *size, hip.COPY_DEFAULT, stream)

    def _copy_slices(self, copy: PitchedCopy, stream: int) -> Any:
        """Enqueue a copy of slices."""
        request = hip.Copy3D(
            source=_pitched(copy.source, copy.width),
            target=_pitched(copy.target, copy.width),
            extent=hip.Triple(copy.width, copy.height, copy.depth),
            kind=hip.COPY_DEFAULT,
        )
        return self.api.hipMemcpy3DAsync(byref(request), stream)


def _pitched(side: tuple[int, int, int], width: int) -> hip.PitchedPointer:
    """Return one side of a copy as the runtime takes it."""
    ptr, pitch, rows = side
    return hip.PitchedPointer(ptr, pitch, width, rows)


def signs_of_driver() -> tuple[Any, ...]:
    """Return a value that changes when a runtime may have become available.

    That is the case after the user named another file, or modules were imported, which load a
    runtime.
    """
    return os.environ.get(hip.VARIABLE), len(sys.modules)


def open_driver(call: str) -> HipDriver:
    """Return the driver, initialised.

    Raises DriverUnavailableError: there is no HIP runtime, or no device (IX-DRIVER-1).
    """
    api = hip.open_library(call)
    error, count = api.hipGetDeviceCount()
    if error or not count:
        said = f"failed with {error.name}" if error else "found none"
        what = f"ROCm has no device here (hipGetDeviceCount {said})"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1", "use a machine with a device")
    return HipDriver(api)
