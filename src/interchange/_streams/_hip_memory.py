"""The HIP runtime, memory: what an address is, allocations, copies.

Source: HIP runtime API, Memory Management.
"""

from __future__ import annotations

import contextlib
from ctypes import byref, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import OutOfDeviceMemoryError, UnsupportedDeviceError
from interchange.abi.dlpack import DLDeviceType

from . import _hip_library as hip
from ._hip_devices import HipDevices
from .driver import PointerAttributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .driver import PitchedCopy

_OUT_OF_MEMORY: Final = 2  # hipErrorOutOfMemory
_NON_BLOCKING: Final = 1  # hipStreamNonBlocking: no default stream waits for it


class HipMemory(HipDevices):
    """The part of `HipDriver` that is about memory.

    Parameters
    ----------
    api : ctypes.CDLL
        What `open_library` returned.
    """

    def __init__(self, api: Any) -> None:
        super().__init__(api)
        self._kinds = hip.memory_kinds(api)
        self._followers: dict[int, int] = {}  # device -> stream

    def order(
        self, producer: int, consumer: int, ordinal: int, call: str, where: int | None = None
    ) -> None:
        """Make `consumer` wait for `producer`."""
        raise NotImplementedError

    # ------------------------------------------------------------ addresses

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return where an address is, or None where the runtime does not know it.

        Managed memory counts as the device's: DLPack has no other word for it on ROCm.
        """
        said = hip.PointerAttributes()
        error = self.api.hipPointerGetAttributes(byref(said), ptr)
        if error == hip.INVALID_VALUE:  # so say some releases; others call it unregistered
            self.name_of(error)
            return None
        self.check(error, "hipPointerGetAttributes", call)
        kind = DLDeviceType.kDLROCM if said.is_managed else self._kinds.get(said.type)
        if kind is None:
            return None
        start, end = self._range_of(ptr, said, call)
        return PointerAttributes(kind, said.device, start, end)

    def _range_of(self, ptr: int, said: hip.PointerAttributes, call: str) -> tuple[int, int]:
        """Return where the allocation begins that an address is in, and where it ends."""
        found, size = c_void_p(), c_size_t()
        error = self.api.hipMemGetAddressRange(byref(found), byref(size), ptr)
        self.check(error, "hipMemGetAddressRange", call)
        start = found.value or 0
        if not start:  # of the host's own memory, registered later, that tells the length only
            error = self.api.hipPointerGetAttribute(byref(found), hip.RANGE_START, ptr)
            self.check(error, "hipPointerGetAttribute", call)
            start = ptr - ((said.host_pointer or 0) - (found.value or 0))
        return start, start + size.value

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device reaches page-locked host memory."""
        found = c_void_p()
        error = self.api.hipHostGetDevicePointer(byref(found), ptr, 0)
        self.check(error, "hipHostGetDevicePointer", call)
        return found.value or 0

    # ------------------------------------------------------------ allocations

    def allocate(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of fresh device memory."""
        found = c_void_p()
        with self.on_device(ordinal, call), self._unnoticed():
            error = self.api.hipMalloc(byref(found), nbytes)
        self._check_room(error, f"hipMalloc({nbytes})", call)
        return found.value or 0

    def allocate_pinned(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of fresh page-locked host memory, which every device reaches."""
        found = c_void_p()
        with self.on_device(ordinal, call), self._unnoticed():
            error = self.api.hipHostMalloc(byref(found), nbytes, hip.HOST_PORTABLE)
        self._check_room(error, f"hipHostMalloc({nbytes})", call)
        return found.value or 0

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Refuse: DLPack has no word for managed memory of ROCm."""
        what = f"{nbytes} bytes of managed memory by rocm:{ordinal}"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6")

    def _check_room(self, error: int, function: str, call: str) -> None:
        """Raise what the runtime said, of its own kind where there is no room."""
        if error == _OUT_OF_MEMORY:
            what = f"{function} failed with {self.name_of(error)}"
            raise OutOfDeviceMemoryError(call, what, "IX-DRIVER-4")
        self.check(error, function, call)

    def free(self, ptr: int, ordinal: int, pinned: bool) -> None:
        """Give memory back when the work on it is done.  Never raises: a finaliser calls it."""
        api = self.api
        with contextlib.suppress(Exception), self.on_device(ordinal, "free()"), self._unnoticed():
            follower = self._followers.get(ordinal)
            if follower is not None and (error := api.hipStreamSynchronize(follower)):
                self.name_of(error)
            if error := (api.hipHostFree if pinned else api.hipFree)(ptr):
                self.name_of(error)

    @contextlib.contextmanager
    def _unnoticed(self) -> Iterator[None]:
        """Make calls that a capture forbids, this thread's or another's, without spoiling it.

        None of them is on a stream that captures, and finalisers run anywhere.
        """
        exchange = self.api.hipThreadExchangeStreamCaptureMode
        mode = c_int(hip.CAPTURE_RELAXED)
        exchanged = not exchange(byref(mode))
        try:
            yield
        finally:
            if exchanged:
                exchange(byref(mode))

    # ------------------------------------------------------------ what freeing waits for

    def follow(self, stream: int, ordinal: int, where: int, call: str, ptr: int = 0) -> None:
        """Let memory of the device `where` be freed only after the work on `stream`.

        Where `ptr` is given, nothing is done if `stream` is of that device, for which freeing
        waits anyway.  A private stream of the device waits for all others, for it is in nobody's
        way: the default stream would hold up others.
        """
        if ptr and self.device_of(stream, ordinal, call) == where:
            return
        self.order(stream, self.lasting_stream(where, call), ordinal, call, where)

    def lasting_stream(self, ordinal: int, call: str) -> int:
        """Return the private stream of a device, made once."""
        found = self._followers.get(ordinal)
        if found is not None:
            return found
        stream = c_void_p()
        with self.on_device(ordinal, call), self._unnoticed():
            error = self.api.hipStreamCreateWithFlags(byref(stream), c_uint(_NON_BLOCKING))
        self.check(error, "hipStreamCreateWithFlags", call)
        kept = self._followers.setdefault(ordinal, stream.value or 0)
        if kept != stream.value:  # another thread was faster
            self.api.hipStreamDestroy(stream)
        return kept

    # ------------------------------------------------------------ copies

    def copy(
        self, target: int, source: int, nbytes: int, stream: int, ordinal: int, call: str
    ) -> None:
        """Enqueue a copy between any two addresses that the runtime or the host knows."""
        self.device_of(stream, ordinal, call)
        with self.on_stream(stream, ordinal, call):
            error = self.api.hipMemcpyAsync(target, source, nbytes, hip.COPY_DEFAULT, stream)
        self.check(error, f"hipMemcpyAsync({nbytes})", call)

    def copy_pitched(self, copy: PitchedCopy, stream: int, ordinal: int, call: str) -> None:
        """Enqueue a copy of rows and slices, between addresses that the runtime knows."""
        function = "hipMemcpy2DAsync" if copy.depth == 1 else "hipMemcpy3DAsync"
        enqueue = self._copy_rows if copy.depth == 1 else self._copy_slices
        self.device_of(stream, ordinal, call)
        with self.on_stream(stream, ordinal, call):
            error = enqueue(copy, stream)
        self.check(error, function, call)

    def _copy_rows(self, copy: PitchedCopy, stream: int) -> int:
        """Enqueue a copy of rows."""
        target, source, size = copy.target[:2], copy.source[:2], (copy.width, copy.height)
        call = self.api.hipMemcpy2DAsync
        return int(call(*target, *source, *size, hip.COPY_DEFAULT, stream))

    def _copy_slices(self, copy: PitchedCopy, stream: int) -> int:
        """Enqueue a copy of slices."""
        request = hip.Copy3D(
            source=_pitched(copy.source, copy.width),
            target=_pitched(copy.target, copy.width),
            extent=hip.Triple(copy.width, copy.height, copy.depth),
            kind=hip.COPY_DEFAULT,
        )
        return int(self.api.hipMemcpy3DAsync(byref(request), stream))


def _pitched(side: tuple[int, int, int], width: int) -> hip.PitchedPointer:
    """Return one side of a copy as the runtime takes it."""
    ptr, pitch, rows = side
    return hip.PitchedPointer(ptr, pitch, width, rows)
