"""Kernels that a program provides as host code: modules, launches and results."""

from __future__ import annotations

import ctypes
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from .host_kernels import AXPY, DIVERGE, OBSERVE, PAINT, STRAY, HostKernels, array, doubles
from .programs import ON_DRIVER

pytestmark = pytest.mark.emulated

PER_THREAD = 2


def read_doubles(cuda, address, count):
    """Return memory as a list of doubles."""
    return list(struct.unpack(f"{count}d", cuda.emulator.read(address, 8 * count)))


def write_doubles(cuda, address, numbers):
    """Write doubles to device memory, and wait for the copy."""
    cuda.cuMemcpyHtoD(address, struct.pack(f"{len(numbers)}d", *numbers), 8 * len(numbers))
    cuda.cuCtxSynchronize()


@pytest.fixture
def add(kernels, axpy):
    """Return a function that launches ``y += a * x`` for four elements."""

    def launch(stream, vectors, a=2, **shape):
        a = a if isinstance(a, ctypes.c_double) else ctypes.c_double(a)
        values = a, *(doubles(address, 4) for address in vectors)
        kernels.launch(axpy, stream, *values, **{"block": (4, 1, 1), **shape})

    return launch


@pytest.fixture
def vectors(cuda, memory):
    """Return two vectors of four doubles on the device: 1, 2, 3, 4 and 10, 20, 30, 40."""
    write_doubles(cuda, memory, [1.0, 2.0, 3.0, 4.0])
    write_doubles(cuda, memory + 256, [10.0, 20.0, 30.0, 40.0])
    return memory, memory + 256


# ---------------------------------------------------------------- results


def test_threads_that_wait_do_each_operation_once(cuda, kernels, axpy, streams, vectors):
    """They may run it themselves, and so may the worker; a stream may be destroyed meanwhile."""
    stream, other = streams
    begin = threading.Barrier(4)

    def work(number):
        cuda.cuCtxSetCurrent(cuda.context)
        mine = HostKernels(cuda, kernels.library)  # which keeps the arguments of one launch
        values = ctypes.c_double(1), *(doubles(address, 4) for address in vectors)
        begin.wait(20)
        for k in range(40):
            cuda.order(stream, other)
            mine.launch(axpy, stream, *values, block=(4, 1, 1))
            if number == 0:
                gone = cuda.stream()
                cuda.cuMemsetD8Async(vectors[0] + 512 + k, 7, 1, gone)
                cuda.cuStreamDestroy(gone)
            waits = ("cuCtxSynchronize",) if k % 4 == 0 else ("cuStreamSynchronize", stream)
            getattr(cuda, waits[0])(*waits[1:])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4
    cuda.cuCtxSynchronize()

    assert read_doubles(cuda, vectors[1], 4) == [10.0 + 160, 20.0 + 320, 30.0 + 480, 40.0 + 640]
    assert cuda.emulator.read(vectors[0] + 512, 40) == b"\7" * 40


@pytest.mark.parametrize("wait", ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"])
def test_host_functions_are_called_by_other_threads(
    cuda, kernel_library, add, streams, vectors, wait
):
    """A thread that waits runs kernels and copies only: it may hold locks that functions need."""
    stream, event = streams[0], cuda.event()
    for _ in range(20):
        place = ctypes.c_uint64()
        add(stream, vectors)
        cuda.host_function(stream, kernel_library.note_thread, ctypes.addressof(place))
        cuda.cuEventRecord(event, stream)
        given = {"cuStreamSynchronize": [stream], "cuEventSynchronize": [event]}.get(wait, [])
        getattr(cuda, wait)(*given)
        assert place.value not in {0, threading.get_ident()}


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_kernel_runs_on_device_memory(cuda, add, streams, vectors, blocks):
    """The kernel receives addresses that the host can access; all blocks of a grid run."""
    add(streams[0], vectors, grid=(blocks, 1, 1), block=(4 // blocks, 1, 1))
    cuda.cuStreamSynchronize(streams[0])

    assert read_doubles(cuda, vectors[1], 4) == [12.0, 24.0, 36.0, 48.0]


def test_strides_may_be_negative_and_zero(cuda, kernels, axpy, streams, vectors):
    """The address is that of the first element; one element may be broadcast."""
    x, y = vectors
    values = ctypes.c_double(1), doubles(x + 24, 4, 0), doubles(y + 24, 4, -8)
    kernels.launch(axpy, streams[0], *values, block=(4, 1, 1))
    cuda.cuStreamSynchronize(streams[0])

    assert read_doubles(cuda, y, 4) == [14.0, 24.0, 34.0, 44.0]


def test_pinned_and_managed_memory_stay_where_they_are(cuda, kernels, axpy, streams):
    """Pinned and managed memory already have host addresses."""
    x, y = cuda.host_buffer(64), int(cuda.cuMemAllocManaged(64, 1))
    ctypes.memmove(x, struct.pack("2d", 1.0, 2.0), 16)
    ctypes.memmove(y, struct.pack("2d", 10.0, 20.0), 16)
    kernels.launch(
        axpy, streams[0], ctypes.c_double(3), doubles(x, 2), doubles(y, 2), block=(2, 1, 1)
    )
    cuda.cuStreamSynchronize(streams[0])

    assert ctypes.string_at(y, 16) == struct.pack("2d", 13.0, 26.0)


def test_a_kernel_learns_its_shape_and_its_memory(cuda, kernels, streams, memory):
    """A kernel receives its dimensions, its block's memory (aligned to 64 bytes) and its values."""
    small = ctypes.c_int8(-1), ctypes.c_int16(-2), ctypes.c_int32(-3), ctypes.c_int64(-4)
    wide = (ctypes.c_int64 * 2)(-5, -6)
    shape = {"grid": (5, 6, 7), "block": (2, 3, 4), "shared": 10}
    kernels.launch(
        kernels.function(OBSERVE), streams[0], *small, wide, doubles(memory, 25), **shape
    )
    cuda.cuStreamSynchronize(streams[0])
    seen = struct.unpack("25q", cuda.emulator.read(memory, 200))

    assert seen[:12] == (2, 3, 4, 5, 6, 7, 0, 0, 0, 10, 0, 210)
    assert seen[12:16] == (0, 0, 0, 0x1230)
    assert seen[16:23] == (-1, -2, -3, -4, 0, -5, -6)
    assert seen[23:] == (1, 2)


def test_a_kernel_runs_in_protect_mode(run_child, kernel_library):
    """In protect mode the kernel receives addresses that the host can access."""
    done = run_child(
        ON_DRIVER
        + r"""
import ctypes, sys
entry = ctypes.cast(ctypes.CDLL(sys.argv[1]).paint, ctypes.c_void_p).value
image = f"emucuda host code 2\npaint {entry:#x} 0 0 0x0 v4 a4:2:w"
function = d.cuModuleGetFunction(d.cuModuleLoadData(image.encode() + bytes(1))[1], b"paint")[1]
address = int(d.cuMemAlloc(16)[1])
types = ctypes.c_int32, *[ctypes.c_int64] * 5
values = (7, address, 2, 2, 8, 4), types
print(int(d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, values, 0)[0]))
d.cuCtxSynchronize()
print(emulator.read(address, 16) == bytes([7, 0, 0, 0]) * 4)
""",
        kernel_library._name,
        env={"EMUCUDA_PROTECT": "1"},
    )

    assert (done.returncode, done.stdout) == (0, "0\nTrue\n")


def test_parameters_are_copied_at_the_call(cuda, add, streams, vectors):
    """The caller may reuse the memory of the parameters at once."""
    factor = ctypes.c_double(2)
    with cuda.emulator.held(streams[0]):
        add(streams[0], vectors, factor)
        factor.value = 100
    cuda.cuStreamSynchronize(streams[0])

    assert read_doubles(cuda, vectors[1], 4) == [12.0, 24.0, 36.0, 48.0]


def test_an_array_without_elements_touches_nothing(cuda, kernels, axpy, streams):
    """The address of an array without elements is not checked and may have any value."""
    kernels.launch(axpy, streams[0], ctypes.c_double(1), doubles(0, 0), doubles(0x10, 0))
    cuda.cuStreamSynchronize(streams[0])

    assert cuda.emulator.reports() == []


def test_a_configured_launch_without_attributes_is_a_launch(cuda, kernels, axpy, streams, vectors):
    """``cuLaunchKernelEx`` takes the same arguments in a structure."""
    x, y = vectors
    values = ctypes.c_double(2), doubles(x, 4), doubles(y, 4)
    arguments = kernels.arguments(axpy, streams[0], *values, block=(4, 1, 1))
    config = cuda.driver.CUlaunchConfig()
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1
    config.blockDimX, config.hStream = 4, streams[0]
    cuda.cuLaunchKernelEx(config, axpy, *arguments[-2:])
    cuda.cuStreamSynchronize(streams[0])

    assert read_doubles(cuda, y, 4) == [12.0, 24.0, 36.0, 48.0]


# ---------------------------------------------------------------- order


def test_a_launch_is_asynchronous(cuda, add, streams, vectors):
    """The call returns while its stream is held, and the kernel runs in stream order."""
    x, y = vectors
    with cuda.emulator.held(streams[0]):
        cuda.cuMemsetD8Async(x, 0, 8, streams[0])
        add(streams[0], vectors)
        during = read_doubles(cuda, y, 4), cuda.emulator.pending(streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert during == ([10.0, 20.0, 30.0, 40.0], 2)
    assert read_doubles(cuda, y, 4) == [10.0, 24.0, 36.0, 48.0]


def test_a_kernel_waits_for_an_event(cuda, add, streams, vectors):
    """The kernel runs after held work in another stream."""
    x, y = vectors
    with cuda.emulator.held(streams[0]):
        cuda.cuMemsetD8Async(x, 0, 32, streams[0])
        cuda.order(*streams)
        add(streams[1], vectors)
        during = cuda.emulator.pending(streams[1])
    cuda.cuStreamSynchronize(streams[1])

    assert during > 0
    assert read_doubles(cuda, y, 4) == [10.0, 20.0, 30.0, 40.0]


def test_the_other_flavour_launches_in_the_per_thread_stream(cuda, kernels, axpy, vectors):
    """``cuLaunchKernel_ptsz`` with stream 0, as ``cuGetProcAddress`` returns it."""
    x, y = vectors
    per_thread = cuda.driver.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    address, _ = cuda.cuGetProcAddress(b"cuLaunchKernel", 12000, per_thread)
    values = ctypes.c_double(2), doubles(x, 4), doubles(y, 4)
    function, *numbers, _, parameters, _ = kernels.arguments(axpy, 0, *values, block=(4, 1, 1))
    types = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)
    with cuda.emulator.held(PER_THREAD):
        code = launch(int(function), *numbers, 0, parameters, 0)
        pending = cuda.emulator.pending(PER_THREAD)
    cuda.cuStreamSynchronize(PER_THREAD)

    assert (code, pending) == (0, 1)
    assert read_doubles(cuda, y, 4) == [12.0, 24.0, 36.0, 48.0]


@pytest.mark.parametrize(
    "name",
    [
        "cuModuleLoadData",
        "cuModuleGetFunction",
        "cuFuncGetAttribute",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
    ],
)
@pytest.mark.parametrize("flavour", [0, 2])
def test_the_calls_are_found_in_both_flavours(cuda, name, flavour):
    """Calls without a stream parameter are the same in both flavours."""
    flags = cuda.driver.CUdriverProcAddress_flags(flavour)
    address, _ = cuda.cuGetProcAddress(name.encode(), 12000, flags)

    assert int(address)


# ---------------------------------------------------------------- graphs


def test_a_captured_kernel_runs_as_often_as_its_graph(cuda, add, streams, vectors):
    """The kernel uses the parameters of the capture, even if their memory has changed."""
    y, factor = vectors[1], ctypes.c_double(1)
    cuda.begin(streams[0])
    add(streams[0], vectors, factor)
    during = read_doubles(cuda, y, 4)
    graph = cuda.cuStreamEndCapture(streams[0])
    nodes, count = cuda.cuGraphGetNodes(graph, 4)
    kinds = [cuda.cuGraphNodeGetType(node).name for node in nodes[:count]]
    executable = cuda.cuGraphInstantiate(graph, 0)
    factor.value = 100
    for _ in range(3):
        cuda.cuGraphLaunch(executable, streams[1])
    cuda.cuStreamSynchronize(streams[1])

    assert during == [10.0, 20.0, 30.0, 40.0]
    assert kinds == ["CU_GRAPH_NODE_TYPE_KERNEL"]
    assert read_doubles(cuda, y, 4) == [13.0, 26.0, 39.0, 52.0]


def test_a_graph_whose_module_is_gone_is_refused(cuda, kernels, streams):
    """The code of the kernel may have been unloaded."""
    module = kernels.load(kernels.line(DIVERGE))
    cuda.begin(streams[0])
    kernels.launch(cuda.cuModuleGetFunction(module, b"diverge"), streams[0])
    executable = cuda.cuGraphInstantiate(cuda.cuStreamEndCapture(streams[0]), 0)
    cuda.cuModuleUnload(module)

    assert cuda.code("cuGraphLaunch", executable, streams[0]) == "INVALID_HANDLE"


def test_a_graph_whose_memory_is_gone_is_refused(cuda, kernels, streams):
    """The report has the name of the kernel."""
    memory, paint = cuda.memory(64), kernels.function(PAINT)
    cuda.begin(streams[0])
    kernels.launch(paint, streams[0], ctypes.c_int32(1), array(memory, (4, 4), (16, 4)))
    executable = cuda.cuGraphInstantiate(cuda.cuStreamEndCapture(streams[0]), 0)
    cuda.cuMemFree(memory)

    assert cuda.code("cuGraphLaunch", executable, streams[0]) == "ILLEGAL_ADDRESS"
    cuda.emulator.expect_reports(1, match="use after free: paint on stream")


# ---------------------------------------------------------------- modules


def test_a_module_has_its_kernels_by_name(cuda, kernels):
    """The same name gives the same handle; other names are not found."""
    module = kernels.load(kernels.line(AXPY), kernels.line(PAINT))
    first, again = (cuda.cuModuleGetFunction(module, b"axpy") for _ in range(2))
    other = cuda.cuModuleGetFunction(module, b"paint")

    assert int(first) == int(again) != int(other)
    assert cuda.code("cuModuleGetFunction", module, b"axp") == "NOT_FOUND"
    assert int(cuda.cuFuncGetModule(other)) == int(module)
    assert cuda.cuFuncGetName(other) == b"paint"


def test_pending_launches_outlive_their_module(cuda, kernels, streams, vectors):
    """Unloading does not wait for launches; after it, no launch is possible."""
    x, y = vectors
    module = kernels.load(kernels.line(AXPY))
    axpy = cuda.cuModuleGetFunction(module, b"axpy")
    values = ctypes.c_double(2), doubles(x, 4), doubles(y, 4)
    with cuda.emulator.held(streams[0]):
        kernels.launch(axpy, streams[0], *values, block=(4, 1, 1))
        cuda.cuModuleUnload(module)
        late = kernels.launch_code(axpy, streams[0], *values, block=(4, 1, 1))
    cuda.cuStreamSynchronize(streams[0])

    assert late == "INVALID_HANDLE"
    assert read_doubles(cuda, y, 4) == [12.0, 24.0, 36.0, 48.0]
    assert cuda.code("cuModuleUnload", module) == "INVALID_HANDLE"
    assert cuda.code("cuModuleGetFunction", module, b"axpy") == "INVALID_HANDLE"


def test_modules_go_with_their_context(cuda, kernels):
    """Handles of a module are unknown in the next context."""
    function = kernels.function(DIVERGE)
    cuda.cuDevicePrimaryCtxReset(0)

    assert kernels.launch_code(function, 0) == "INVALID_HANDLE"


def test_a_kernel_belongs_to_its_context(cuda, kernels, axpy, vectors):
    """On another device the kernel is unknown, and a kernel of that device is a different one."""
    x, y = vectors
    values = ctypes.c_double(2), doubles(x, 4), doubles(y, 4)
    with cuda.device(1):
        stream, theirs = cuda.stream(), kernels.function(AXPY)
        cuda.cuCtxEnablePeerAccess(cuda.context, 0)
        wrong = kernels.launch_code(axpy, stream, *values)
        kernels.launch(theirs, stream, *values, block=(4, 1, 1))
        cuda.cuStreamSynchronize(stream)
        cuda.cuCtxDisablePeerAccess(cuda.context)

    assert wrong == "INVALID_HANDLE"
    assert kernels.launch_code(theirs, 0, *values) == "INVALID_HANDLE"
    assert read_doubles(cuda, y, 4) == [12.0, 24.0, 36.0, 48.0]


def test_attributes_of_a_kernel(cuda, kernels):
    """Attributes follow cuda.h, as far as they apply to host code."""
    names = cuda.driver.CUfunction_attribute
    function = kernels.function(OBSERVE)
    dynamic = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    found = [cuda.cuFuncGetAttribute(names(number), function) for number in range(9)]
    cuda.cuFuncSetAttribute(function, dynamic, 100)

    assert found[0] == 1024
    assert found[1] == 1024
    assert found[8] == 49152 - 1024
    assert found[4] > 0
    assert found[5] == found[6] == 90
    assert cuda.cuFuncGetAttribute(dynamic, function) == 100
    assert cuda.code("cuFuncSetAttribute", function, dynamic, 232448) == "INVALID_VALUE"


def test_parameters_of_a_kernel(cuda, kernels):
    """Each parameter is aligned to its size, as in a C structure."""
    function = kernels.function(OBSERVE)
    found = [cuda.cuFuncGetParamInfo(function, index) for index in range(8)]

    assert found == [(0, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 8), (40, 8), (48, 8)]
    assert cuda.code("cuFuncGetParamInfo", function, 8) == "INVALID_VALUE"


# ---------------------------------------------------------------- run-time checks in kernels


def test_the_first_mistake_is_kept_in_the_status(cuda, kernels, streams):
    """The status keeps the first error until its owner reads it."""
    status = kernels.status()
    function = kernels.function(STRAY, ctypes.addressof(status))
    for place in (0, 7, 8):
        kernels.launch(function, streams[0], ctypes.c_int32(place))
    cuda.cuStreamSynchronize(streams[0])
    first, status.value = status.value, 0
    kernels.launch(function, streams[0], ctypes.c_int32(8))
    cuda.cuStreamSynchronize(streams[0])

    assert (first, status.value) == (7, 8)


def test_a_divergent_barrier_has_a_status(cuda, kernels, streams):
    """The status is -1, which is not a valid position."""
    status = kernels.status("status_b")
    kernels.launch(kernels.function(DIVERGE, ctypes.addressof(status)), streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert status.value == -1


def test_mistakes_without_a_status_are_reports(cuda, kernels, streams):
    """The reports name the kernel, its stream and the position."""
    kernels.launch(kernels.function(STRAY, name="gather"), streams[0], ctypes.c_int32(3))
    kernels.launch(kernels.function(DIVERGE, name="reduce"), streams[0])
    cuda.cuStreamSynchronize(streams[0])
    index, barrier = cuda.emulator.expect_reports(2)

    assert index.startswith(f"index out of bounds: gather on stream {int(streams[0]):#x} ")
    assert index.endswith("(place 3)")
    assert barrier.startswith(f"divergent barrier: reduce on stream {int(streams[0]):#x} ")


# ---------------------------------------------------------------- the trace


def test_a_trace_names_what_is_launched(cuda, kernels, streams):
    """The trace has the kernel, grid, block and stream."""
    function = kernels.function(DIVERGE, ctypes.addressof(kernels.status()))
    with cuda.emulator.trace() as calls:
        kernels.launch(function, streams[0], grid=(1, 2, 3), block=(4, 5, 6), shared=7)
    (call,) = calls.calls

    assert (call.name, call.kernel) == ("cuLaunchKernel", "diverge")
    assert call.args == {
        "grid_x": 1,
        "grid_y": 2,
        "grid_z": 3,
        "block_x": 4,
        "block_y": 5,
        "block_z": 6,
        "shared": 7,
        "stream": int(streams[0]),
    }
