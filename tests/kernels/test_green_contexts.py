"""Launches on green contexts: parts of a GPU with streams of their own.

Source: CUDA driver API, Green Contexts: a green context is current as one that shares memory and
functions with the primary context, its streams are non-blocking, and work on it runs on its
multiprocessors.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda

from . import launched

pytestmark = [pytest.mark.interop, pytest.mark.emulated]

SIZE = 64
NON_BLOCKING, DEFAULT_STREAM = 1, 1
THREADS, FIT = 1024, 8
"""Threads of a block, and how many such blocks half of the emulated GPU runs at once."""


add_one = cuda.jit(launched.add_one)
add = cuda.jit(launched.add)
turn = cuda.jit(launched.turn)


@pytest.fixture
def driver(emulator):
    """Return the driver; no race is reported, and the current context is restored."""
    assert cuda.is_available()
    driver = pytest.importorskip("cuda.bindings.driver")
    _, before = driver.cuCtxGetCurrent()
    cuda.select_device(0)
    yield driver
    cuda.synchronize()
    driver.cuCtxSetCurrent(before)
    assert emulator.unexpected_reports() == []


def made(answer):
    """Return the results of a call that succeeded."""
    error, *results = answer
    assert not error, error
    return results[0] if len(results) == 1 else results


@pytest.fixture
def halves(driver):
    """Return two green contexts, each with half of the multiprocessors of the first GPU."""
    kind = driver.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
    everything = made(driver.cuDeviceGetDevResource(0, kind))
    groups, *_ = made(driver.cuDevSmResourceSplitByCount(2, everything, 0, 8))
    found = [
        made(
            driver.cuGreenCtxCreate(
                made(driver.cuDevResourceGenerateDesc([group], 1)), 0, DEFAULT_STREAM
            )
        )
        for group in groups
    ]
    yield found
    cuda.select_device(0)
    cuda.synchronize()
    for each in found:
        driver.cuGreenCtxDestroy(each)


@pytest.fixture
def streams(driver, halves):
    """Return a stream of each."""
    found = [made(driver.cuGreenCtxStreamCreate(half, NON_BLOCKING, 0)) for half in halves]
    yield [int(one) for one in found]
    cuda.synchronize()
    for one in found:
        driver.cuStreamDestroy(one)


def use(driver, half):
    """Make a green context current, or the primary one."""
    if half is None:
        cuda.select_device(0)
    else:
        driver.cuCtxSetCurrent(made(driver.cuCtxFromGreenCtx(half)))


@pytest.mark.parametrize("current", [None, 0, 1])
def test_launches_on_two_parts_of_a_gpu_are_ordered(emulator, driver, halves, streams, current):
    """Whichever context is current, and with the default stream of the primary one."""
    x, y = (cuda.to_device(np.full(SIZE, k, "f4"), stream=s) for k, s in enumerate(streams))
    use(driver, None if current is None else halves[current])
    for one in streams:
        emulator.delay(one, 0.002)
    for _ in range(3):
        add_one[1, SIZE, streams[0]](x)
        add_one[1, SIZE, streams[1]](y)
        add[1, SIZE, streams[1]](x, y, y)
        add[1, SIZE, streams[0]](x, y, x)
    for one in streams:
        emulator.delay(one, 0)
    a, b = 0, 1
    for _ in range(3):
        a, b = a + 1, b + 1
        b = a + b
        a = a + b

    use(driver, None)
    add_one[1, SIZE](x)
    assert x.copy_to_host().tolist() == [a + 1] * SIZE
    assert y.copy_to_host().tolist() == [b] * SIZE


@pytest.mark.parametrize("debug", [False, True])
def test_what_is_made_in_a_green_context_is_used_outside(driver, halves, debug):
    """Streams, events, arrays and the code of kernels."""
    kernel = cuda.jit(add_one.py_func, debug=debug)
    use(driver, halves[0])
    stream, event = cuda.stream(non_blocking=True), cuda.event()
    x = cuda.to_device(np.zeros(SIZE, "f4"), stream=stream)
    for _ in range(3):
        kernel[1, SIZE, stream](x)
    event.record(stream)
    use(driver, None)
    event.synchronize()
    assert event.query()
    for _ in range(3):
        kernel[1, SIZE](x)
        kernel[1, SIZE, stream](x)
    use(driver, halves[1])
    kernel[1, SIZE, stream](x)

    assert x.copy_to_host().tolist() == [10] * SIZE
    assert x.device == ix.Device("cuda:0")


def test_blocks_that_wait_for_each_other_have_to_fit_a_part(streams):
    """Fewer fit than on the whole GPU; each stream has a counter of its own."""
    x = np.arange(FIT * THREADS)
    arrays = [cuda.to_device(x, stream=one) for one in streams]
    for array, one in zip(arrays, streams, strict=True):
        turn[FIT, THREADS, one](array)
    large = cuda.to_device(np.arange(2 * FIT * THREADS), stream=streams[0])
    with pytest.raises(ix.ArgumentError, match=r"do not fit at once.*CPY-GRID-1"):
        turn[2 * FIT, THREADS, streams[0]](large)
    turn[2 * FIT, THREADS](large)

    for array in arrays:
        assert array.copy_to_host().tolist() == np.roll(x, -1).tolist()


def test_a_stream_of_a_destroyed_green_context_is_refused(driver, halves, streams):
    """Nothing is launched, and the array is used on; its own stream is not waited for."""
    x = cuda.to_device(np.zeros(SIZE, "f4"))
    for _ in range(2):
        add_one[1, SIZE, streams[0]](x)
    cuda.synchronize()
    driver.cuGreenCtxDestroy(halves[0])
    for _ in range(2):
        with pytest.raises(ix.InterchangeError, match="is not a stream") as caught:
            add_one[1, SIZE, streams[0]](x)
        add_one[1, SIZE, streams[1]](x)

    assert caught.value.rule == "DLP-STREAM-7"
    assert x.copy_to_host().tolist() == [4] * SIZE
