"""Launching a kernel on a GPU: its code is loaded once per context, and enqueued on a stream.

Source: CUDA driver API, Module Management and Execution Control.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._array.allocations import allocate_pinned
from interchange._streams import _cuda_modules as modules
from interchange._streams.driver import driver_of
from interchange._streams.rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from interchange._types.devices import Device
from interchange._types.errors import ArgumentError, StreamError, UnsupportedDeviceError
from interchange.abi.dlpack import DLDeviceType

from . import printed as lines, unloading
from .arguments import Packing, leaves
from .configuration import MOST_DYNAMIC, MOST_SHARED
from .debugging import WORDS
from .grid_counters import GridCounters
from .races import Shadow, table_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._streams.cuda import CudaDriver

    from .arguments import Passed
    from .configuration import Configuration
    from .ir import Program
    from .llvm.compiled import HostKernel

_ON_GPUS: Final = frozenset(
    {DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAManaged, DLDeviceType.kDLCUDAHost}
)
_BY_DEVICE: Final = DLDeviceType.kDLCUDA
_LOST: Final = frozenset({"CUDA_ERROR_INVALID_HANDLE", "CUDA_ERROR_CONTEXT_IS_DESTROYED"})
_CAPTURES: Final = "CUDA_ERROR_STREAM_CAPTURE"
_TOO_LARGE: Final = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"


def find_ordinal(
    passed: Sequence[Passed], configuration: Configuration, call: str
) -> tuple[int | None, list[int]]:
    """Return the GPU of a launch, None for the host; and other GPUs that have arrays of it.

    Managed and page-locked memory can be accessed from every GPU; if there is no other array, the
    launch is on the GPU that they name.  Arrays on several GPUs are accessed from the stream's, or
    for a default stream from the current one, where peer access is enabled.
    """
    devices = {each.array.device for each in passed if each.array is not None}
    kinds = {device.type for device in devices}
    if not kinds & _ON_GPUS and kinds <= {DLDeviceType.kDLCPU}:
        return None, []
    ordinals = {device.id for device in devices if device.type is _BY_DEVICE}
    if kinds <= _ON_GPUS and len(ordinals) <= 1:
        return ordinals.pop() if ordinals else min(device.id for device in devices), []
    if kinds <= _ON_GPUS:
        return _find_home(passed, configuration.stream, ordinals, call)
    what = f"arrays on {', '.join(sorted(map(str, devices)))}"
    raise UnsupportedDeviceError(call, what, "CPY-ARG-3", 'copy them, as in x.to_device("cuda:0")')


def _find_home(
    passed: Sequence[Passed], stream: int, ordinals: set[int], call: str
) -> tuple[int, list[int]]:
    """Return the GPU of a launch over arrays on several, and the others, if it can access them."""
    driver: Any = driver_of(Device.of((_BY_DEVICE, min(ordinals)), call), call)
    near = driver.current_device(call)
    near = near if near in ordinals else min(ordinals)
    with driver.on_stream(stream, near, call):
        home = driver.current_device(call)
        for each in passed:
            array = each.array
            if array is None or array.device.id in {home, -1} or not array.size:
                continue
            if array.device.type is _BY_DEVICE and not driver.is_reached(array.ptr):
                what = f"a launch on cuda:{home}, and an array on {array.device}"
                enable = f"cuda.current_context({home}).enable_peer_access({array.device.id})"
                raise UnsupportedDeviceError(call, what, "CPY-ARG-3", f"call `{enable}`, or copy")
    return home, sorted(ordinals - {home})


class _Loaded(NamedTuple):
    """A kernel in a context."""

    function: int  # function, context: handles of the function and its context
    context: int
    report: Any  # where host code reports, on the emulated driver; else None


streams: Final[dict[int, int]] = {}
"""Stream -> its GPU, if there are several: the driver is asked once for each handle, and again if
it rejects a launch, since a handle may be reused."""
_MOST_STREAMS: Final = 1024  # size of the cache
_kernels: Final[weakref.WeakSet[DeviceKernel]] = weakref.WeakSet()
_NOT_TOGETHER: Final = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
_counters: Final = GridCounters()


class DeviceKernel:
    """A kernel for GPUs, compiled for each on its first launch there."""

    program: Program
    checks: bool  # whether every index is checked; the host then waits for each launch

    races: bool

    def __init__(self, program: Program, *, checks: bool, races: bool = False) -> None:
        self.program, self.checks, self.races = program, checks, races
        self._table = table_for(len(program.arguments))  # of races, in host code
        self._host_code: HostKernel | None = None
        self._packing = Packing(program.arguments)
        self.by_ordinal: dict[int, _Loaded] = {}  # the last launch on each GPU
        self._by_context: dict[int, _Loaded] = {}
        self._calls: modules.LaunchCalls | None = None
        self._code: dict[int, unloading.Code] = {}  # by context
        self._is_captured = False  # whether it may be part of a graph
        self._lock = threading.Lock()
        self._loading = threading.RLock()
        _kernels.add(self)

    def __del__(self, _note: Any = unloading.note_dead) -> None:
        if self._code and not self._is_captured:
            _note(list(self._code.values()))

    def launch(
        self, configuration: Configuration, passed: Sequence[Passed], ordinal: int, call: str
    ) -> Sequence[int]:
        """Enqueue the kernel; return a thread's report, or 0."""
        if self.checks:
            with self._lock:
                return self._launch_checked(configuration, passed, ordinal, call)
        if self.program.has_grid_barrier:
            self._launch_together(configuration, passed, ordinal, call)
            return (0,)
        numbers = [n for each in passed for n in each.numbers]
        self.enqueue(configuration, numbers, ordinal, call)
        return (0,)

    def enqueue(
        self, configuration: Configuration, numbers: Sequence[Any], ordinal: int, call: str
    ) -> None:
        """Enqueue the kernel with the numbers of its arguments."""
        packed = self._packing.pack_numbers(numbers)
        loaded = self.by_ordinal.get(ordinal)
        if (
            loaded is None
            or not self._is_ready(loaded, configuration.stream, ordinal)
            or self._enqueue(loaded, configuration, packed.place)
        ):
            self._launch_carefully(configuration, packed.place, numbers, ordinal, call)
        self._packing.release(packed)

    def _is_ready(self, loaded: _Loaded, stream: int, ordinal: int) -> bool:
        """Whether a stream belongs to a GPU, and a launch on it ends no capture.

        A default stream belongs to the current context.
        """
        calls: Any = self._calls
        if stream > PER_THREAD_DEFAULT_STREAM:
            return not calls.has_several or streams.get(stream) == ordinal
        if calls.has_several and calls.current_context() != loaded.context:
            return False
        return stream == PER_THREAD_DEFAULT_STREAM or not calls.is_disturbing()

    def _enqueue(self, loaded: _Loaded, configuration: Configuration, place: int) -> int:
        """Return the driver's error code of a launch in the current context."""
        grid, block, stream, _, shared_bytes = configuration
        calls: Any = self._calls
        if stream > LEGACY_DEFAULT_STREAM and not self._is_captured and calls.is_captured(stream):
            self._is_captured = True
            unloading.for_good.append(self._code)
        if self.program.has_grid_barrier:
            shape = (*grid, *block, shared_bytes, stream)
            return int(calls.launch_together(loaded.function, *shape, place))
        code: int = calls.launch(loaded.function, *grid, *block, shared_bytes, stream, place, None)
        return code

    def _allow_shared(self, driver: Any, loaded: _Loaded, configuration: Configuration) -> int:
        """Ask for shared memory above what blocks have by default; return the driver's code."""
        size = self.program.shared_bytes + configuration.shared_bytes
        if size <= MOST_SHARED or size > MOST_DYNAMIC:
            return 0
        return modules.allow_shared(driver, loaded.function, configuration.shared_bytes)

    def _launch_carefully(
        self,
        configuration: Configuration,
        place: int,
        numbers: Sequence[Any],
        ordinal: int,
        call: str,
    ) -> _Loaded:
        """Enqueue the kernel in the context of the stream, and load it there if necessary."""
        driver: Any = driver_of(Device.of((_BY_DEVICE, ordinal), call), call)
        calls = self._calls = self._calls or modules.LaunchCalls(driver, call)
        modules.have_context(driver, ordinal, call)
        with driver.on_stream(configuration.stream, ordinal, call) as context:
            where = ordinal
            if calls.has_several or configuration.stream <= LEGACY_DEFAULT_STREAM:
                where = self._check_stream(driver, configuration.stream, numbers, ordinal, call)
            known = context in self._by_context
            loaded = self._load_in(driver, context, where, call)
            code = self._allow_shared(driver, loaded, configuration)
            code = code or self._enqueue(loaded, configuration, place)
            name = modules.error_name(driver, code) if code else ""
            if known and name in _LOST:  # another context has the handle of a destroyed one
                del self._by_context[context]
                self._code.pop(context, None)
                loaded = self._load_in(driver, context, where, call)
                code = self._allow_shared(driver, loaded, configuration)
                code = code or self._enqueue(loaded, configuration, place)
        if code:
            self._refuse(driver, configuration, code, call)
        self.by_ordinal[where] = loaded
        return loaded

    def _check_stream(
        self, driver: Any, stream: int, numbers: Sequence[Any], ordinal: int, call: str
    ) -> int:
        """Return the GPU of a stream, whose context is current; refuse an impossible launch."""
        if stream <= LEGACY_DEFAULT_STREAM:
            driver.refuse_disturbing(stream, call)
        if stream <= PER_THREAD_DEFAULT_STREAM:
            return ordinal
        where: int = driver.current_device(call)
        if len(streams) >= _MOST_STREAMS:
            streams.clear()
        streams[stream] = where
        if where != ordinal:
            for ptr in self._packing.pointers_in(numbers):
                if not driver.is_reached(ptr):
                    what = f"stream={stream} of cuda:{where}, and an array on cuda:{ordinal}"
                    raise StreamError(call, what, "CPY-LAUNCH-3")
        return where

    def _refuse(
        self, driver: CudaDriver, configuration: Configuration, code: int, call: str
    ) -> None:
        """Raise the driver's error of a launch."""
        name = modules.error_name(driver, code)
        if name.startswith(_CAPTURES):
            what = f"stream={configuration.stream} is not part of what captures ({name})"
            raise StreamError(call, what, "DLP-STREAM-8")
        size = self.program.shared_bytes + configuration.shared_bytes
        if size > MOST_SHARED:
            what = f"{size} bytes of shared memory, which a block of this GPU does not have"
            raise ArgumentError(call, what, "CPY-LAUNCH-2", "name less of it")
        if name == _NOT_TOGETHER:
            what = f"{configuration.grid} blocks of {configuration.block} threads"
            raise ArgumentError(call, f"{what}, which do not fit at once", "CPY-GRID-1")
        if name == _TOO_LARGE:
            what = f"the registers of a block of {configuration.block} threads do not fit"
            raise ArgumentError(call, what, "CPY-LAUNCH-2")
        driver.check(driver.api.CUresult(code), "cuLaunchKernel", call)

    # ------------------------------------------------------------ loading

    def _load_in(self, driver: CudaDriver, context: int, ordinal: int, call: str) -> _Loaded:
        """Return the kernel in the current context.

        Loaded once: code that another thread loaded and launched would be freed while it runs.
        """
        with self._loading:
            loaded = self._by_context.get(context)
            if loaded is None:
                load = self._load_host_code if modules.takes_host_code() else self._load_ptx
                loaded = self._by_context[context] = load(driver, context, ordinal, call)
            return loaded

    def _load_ptx(self, driver: CudaDriver, context: int, ordinal: int, call: str) -> _Loaded:
        """Load the code for a GPU."""
        from .llvm.ptx import entry_name, find_architecture, to_ptx

        architecture = find_architecture(modules.compute_capability(driver, ordinal, call), call)
        text = to_ptx(self.program, architecture, checks=self.checks)
        image = text.encode() + b"\0"
        function, module = modules.load_function(driver, image, entry_name(self.program), call)
        self._code[context] = unloading.loaded_code(driver, context, module, None)
        return _Loaded(function, context, None)

    def _load_host_code(
        self,
        driver: CudaDriver,
        context: int,
        ordinal: int,  # noqa: ARG002 - same signature as the other
        call: str,
    ) -> _Loaded:
        """Load the code for the CPU, which the emulated driver runs."""
        from .host_image import host_image

        compiled = self._compiled_for_host()
        report = (ctypes.c_int32 * WORDS)()
        printed = lines.Printed(self.program, compiled.take) if compiled.take else None
        if printed:
            lines.keep(printed)
            unloading.for_good.append(compiled)
        outside = {
            "report": ctypes.addressof(report),
            "printed": printed.address if printed else 0,
            "races": ctypes.addressof(self._table),
        }
        image = host_image(compiled, outside, has_status=self.checks)
        function, module = modules.load_function(driver, image, self.program.name, call)
        keep = compiled, report, self._table
        self._code[context] = unloading.loaded_code(driver, context, module, keep)
        return _Loaded(function, context, report)

    def _compiled_for_host(self) -> HostKernel:
        """Return the code for the CPU, compiled once."""
        from .llvm.compiled import HostKernel

        if self._host_code is None:
            self._host_code = HostKernel(self.program, checks=self.checks, races=self.races)
        return self._host_code

    # ------------------------------------------------------------ with barriers of the grid

    def _launch_together(
        self, configuration: Configuration, passed: Sequence[Passed], ordinal: int, call: str
    ) -> None:
        """Enqueue the kernel with all blocks at once."""
        driver: Any = driver_of(Device.of((_BY_DEVICE, ordinal), call), call)
        packed = self._packing.pack(passed)
        words = self._grid_words(driver, configuration, ordinal, call)
        addresses, _kept = self._with_more(packed, words)
        numbers = [n for each in passed for n in each.numbers]
        self._launch_carefully(configuration, ctypes.addressof(addresses), numbers, ordinal, call)
        self._packing.release(packed)

    def _grid_words(
        self, driver: Any, configuration: Configuration, ordinal: int, call: str
    ) -> list[int]:
        """Return the address at which blocks count, or [] if they do not."""
        if not self.program.has_grid_barrier:
            return []
        modules.have_context(driver, ordinal, call)
        if self.races:
            what = "races=True for a kernel with a barrier of the grid, on a device"
            raise ArgumentError(call, what, "CPY-GRID-1", "run it over arrays of the host")
        if not modules.launches_together(driver, ordinal, call):
            raise ArgumentError(call, f"cuda:{ordinal} has no cooperative launches", "CPY-GRID-1")
        return [_counters.word_for(driver, configuration.stream, ordinal, call)]

    def _with_more(self, packed: Any, numbers: Sequence[int]) -> tuple[Any, Any]:
        """Return the addresses of all parameters and of more numbers, which are second."""
        kept = (ctypes.c_uint64 * max(1, len(numbers)))(*numbers)
        first, size = ctypes.addressof(kept), ctypes.sizeof(ctypes.c_uint64)
        more = [first + size * k for k in range(len(numbers))]
        given = packed.addresses[: self._packing.count]
        return (ctypes.c_void_p * (len(given) + len(more)))(*given, *more), kept

    # ------------------------------------------------------------ with checks

    def _shadow(self, configuration: Configuration, passed: Sequence[Passed]) -> Shadow | None:
        """Return the shadow memory of a launch of host code, None if races are not found."""
        if not self.races or not modules.takes_host_code():
            return None
        granules = self._compiled_for_host().granules or {}
        arrays = [each.array for each in leaves(passed)]
        shared = self.program.shared_bytes + configuration.shared_bytes
        return Shadow(arrays, granules, shared, prod(configuration.grid), self._table)

    def _launch_checked(
        self, configuration: Configuration, passed: Sequence[Passed], ordinal: int, call: str
    ) -> Sequence[int]:
        """Run the kernel, wait for it, and return a thread's report."""
        driver: Any = driver_of(Device.of((_BY_DEVICE, ordinal), call), call)
        driver.refuse_capture(configuration.stream, ordinal, call)
        memory = allocate_pinned(driver, ctypes.sizeof(ctypes.c_int32) * WORDS, ordinal, call)
        found = (ctypes.c_int32 * WORDS).from_address(memory.ptr)
        found[:] = [0] * WORDS
        packed = self._packing.pack(passed)
        grid = self._grid_words(driver, configuration, ordinal, call)
        addresses, _kept = self._with_more(packed, [*grid, memory.ptr])
        numbers = [n for each in passed for n in each.numbers]
        shadow = self._shadow(configuration, passed)
        loaded = self._launch_carefully(
            configuration, ctypes.addressof(addresses), numbers, ordinal, call
        )
        driver.synchronize(configuration.stream, ordinal, call)
        del shadow
        lines.write_running()
        self._packing.release(packed)
        if loaded.report is None:
            return list(found)
        words, loaded.report[:] = list(loaded.report), [0] * WORDS
        return words

    def forget(self) -> None:
        """Drop loaded kernels, which cannot be used in a forked process."""
        self.by_ordinal.clear()
        self._by_context.clear()
        self._code.clear()
        self._lock, self._loading = threading.Lock(), threading.RLock()  # of a thread that is gone


def _forget_all() -> None:
    """Drop the loaded code of every kernel."""
    streams.clear()
    _counters.forget()
    for kernel in tuple(_kernels):
        kernel.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
