"""Launches over memory that several GPUs can access, with work on their default streams.

Source: CUDA driver API, Stream synchronization behavior: every device has separate default
streams, which share one number.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import device_launch

pytestmark = [pytest.mark.interop, pytest.mark.emulated]

SIZE = 64


@cuda.jit
def copy_into(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i]


class Managed:
    """Managed memory of a library that works on the current device's default stream."""

    def __init__(self, driver):
        self._driver = driver
        _, self.ptr = driver.cuMemAllocManaged(4 * SIZE, 1)
        self.__cuda_array_interface__ = {
            "shape": (SIZE,), "typestr": "<f4", "data": (int(self.ptr), False), "version": 3,
            "stream": 1,
        }  # fmt: skip


@pytest.fixture
def driver(emulator):  # noqa: ARG001 - it is loaded
    """Return the driver; the current device is restored."""
    assert cuda.is_available()
    driver = pytest.importorskip("cuda.bindings.driver")
    _, before = driver.cuCtxGetCurrent()
    yield driver
    driver.cuCtxSetCurrent(before)


def use(driver, ordinal):
    """Make a device current while the block runs."""
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(ordinal)[1])


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("kind", ["theirs", "ours"])
def test_default_streams_of_two_devices_are_told_apart(emulator, driver, kind, current):
    """The launch on the second device waits for that on the first, though both use stream 1."""
    arrays = []
    for ordinal in (0, 1):
        use(driver, ordinal)
        arrays.append(cuda.to_device(np.full(SIZE, ordinal + 3, "f4")))
        copy_into[1, SIZE](arrays[-1], arrays[-1])
        cuda.synchronize()
        emulator.delay(1, 0.005)
    use(driver, 0)
    managed = Managed(driver)
    shared = managed if kind == "theirs" else cuda.as_cuda_array(managed)
    copy_into[1, SIZE](arrays[0], shared)
    use(driver, current)
    for _ in range(3):
        copy_into[1, SIZE](shared, arrays[1])
    found = arrays[1].to_device("cpu").tolist()
    cuda.synchronize()
    driver.cuMemFree(managed.ptr)

    assert (found, emulator.unexpected_reports()) == ([3.0] * SIZE, [])


@cuda.jit(debug=True)
def checked(x):
    x[cuda.grid(1)] += 1


@cuda.jit
def unchecked(x):
    x[cuda.grid(1)] += 1


def capture(driver, stream, act):
    """Return the number of nodes in a graph of an operation, or the error."""
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    assert not driver.cuStreamBeginCapture(stream.handle, mode)[0]
    try:
        act()
    finally:
        error, graph = driver.cuStreamEndCapture(stream.handle)
    return error or driver.cuGraphGetNodes(graph, 0)[-1]


def test_a_launch_with_checks_is_not_captured(driver):
    """The host would wait for the launch; the graph stays empty."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    checked[1, SIZE, stream](x)

    def act():
        with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-8\]"):
            checked[1, SIZE, stream](x)

    assert capture(driver, stream, act) == 0


@pytest.mark.parametrize("is_first", [True, False])
def test_a_launch_on_the_default_stream_during_a_capture_is_refused_before(driver, is_first):
    """The driver is not called, since the call would end the capture."""
    use(driver, 0)
    stream, kernel = cuda.stream(), cuda.jit(unchecked.__wrapped_kernel__)
    x = cuda.to_device(np.zeros(SIZE, "f4"))
    if not is_first:
        kernel[1, SIZE](x)

    def act():
        with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-8\]"):
            kernel[1, SIZE](x)

    assert capture(driver, stream, act) == 0


class Unnamed:
    """An array of a library with DLPack that names no stream."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self._array.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("kind", ["a record without a stream", "DLPack", "page-locked memory"])
def test_a_launch_after_which_the_host_would_wait_is_no_part_of_a_capture(driver, kind):
    """It is refused before the driver is called, and the graph has no node of it."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    unchecked[1, SIZE, stream](x)
    managed = Managed(driver)
    del managed.__cuda_array_interface__["stream"]
    given = {
        "a record without a stream": managed,
        "DLPack": Unnamed(x),
        "page-locked memory": ix.asarray(np.zeros(SIZE, "f4")).to_device("cuda_host"),
    }[kind]
    unchecked[1, SIZE, stream](given)

    def act():
        with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-8\]"):
            unchecked[1, SIZE, stream](given)

    assert capture(driver, stream, act) == 0
    driver.cuMemFree(managed.ptr)


def test_a_launch_on_the_capturing_stream_is_a_node(driver):
    """The kernel runs when the graph is launched."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    unchecked[1, SIZE, stream](x)
    count = capture(driver, stream, lambda: unchecked[1, SIZE, stream](x))

    assert (count, x.to_device("cpu").tolist()) == (1, [1.0] * SIZE)


# ---------------------------------------------------------------- streams of other GPUs


@pytest.fixture
def two(driver):
    """Return an array on the first device and a stream of the second; the first is current."""
    use(driver, 1)
    stream = cuda.stream()
    use(driver, 0)
    x = cuda.to_device(np.zeros(SIZE, "f4"))
    cuda.synchronize()
    return x, stream


@pytest.mark.parametrize("kernel", [unchecked, checked])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_launch_on_a_stream_of_another_gpu_is_refused(emulator, two, kernel, is_known):
    """The next launch, on a stream of the arrays' device, is not affected."""
    x, stream = two
    kernel = cuda.jit(debug=kernel.debug)(kernel.__wrapped_kernel__)
    if is_known:
        kernel[1, SIZE](x)
    for _ in range(2):
        with pytest.raises(ix.StreamError, match="cuda:1, and an array on cuda:0") as caught:
            kernel[1, SIZE, stream](x)
        assert caught.value.rule == "CPY-LAUNCH-3"
    with emulator.trace() as calls:
        kernel[1, SIZE](x)
        kernel[1, SIZE](x)

    assert calls.names.count("cuLaunchKernel") == 2
    assert x.to_device("cpu").tolist() == [2.0 + is_known] * SIZE
    assert emulator.unexpected_reports() == []


@pytest.mark.parametrize("is_known", [True, False])
def test_with_peer_access_a_stream_of_another_gpu_is_taken(emulator, driver, two, is_known):
    """The kernel uses the stream's context; later kernels use that of the arrays."""
    x, stream = two
    if is_known:
        unchecked[1, SIZE](x)
    use(driver, 0)
    first = driver.cuCtxGetCurrent()[1]
    use(driver, 1)
    assert not driver.cuCtxEnablePeerAccess(first, 0)[0]
    use(driver, 0)
    cuda.synchronize()
    try:
        with emulator.trace() as calls:
            for _ in range(3):
                unchecked[1, SIZE, stream](x)
        stream.synchronize()
        unchecked[1, SIZE](x)
        found = x.to_device("cpu").tolist()
    finally:
        use(driver, 1)
        driver.cuCtxDisablePeerAccess(first)
        use(driver, 0)

    assert calls.names.count("cuLaunchKernel") == 3
    assert found == [4.0 + is_known] * SIZE
    assert emulator.unexpected_reports() == []


@pytest.mark.parametrize("on", ["the default stream", "a stream"])
def test_the_context_is_chosen_before_a_launch_over_arrays_of_another_gpu(
    emulator, driver, two, on
):
    """No launch fails first, whichever device is current."""
    x, _ = two
    stream = cuda.stream() if on == "a stream" else 1
    for current in (0, 1, 0):
        use(driver, current)
        with emulator.trace() as calls:
            for _ in range(3):
                unchecked[1, SIZE, stream](x)
        assert calls.names.count("cuLaunchKernel") == 3
    cuda.synchronize()

    assert x.to_device("cpu").tolist() == [9.0] * SIZE
    assert emulator.unexpected_reports() == []


def test_a_reused_handle_of_another_gpu_is_queried_again(two, monkeypatch):
    """The cached device belongs to a stream that was destroyed."""
    x, stream = two
    unchecked[1, SIZE](x)
    monkeypatch.setitem(device_launch.streams, stream.handle, 0)

    with pytest.raises(ix.StreamError, match=r"\[CPY-LAUNCH-3\]"):
        unchecked[1, SIZE, stream](x)
    assert device_launch.streams[stream.handle] == 1
