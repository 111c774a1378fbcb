"""The CUDA driver, memory: what an address is, allocations, copies.

Source: CUDA driver API, Unified Addressing, Memory Management and Stream Management; on captures,
``cuThreadExchangeStreamCaptureMode``.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ExchangeError, OutOfDeviceMemoryError
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

from ._cuda_calls import find_ask, find_compiled_calls
from .driver import PointerAttributes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from ._cuda_calls import Order, Where
    from .driver import PitchedCopy

# CU_POINTER_ATTRIBUTE_: IS_MANAGED, MEMORY_TYPE, DEVICE_ORDINAL, RANGE_START_ADDR, RANGE_SIZE
_ASKED: Final = (8, 2, 9, 11, 12)
_read: Final = struct.Struct("=I4xI4xi4xQQ").unpack_from
_COUNT: Final = len(_ASKED)
_HOST: Final = 1  # CU_MEMORYTYPE_HOST
_DEVICE: Final = 2  # CU_MEMORYTYPE_DEVICE
_UNIFIED: Final = 4  # CU_MEMORYTYPE_UNIFIED: the driver tells from the address
_CUDA: Final = DLDeviceType.kDLCUDA
_new_tuple: Final = tuple.__new__  # the constructor of a named tuple costs twice as much
_PORTABLE: Final = 1  # CU_MEMHOSTALLOC_PORTABLE: page-locked for all devices
_GLOBAL: Final = 1  # CU_MEM_ATTACH_GLOBAL: managed memory that every stream may use
_NON_BLOCKING: Final = 1  # CU_STREAM_NON_BLOCKING: no default stream waits for it


class _Made(NamedTuple):
    """An allocation of ours: its context, and the number that no other allocation ever has."""

    context: int
    number: int


class _PointerQuery:
    """Memory for one asking after an address: what is asked, and room for the answers."""

    __slots__ = ("address", "answers", "kinds", "places")

    def __init__(self) -> None:
        count = _COUNT
        self.address = ctypes.c_uint64()
        self.answers = (ctypes.c_uint64 * count)()  # zero at first: answers fill the low bytes
        self.kinds = (ctypes.c_int * count)(*_ASKED)
        first = ctypes.addressof(self.answers)
        self.places = (ctypes.c_void_p * count)(*(first + 8 * i for i in range(count)))


class CudaMemory:
    """The half of `CudaDriver` that is about memory.

    Parameters
    ----------
    api : module
        ``cuda.bindings.driver``, initialised.
    """

    def __init__(self, api: Any) -> None:
        self.api = api
        self._questions: list[_PointerQuery] = []  # at rest
        self._made: dict[int, _Made] = {}  # by address
        self._followers: dict[int, int] = {}  # ordinal -> stream
        self._primaries: dict[int, Any] = {}  # ordinal -> its primary context, retained
        self._ask = find_ask(api, _ASKED)
        compiled = find_compiled_calls()
        self._order_compiled: Order | None = compiled[0]
        self._where_compiled: Where | None = compiled[1]

    def check(self, error: Any, function: str, call: str) -> None:
        """Raise what the driver said."""
        if error:
            what = f"{function} failed with {error.name}"
            raise ExchangeError(call, what, "IX-DRIVER-2")

    def on_device(self, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make a device current, and restore what was."""
        raise NotImplementedError

    def on_stream(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[int]:
        """Make the context of a stream current, and restore what was."""
        raise NotImplementedError

    def order(
        self, producer: int, consumer: int, ordinal: int, call: str, where: int | None = None
    ) -> None:
        """Make `consumer` wait for `producer`."""
        raise NotImplementedError

    def _in_context(self, context: int, call: str) -> AbstractContextManager[int]:
        """Make a context current, and restore what was."""
        raise NotImplementedError

    # ------------------------------------------------------------ addresses

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return where an address is, or None where the driver does not know it."""
        where = self._where_compiled or self._ask_where
        return self.place_of(where(ptr), call)

    def place_of(self, answers: tuple[int, ...], call: str) -> PointerAttributes | None:
        """Return where an address is, by the driver's code and its answers about it."""
        error, managed, kind, ordinal, start, size = answers
        if kind == _DEVICE and not managed and not error:
            return _new_tuple(PointerAttributes, (_CUDA, ordinal, start, start + size))
        if error:
            self.check(self.api.CUresult(error), "cuPointerGetAttributes", call)
        if not kind:
            return None
        type_ = DLDeviceType.kDLCUDAHost if kind == _HOST else DLDeviceType.kDLCUDA
        type_ = DLDeviceType.kDLCUDAManaged if managed else type_
        return PointerAttributes(type_, max(ordinal, 0), start, start + size)

    def _ask_where(self, ptr: int) -> tuple[int, ...]:
        """Return the driver's code, and its answers about an address."""
        questions = self._questions
        try:
            question = questions.pop()
        except IndexError:
            question = _PointerQuery()
        question.address.value = ptr
        error = self._ask(_COUNT, question.kinds, question.places, question.address)
        found = _read(question.answers)
        questions.append(question)
        return error, *found

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device reaches page-locked host memory."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        with self.on_device(-1, call):  # the current one, or the first
            error, found = self.api.cuPointerGetAttribute(attribute, ptr)
        self.check(error, "cuPointerGetAttribute", call)
        return int(found)

    def is_reached(self, ptr: int) -> bool:
        """Whether kernels in the current context reach an address."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        return not self.api.cuPointerGetAttribute(attribute, ptr)[0]

    # ------------------------------------------------------------ allocations

    def allocate(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of fresh device memory."""
        return self._allocate("cuMemAlloc", nbytes, (), ordinal, call)

    def allocate_pinned(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of fresh page-locked host memory, which every device reaches."""
        return self._allocate("cuMemHostAlloc", nbytes, (_PORTABLE,), ordinal, call)

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of fresh managed memory."""
        return self._allocate("cuMemAllocManaged", nbytes, (_GLOBAL,), ordinal, call)

    def _allocate(
        self, function: str, nbytes: int, flags: tuple[int, ...], ordinal: int, call: str
    ) -> int:
        """Return the address of fresh memory, of the current context if that is on the device.

        Kernels of a context reach no other context's memory.
        """
        with self.on_device(ordinal, call), self.unnoticed():
            error, ptr = getattr(self.api, function)(nbytes, *flags)
            self._check_room(error, f"{function}({nbytes})", call)
            self._made[int(ptr)] = _Made(int(self.api.cuCtxGetCurrent()[1]), self._number_of(ptr))
        return int(ptr)

    def _check_room(self, error: Any, function: str, call: str) -> None:
        """Raise what the driver said, of its own kind where there is no room."""
        if error == self.api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            what = f"{function} failed with {error.name}"
            raise OutOfDeviceMemoryError(call, what, "IX-DRIVER-4")
        self.check(error, function, call)

    def _number_of(self, ptr: int) -> int:
        """Return the number of an allocation, which is never used again; -1 where there is none."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_BUFFER_ID
        error, number = self.api.cuPointerGetAttribute(attribute, ptr)
        return -1 if error else int(number)

    def free(self, ptr: int, ordinal: int, pinned: bool) -> None:
        """Give memory back when the work on it is done.  Never raises: a finaliser calls it.

        What went with its context is left alone: its address may be another allocation's by now.
        """
        api = self.api
        with contextlib.suppress(Exception), self.on_device(ordinal, "free()"), self.unnoticed():
            made = self._made.pop(ptr, None)
            if made is not None and made.number != self._number_of(ptr):
                return
            follower = self._followers.get(ordinal)
            if follower is not None:
                api.cuStreamSynchronize(follower)
            context = contextlib.nullcontext(0)
            with self._in_context(made.context, "free()") if made else context:
                (api.cuMemFreeHost if pinned else api.cuMemFree)(ptr)

    @contextlib.contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Make calls that a capture forbids, this thread's or another's, without spoiling it.

        None of them is on a stream that captures, and finalisers run anywhere.
        """
        exchange: Callable[[Any], tuple[Any, Any]] = self.api.cuThreadExchangeStreamCaptureMode
        error, mode = exchange(self.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            yield
        finally:
            if not error:
                exchange(mode)

    # ------------------------------------------------------------ what freeing waits for

    def follow(self, stream: int, ordinal: int, where: int, call: str, ptr: int = 0) -> None:
        """Let memory of the device `where` be freed only after the work on `stream`.

        `ptr` is an allocation of ours, and nothing is done if freeing it waits for `stream`
        anyway: freeing waits for the memory's own context.  A private stream of the device waits
        for all others, for it is in nobody's way: a default stream would hold up others.
        """
        made = self._made.get(ptr)
        if made is not None:
            with self.on_stream(stream, ordinal, call) as context:
                if context == made.context:
                    return
        self.order(stream, self.lasting_stream(where, call), ordinal, call, where)

    def lasting_stream(self, ordinal: int, call: str) -> int:
        """Return the private stream of a device, made once, in the context that stays."""
        found = self._followers.get(ordinal)
        if found is not None:
            return found
        with self._in_context(self._primary_of(ordinal, call), call), self.unnoticed():
            error, stream = self.api.cuStreamCreate(_NON_BLOCKING)
        self.check(error, "cuStreamCreate", call)
        kept = self._followers.setdefault(ordinal, int(stream))
        if kept != int(stream):  # another thread was faster
            self.api.cuStreamDestroy(stream)
        return kept

    def _primary_of(self, ordinal: int, call: str) -> int:
        """Return the primary context of a device."""
        found = self._primaries.get(ordinal)
        if found is None:
            error, device = self.api.cuDeviceGet(ordinal)
            self.check(error, f"cuDeviceGet({ordinal})", call)
            error, primary = self.api.cuDevicePrimaryCtxRetain(device)
            self.check(error, "cuDevicePrimaryCtxRetain", call)
            found = self._primaries.setdefault(ordinal, int(primary))
        return int(found)

    # ------------------------------------------------------------ copies

    def copy(
        self, target: int, source: int, nbytes: int, stream: int, ordinal: int, call: str
    ) -> None:
        """Enqueue a copy between any two addresses that the driver or the host knows."""
        with self.on_stream(stream, ordinal, call):
            (error,) = self.api.cuMemcpyAsync(target, source, nbytes, stream)
        self.check(error, f"cuMemcpyAsync({nbytes})", call)

    def copy_pitched(self, copy: PitchedCopy, stream: int, ordinal: int, call: str) -> None:
        """Enqueue a copy of rows and slices, between addresses that the driver knows."""
        request = self.api.CUDA_MEMCPY3D()
        kind = self.api.CUmemorytype(_UNIFIED)
        request.srcMemoryType = request.dstMemoryType = kind
        request.dstDevice, request.dstPitch, request.dstHeight = copy.target
        request.srcDevice, request.srcPitch, request.srcHeight = copy.source
        request.WidthInBytes, request.Height, request.Depth = copy.width, copy.height, copy.depth
        with self.on_stream(stream, ordinal, call):
            (error,) = self.api.cuMemcpy3DAsync(request, stream)
        self.check(error, "cuMemcpy3DAsync", call)
