"""Images, launches and arrays of kernels that the emulated driver refuses."""

from __future__ import annotations

import ctypes

import pytest

from .host_kernels import DIVERGE, STRAY, TITLE, doubles

pytestmark = pytest.mark.emulated

RELAXED = 2


@pytest.mark.parametrize("image", ["\x7fELF", "//\n.version 8.0\n", "", "emucuda"])
def test_code_for_a_gpu_is_refused(cuda, image):
    """The emulated driver cannot run device code."""
    assert cuda.code("cuModuleLoadData", image.encode() + b"\0") == "NOT_SUPPORTED"
    assert cuda.code("cuModuleLoadDataEx", image.encode() + b"\0", 0, [], []) == "NOT_SUPPORTED"


BAD_LINES = {
    "no entry": "k",
    "entry is decimal": "k 16 0 0 0x0",
    "entry is none": "k 0x0 0 0 0x0",
    "shared is hex": "k 0x10 0x8 0 0x0",
    "shared is negative": "k 0x10 -8 0 0x0",
    "shared is too large": "k 0x10 99999999999999999999 0 0x0",
    "no status": "k 0x10 0 0",
    "status is odd": "k 0x10 0 0 0x11",
    "unknown parameter": "k 0x10 0 0 0x0 x8",
    "memory without a size for threads": "k 0x10 0 0 0x0 w8",
    "memory of a negative size": "k 0x10 0 0 0x0 w8:-1",
    "too much memory for a thread": "k 0x10 0 0 0x0 w0:524289",
    "an address in decimal": "k 0x10 0 0 0x0 p16",
    "a value without a size": "k 0x10 0 0 0x0 v",
    "a value of three bytes": "k 0x10 0 0 0x0 v3",
    "a value that is too large": "k 0x10 0 0 0x0 v32",
    "an array without axes": "k 0x10 0 0 0x0 a4",
    "an array without access": "k 0x10 0 0 0x0 a4:1",
    "an array with an empty access": "k 0x10 0 0 0x0 a4:1:",
    "an array with another access": "k 0x10 0 0 0x0 a4:1:wr",
    "an array of nothing": "k 0x10 0 0 0x0 a0:1:r",
    "an array with too many axes": "k 0x10 0 0 0x0 a4:65:r",
    "something after a parameter": "k 0x10 0 0 0x0 v8,",
    "too many parameters": "k 0x10 0 0 0x0 " + "a8:64:r " * 32,
    "an empty line": "\nk 0x10 0 0 0x0",
    "one name twice": "k 0x10 0 0 0x0\nk 0x20 0 0 0x0",
    "a tab": "k\t0x10 0 0 0x0",
}


@pytest.mark.parametrize("lines", BAD_LINES.values(), ids=BAD_LINES)
def test_a_malformed_image_is_refused(cuda, lines):
    """Every malformed image is refused."""
    assert cuda.code("cuModuleLoadData", (TITLE + lines).encode() + b"\0") == "INVALID_IMAGE"


def test_an_image_of_another_version_is_refused(cuda):
    """The format may have another meaning in another version."""
    assert cuda.code("cuModuleLoadData", b"emucuda host code 1\n\0") == "INVALID_IMAGE"


LIMITS = {
    "no block": {"grid": (0, 1, 1)},
    "too many blocks": {"grid": (1, 65536, 1)},
    "no thread": {"block": (1, 0, 1)},
    "too many threads": {"block": (32, 33, 1)},
    "a block that is too long": {"block": (1025, 1, 1)},
    "a block that is too deep": {"block": (1, 1, 65)},
    "too much shared memory": {"shared": 49153},
}


@pytest.mark.parametrize("shape", LIMITS.values(), ids=LIMITS)
def test_a_launch_beyond_the_limits_is_refused(kernels, streams, shape):
    """The limits are those of the device attributes."""
    function = kernels.function(DIVERGE)

    assert kernels.launch_code(function, streams[0], **shape) == "INVALID_VALUE"


def test_static_shared_memory_counts_too(kernels, streams):
    """Static and dynamic memory share one limit."""
    name, _, frame, parameters = STRAY
    function = kernels.function((name, 49152 - 16, frame, parameters))
    values = [ctypes.c_int32(0)]

    assert kernels.launch_code(function, streams[0], *values, shared=17) == "INVALID_VALUE"
    assert kernels.launch_code(function, streams[0], *values, shared=16) == "SUCCESS"


def test_handles_are_never_followed(cuda, kernels, axpy, streams):
    """Unknown functions and streams are errors, and so is a module passed as a function."""
    module = cuda.cuFuncGetModule(axpy)

    for wrong in (0, 1, 0xDEAD, int(module), int(streams[0])):
        assert kernels.launch_code(wrong, streams[0]) == "INVALID_HANDLE"
        assert (
            cuda.code("cuFuncGetAttribute", cuda.driver.CUfunction_attribute(0), wrong)
            == "INVALID_HANDLE"
        )
    assert kernels.launch_code(axpy, 0xDEAD) == "INVALID_HANDLE"


def test_parameters_have_to_be_given(cuda, kernels, axpy, streams):
    """No parameters, a missing parameter, and a packed buffer are refused."""
    arguments = kernels.arguments(
        axpy, streams[0], ctypes.c_double(2), doubles(0, 0), doubles(0, 0)
    )
    *head, parameters, _ = arguments
    missing = (ctypes.c_void_p * 7)()

    assert cuda.code("cuLaunchKernel", *head, 0, 0) == "INVALID_VALUE"
    assert cuda.code("cuLaunchKernel", *head, ctypes.addressof(missing), 0) == "INVALID_VALUE"
    assert cuda.code("cuLaunchKernel", *head, parameters, parameters) == "INVALID_VALUE"
    assert cuda.code("cuLaunchKernel", *head, 0, parameters) == "NOT_SUPPORTED"


HUGE = 2**62
BAD_ARRAYS = {
    "beyond the end": (4096 - 8, 2, 8),
    "before the beginning": (0, 2, -8),
    "far away": (0, 2, HUGE),
}


@pytest.mark.parametrize("bad", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_an_array_has_to_lie_in_an_allocation(cuda, kernels, axpy, memory, bad):
    """An array outside of allocations is reported by name, and the kernel does not run."""
    offset, count, stride = bad
    stream = cuda.stream()
    values = ctypes.c_double(1), doubles(0, 0), doubles(memory + offset, count, stride)

    assert kernels.launch_code(axpy, stream, *values, block=(4, 1, 1)) == "ILLEGAL_ADDRESS"
    cuda.emulator.expect_reports(1, match="out of bounds: axpy on stream .* writes")
    assert cuda.emulator.pending(stream) == 0


@pytest.mark.parametrize(("count", "stride"), [(HUGE, 8), (-1, 8), (3, HUGE)])
def test_an_array_that_cannot_be_is_refused(kernels, axpy, streams, memory, count, stride):
    """Arrays larger than memory and negative lengths are refused."""
    values = ctypes.c_double(1), doubles(0, 0), doubles(memory, count, stride)

    assert kernels.launch_code(axpy, streams[0], *values) == "INVALID_VALUE"


def test_pageable_memory_is_out_of_reach(cuda, kernels, axpy, streams):
    """Host memory that the driver does not know cannot be accessed by the device."""
    pageable = ctypes.create_string_buffer(64)
    values = ctypes.c_double(1), doubles(ctypes.addressof(pageable), 4), doubles(0, 0)

    assert kernels.launch_code(axpy, streams[0], *values) == "ILLEGAL_ADDRESS"
    cuda.emulator.expect_reports(1, match="out of bounds: axpy .* no allocation of the driver's")


def test_freed_memory_is_reported(cuda, kernels, axpy, streams):
    """The report names the kernel that used freed memory."""
    memory = cuda.memory(64)
    cuda.cuMemFree(memory)
    values = ctypes.c_double(1), doubles(0, 0), doubles(memory, 4)

    assert kernels.launch_code(axpy, streams[0], *values) == "ILLEGAL_ADDRESS"
    cuda.emulator.expect_reports(1, match="use after free: axpy on stream")


def test_a_module_can_be_loaded_during_a_capture(cuda, kernels, streams):
    """A kernel of the module can be captured."""
    cuda.begin(streams[0])
    kernels.launch(kernels.function(DIVERGE), streams[0])

    assert cuda.end(streams[0]) == ("SUCCESS", True)


def test_a_module_cannot_be_unloaded_during_a_capture(cuda, kernels, streams):
    """A module can be unloaded only during a relaxed capture."""
    module = kernels.load(kernels.line(DIVERGE))
    cuda.begin(streams[0])
    code = cuda.code("cuModuleUnload", module)
    spoilt = cuda.end(streams[0])
    cuda.begin(streams[1], RELAXED)

    assert (code, spoilt) == ("STREAM_CAPTURE_UNSUPPORTED", ("STREAM_CAPTURE_INVALIDATED", False))
    assert cuda.code("cuModuleUnload", module) == "SUCCESS"
    assert cuda.end(streams[1]) == ("SUCCESS", True)


@pytest.fixture
def foreign(cuda):
    """Return memory of the second device, and its context; the first device is current."""
    with cuda.device(1):
        found = cuda.memory(64), cuda.cuCtxGetCurrent()
        cuda.cuCtxSynchronize()
    return found


def reached(cuda, ptr):
    """Return whether kernels of the current context can access an address, as the driver says."""
    kind = cuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
    error, found = cuda.driver.cuPointerGetAttribute(kind, ptr)
    assert error or int(found) == int(ptr)
    return not error


def test_memory_of_another_device_is_out_of_reach(cuda, kernels, axpy, streams, memory, foreign):
    """The access is reported and fails with an illegal address, unless peer access is enabled."""
    ptr, peer = foreign
    arguments = (streams[0], ctypes.c_double(2), doubles(ptr, 8), doubles(memory, 8))

    assert (reached(cuda, memory), reached(cuda, ptr)) == (True, False)
    assert kernels.launch_code(axpy, *arguments) == "ILLEGAL_ADDRESS"
    (report,) = cuda.emulator.expect_reports()
    assert report.startswith("foreign access: axpy on stream")
    assert "memory of device 1" in report

    cuda.cuCtxEnablePeerAccess(peer, 0)
    assert cuda.code("cuCtxEnablePeerAccess", peer, 0) == "PEER_ACCESS_ALREADY_ENABLED"
    assert reached(cuda, ptr)
    kernels.launch(axpy, *arguments)
    cuda.cuCtxSynchronize()
    cuda.cuCtxDisablePeerAccess(peer)
    assert cuda.code("cuCtxDisablePeerAccess", peer) == "PEER_ACCESS_NOT_ENABLED"
    assert not reached(cuda, ptr)


def test_a_graph_does_not_reach_memory_of_another_device_either(
    cuda, kernels, axpy, streams, memory, foreign
):
    """Access may have been disabled since the capture."""
    ptr, peer = foreign
    cuda.cuCtxEnablePeerAccess(peer, 0)
    cuda.begin(streams[0])
    kernels.launch(axpy, streams[0], ctypes.c_double(2), doubles(ptr, 8), doubles(memory, 8))
    graph = cuda.cuStreamEndCapture(streams[0])
    runnable = cuda.cuGraphInstantiate(graph, 0)
    cuda.cuCtxDisablePeerAccess(peer)

    assert cuda.code("cuGraphLaunch", runnable, streams[0]) == "ILLEGAL_ADDRESS"
    assert "foreign access" in cuda.emulator.expect_reports()[0]


def test_memory_of_a_pool_is_reached_by_the_devices_that_it_names(cuda):
    """Access does not depend on the contexts that enabled peer access."""
    driver = cuda.driver
    with cuda.device(1):
        ptr = cuda.cuMemAllocAsync(64, cuda.stream())
        cuda.cuCtxSynchronize()
    pool = cuda.cuDeviceGetDefaultMemPool(1)
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = 0
    flags = driver.CUmemAccess_flags

    found = []
    for kind in (flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags.CU_MEM_ACCESS_FLAGS_PROT_NONE):
        access.flags = kind
        cuda.cuMemPoolSetAccess(pool, [access], 1)
        found.append((reached(cuda, ptr), cuda.cuMemPoolGetAccess(pool, access.location) == kind))
    assert found == [(True, True), (False, True)]
    with cuda.device(1):
        cuda.cuMemFree(ptr)
