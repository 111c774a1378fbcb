"""Launches over memory that several GPUs reach, on whose default streams work is pending.

Source: CUDA driver API, Stream synchronization behavior: every device has default streams of its
own, which have one number.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda

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
    """Return the driver; the device that is current is restored."""
    assert cuda.is_available()
    driver = pytest.importorskip("cuda.bindings.driver")
    _, before = driver.cuCtxGetCurrent()
    yield driver
    driver.cuCtxSetCurrent(before)


def use(driver, ordinal):
    """Make a device current."""
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(ordinal)[1])


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("kind", ["theirs", "ours"])
def test_default_streams_of_two_devices_are_told_apart(emulator, driver, kind, current):
    """The launch on the second waits for that on the first, though both are on stream 1."""
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
    """Return how many nodes a graph has of what an act enqueues, or what is wrong with it."""
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
    assert not driver.cuStreamBeginCapture(stream.handle, mode)[0]
    try:
        act()
    finally:
        error, graph = driver.cuStreamEndCapture(stream.handle)
    return error or driver.cuGraphGetNodes(graph, 0)[-1]


def test_a_launch_with_checks_is_not_captured(driver):
    """The host would wait for it; the graph has nothing of it."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    checked[1, SIZE, stream](x)

    def act():
        with pytest.raises(ix.StreamError) as caught:
            checked[1, SIZE, stream](x)
        assert caught.value.rule == "DLP-STREAM-8"

    assert capture(driver, stream, act) == 0


def test_a_launch_on_the_default_stream_during_a_capture_is_told(driver):
    """By the rule of captures."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"))
    unchecked[1, SIZE](x)

    def act():
        with pytest.raises(ix.StreamError) as caught:
            unchecked[1, SIZE](x)
        assert caught.value.rule == "DLP-STREAM-8"

    assert capture(driver, stream, act) != 0


def test_a_launch_on_the_capturing_stream_is_a_node(driver):
    """And runs when the graph does."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    unchecked[1, SIZE, stream](x)
    count = capture(driver, stream, lambda: unchecked[1, SIZE, stream](x))

    assert (count, x.to_device("cpu").tolist()) == (1, [1.0] * SIZE)
