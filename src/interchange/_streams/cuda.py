"""The driver of CUDA devices: contexts, attributes of addresses, and fast stream ordering.

Source: CUDA driver API, through ``cuda.bindings.driver`` of cuda-python (extra ``cuda``), which is
imported only here.  Every call is made in the context that it belongs to.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import DriverUnavailableError, ExchangeError, StreamError
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

from ._cuda_calls import LIBRARY, find_ask, find_compiled_calls, find_quick_calls
from .device_driver import Api, Driver, PointerAttributes
from .driver import is_loaded
from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from ._cuda_calls import Order, Where
    from .device_driver import Event, PitchedCopy

_API: Final = Api(
    last_default=PER_THREAD_DEFAULT_STREAM,
    default="legacy default stream",
    capture_info="cuStreamGetCaptureInfo",
    default_capture_info="cuStreamGetCaptureInfo",
    exchange_capture_mode="cuThreadExchangeStreamCaptureMode",
    stream_create="cuStreamCreate",
    stream_destroy="cuStreamDestroy",
    stream_synchronize="cuStreamSynchronize",
    stream_wait_event="cuStreamWaitEvent",
    event_create="cuEventCreate",
    event_destroy="cuEventDestroy",
    event_query="cuEventQuery",
    event_record="cuEventRecord",
    event_synchronize="cuEventSynchronize",
    device_count="cuDeviceGetCount",
    device_synchronize="cuCtxSynchronize",
    malloc="cuMemAlloc",
    malloc_host="cuMemHostAlloc",
    free="cuMemFree",
    free_host="cuMemFreeHost",
    memcpy="cuMemcpyAsync",
    memcpy_kind=(),
)
_PACKAGES: Final = ("cuda", "cuda.bindings", "cuda.bindings.driver")
_LAST_DEFAULT: Final = PER_THREAD_DEFAULT_STREAM
_MAX_STREAMS: Final = 1024  # that are remembered
# CU_POINTER_ATTRIBUTE_: IS_MANAGED, MEMORY_TYPE, DEVICE_ORDINAL, RANGE_START_ADDR, RANGE_SIZE
_ASKED: Final = (8, 2, 9, 11, 12)
_read: Final = struct.Struct("=I4xI4xi4xQQ").unpack_from
_COUNT: Final = len(_ASKED)
_HOST: Final = 1  # CU_MEMORYTYPE_HOST
_DEVICE: Final = 2  # CU_MEMORYTYPE_DEVICE
_UNIFIED: Final = 4  # CU_MEMORYTYPE_UNIFIED: the driver uses the addresses
_CUDA: Final = DLDeviceType.kDLCUDA
_new_tuple: Final = tuple.__new__  # the constructor of a named tuple costs twice as much
_GLOBAL: Final = 1  # CU_MEM_ATTACH_GLOBAL: managed memory that every stream may use


class _Made(NamedTuple):
    """An allocation of interchange: its context, and its buffer id, which is never reused."""

    context: int
    number: int


class _PointerQuery:
    """Memory for one query of an address: the attributes, and the results."""

    __slots__ = ("address", "answers", "kinds", "places")

    def __init__(self) -> None:
        count = _COUNT
        self.address = ctypes.c_uint64()
        self.answers = (ctypes.c_uint64 * count)()  # zero at first: results fill the low bytes
        self.kinds = (ctypes.c_int * count)(*_ASKED)
        first = ctypes.addressof(self.answers)
        self.places = (ctypes.c_void_p * count)(*(first + 8 * i for i in range(count)))


class CudaDriver(Driver):
    """The driver interface for CUDA.  See `interchange._streams.device_driver.Driver`.

    `api`: ``cuda.bindings.driver``, initialised.
    """

    name = "CUDA"
    device_type = DLDeviceType.kDLCUDA

    def __init__(self, api: Any) -> None:
        super().__init__(api, _API, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        self._ready: dict[int, tuple[list[Event], ctypes.c_void_p]] = {}  # events, by producer
        self._targets: dict[int, ctypes.c_void_p] = {}  # consumers
        self._queries: list[_PointerQuery] = []  # unused ones
        self._made: dict[int, _Made] = {}  # allocations, by address
        self._pools: dict[int, bool] = {}  # ordinal -> whether the device has pools
        self._primaries: dict[int, int] = {}  # ordinal -> its primary context, retained
        self._capturing, self._record_quickly, self._wait = find_quick_calls(api)
        self._ask = find_ask(api, _ASKED)
        compiled = find_compiled_calls()
        self._order_compiled: Order | None = compiled[0]
        self._where_compiled: Where | None = compiled[1]

    # ------------------------------------------------------------ order

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
        """Make `consumer` wait for `producer`: an event is recorded, and waited for.

        Streams that were ordered before can be ordered with any device current: an event is
        recorded on a stream of its own context, and waited for on any (CUDA programming guide,
        Stream and Event Behavior).
        """
        if producer == consumer and (where in {None, ordinal} or producer > _LAST_DEFAULT):
            return
        try:
            events, source = self._ready[producer]
            target = self._targets[consumer]
            event = events.pop()
        except LookupError:  # new streams, or other threads use all events
            self._order_any(producer, consumer, ordinal, call, where, fork=fork)
            return
        handle, answer, place, number = event
        failed: Any
        if self._order_compiled is not None:
            failed = self._order_compiled(producer, consumer, number)
        else:
            failed = self._capturing(target, place) or answer.value
            failed = failed or self._capturing(source, place) or answer.value
            failed = failed or self._record_quickly(handle, source) or self._wait(target, handle, 0)
        events.append(event)
        if failed:  # a capture, or a handle that was reused for a stream of another context
            self._ready.pop(producer, None)
            self._order_any(producer, consumer, ordinal, call, where, fork=fork)

    def _order_any(
        self,
        producer: int,
        consumer: int,
        ordinal: int,
        call: str,
        where: int | None,
        *,
        fork: bool,
    ) -> None:
        """Order any two streams, and cache the objects for the next time.

        Default streams are not cached: they depend on the context.
        """
        where = ordinal if where is None else where
        context = self._order(producer, consumer, ordinal, call, where, fork=fork)
        if len(self._ready) >= _MAX_STREAMS or len(self._targets) >= _MAX_STREAMS:
            self._ready.clear()
            self._targets.clear()
        if producer > _LAST_DEFAULT < consumer:
            self._targets[consumer] = ctypes.c_void_p(consumer)
            self._ready[producer] = self._events[context], ctypes.c_void_p(producer)

    def _record(self, home: int, stream: int, call: str) -> Event:
        """Record an event.

        An unused event may belong to a destroyed context, whose handle was reused.
        """
        try:
            return super()._record(home, stream, call)
        except (ExchangeError, StreamError):
            self._events[home].clear()
        return super()._record(home, stream, call)

    def refuse_disturbing(self, stream: int, call: str) -> None:
        """Raise `StreamError` if the use of a stream would end a capture (DLP-STREAM-8).

        It must be called in the stream's context.
        """
        self._capture_of(stream, call)

    def is_capturing(self, stream: int, call: str) -> bool:
        """Whether a stream takes part in a capture; it must be called in the stream's context."""
        return self._capture_of(stream, call) is not None

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

        -1 stands for the current device, or the first.
        """
        error, device = self.api.cuCtxGetDevice()
        if not error and ordinal in {int(device), -1}:
            error, current = self.api.cuCtxGetCurrent()
            self.check(error, "cuCtxGetCurrent", call)
            return int(current)
        return self._primary_of(max(ordinal, 0), call)

    @contextlib.contextmanager
    def _in_context(self, context: int, call: str) -> Iterator[int]:
        """Make a context current, and restore the previous one."""
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
        """Make a device current, and restore the previous one."""
        with self._in_context(self._context_on(ordinal, call), call):
            yield

    def _for_queries(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make the device of a stream current, and restore the previous one."""
        del stream
        return self.on_device(ordinal, call)

    def _for_work(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[int]:
        """Make the context of a stream current, and yield it."""
        return self._in_context(self._find_context(stream, ordinal, call), call)

    def _in_home(self, home: int, call: str) -> AbstractContextManager[int]:
        """Make a context current, and restore the previous one."""
        return self._in_context(home, call)

    def in_lasting_home(self, ordinal: int, call: str) -> AbstractContextManager[int]:
        """Make the primary context of a device current, and restore the previous one."""
        return self._in_context(self._primary_of(ordinal, call), call)

    def _primary_of(self, ordinal: int, call: str) -> int:
        """Return the primary context of a device."""
        found = self._primaries.get(ordinal)
        if found is None:
            error, device = self.api.cuDeviceGet(ordinal)
            self.check_ordinal(error, ordinal, "cuDeviceGet", call)
            error, primary = self.api.cuDevicePrimaryCtxRetain(device)
            self.check(error, "cuDevicePrimaryCtxRetain", call)
            found = self._primaries.setdefault(ordinal, int(primary))
        return int(found)

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device; the first if none is current."""
        error, device = self.api.cuCtxGetDevice()
        if error == self.api.CUresult.CUDA_ERROR_INVALID_CONTEXT:
            return 0
        self.check(error, "cuCtxGetDevice", call)
        return int(device)

    # ------------------------------------------------------------ addresses

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return the location of an address, or None if the driver does not know it."""
        where = self._where_compiled or self._ask_where
        return self.place_of(where(ptr), call)

    def place_of(self, answers: tuple[int, ...], call: str) -> PointerAttributes | None:
        """Return the location of an address, from the driver's code and attributes."""
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
        """Return the driver's code, and its attributes of an address."""
        queries = self._queries
        try:
            query = queries.pop()
        except IndexError:
            query = _PointerQuery()
        query.address.value = ptr
        error = self._ask(_COUNT, query.kinds, query.places, query.address)
        found = _read(query.answers)
        queries.append(query)
        return error, *found

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device accesses page-locked host memory."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        with self.on_device(-1, call):  # the current one, or the first
            error, found = self.api.cuPointerGetAttribute(attribute, ptr)
        self.check(error, "cuPointerGetAttribute", call)
        return int(found)

    def is_reached(self, ptr: int) -> bool:
        """Whether kernels in the current context can access an address."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
        return not self.api.cuPointerGetAttribute(attribute, ptr)[0]

    def reaches(self, stream: int, ordinal: int, call: str, *addresses: int) -> bool:
        """Whether work on a stream accesses memory of other devices directly."""
        with self.on_stream(stream, ordinal, call):
            return all(map(self.is_reached, addresses))

    # ------------------------------------------------------------ allocations

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new managed memory."""
        return self._allocate("cuMemAllocManaged", nbytes, (_GLOBAL,), ordinal, call)

    def allocate_in_order(self, nbytes: int, ordinal: int, stream: int, call: str) -> int:
        """Return the address of new memory of a device's pool, for later work on a stream."""
        if not self._has_pool(ordinal, call):
            return 0
        with self.on_stream(stream, ordinal, call), self.unnoticed():
            error, pool = self.api.cuDeviceGetMemPool(ordinal)
            self.check(error, "cuDeviceGetMemPool", call)
            error, ptr = self.api.cuMemAllocFromPoolAsync(nbytes, pool, stream)
        self._check_allocation(error, f"cuMemAllocFromPoolAsync({nbytes})", call)
        return int(ptr)

    def free_in_order(self, ptr: int, ordinal: int, stream: int) -> None:
        """Free memory of `allocate_in_order` after the work that is now on a stream."""
        call = "free()"
        with self.on_stream(stream, ordinal, call), self.unnoticed():
            (error,) = self.api.cuMemFreeAsync(ptr, stream)
        self.check(error, "cuMemFreeAsync", call)

    def _has_pool(self, ordinal: int, call: str) -> bool:
        """Whether a device has memory pools, which does not change."""
        found = self._pools.get(ordinal)
        if found is None:
            attribute = self.api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
            error, answer = self.api.cuDeviceGetAttribute(attribute, ordinal)
            self.check(error, "cuDeviceGetAttribute", call)
            found = self._pools[ordinal] = bool(answer)
        return found

    def _note_allocation(self, ptr: int) -> None:
        """Record the context of an allocation, and its buffer id."""
        self._made[ptr] = _Made(int(self.api.cuCtxGetCurrent()[1]), self.number_of_allocation(ptr))

    def _home_of_allocation(self, ptr: int, ordinal: int) -> int | None:
        """Return the context of an allocation of interchange, None if it is not known."""
        del ordinal
        made = self._made.get(ptr)
        return None if made is None else made.context

    def _to_free(self, ptr: int) -> AbstractContextManager[object] | None:
        """Return a context manager that makes the context of an allocation current.

        None if it was freed with its context: its address may belong to another allocation by now.
        """
        made = self._made.pop(ptr, None)
        if made is None:
            return contextlib.nullcontext()
        if made.number != self.number_of_allocation(ptr):
            return None
        return self._in_context(made.context, "free()")

    def number_of_allocation(self, ptr: int) -> int:
        """Return the buffer id of an allocation, which is never reused; -1 if there is none."""
        attribute = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_BUFFER_ID
        error, number = self.api.cuPointerGetAttribute(attribute, ptr)
        return -1 if error else int(number)

    # ------------------------------------------------------------ copies

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


def signs_of_driver() -> tuple[Any, ...]:
    """Return a value that changes when a driver may have become available.

    That is the case after cuda-python was imported, or the driver was loaded.
    """
    modules = (sys.modules.get(name, "") for name in _PACKAGES)
    return *modules, is_loaded(LIBRARY)


def open_driver(call: str) -> CudaDriver:
    """Return the driver, initialised.

    Raises DriverUnavailableError: cuda-python or the driver is not installed, or there is no device
        (IX-DRIVER-1).
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
