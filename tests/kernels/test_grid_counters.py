"""Words at which the blocks of grids count: no two grids that may run at once share one.

Source: CUDA C++ Programming Guide, "Grid Synchronization"; CUDA driver API, Stream synchronization
behavior (the per-thread default stream is another stream in each thread).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda.device_launch import DeviceKernel

from . import launched

pytestmark = [
    pytest.mark.interop,
    pytest.mark.emulated,
    pytest.mark.gpu,
    pytest.mark.usefixtures("cuda_driver"),
]

SIZE = 64


turn = cuda.jit(launched.turn)


@pytest.fixture
def words(monkeypatch):
    """The addresses that launches get, in order."""
    given, with_more = [], DeviceKernel._with_more

    def noted(kernel, packed, numbers):
        given.append(numbers[0])
        return with_more(kernel, packed, numbers)

    monkeypatch.setattr(DeviceKernel, "_with_more", noted)
    return given


def launch(stream):
    """Launch the kernel on a stream over an array of its own, and check the result."""
    x = cuda.to_device(np.arange(SIZE), stream=stream)
    turn[4, SIZE // 4, stream](x)
    assert x.copy_to_host().tolist() == np.roll(np.arange(SIZE), -1).tolist()


def in_threads(count, function):
    """Call a function in threads that begin together and all live until the last one is done."""
    begin, end = threading.Barrier(count), threading.Barrier(count)

    def run(_):
        begin.wait(30)
        try:
            function()
        finally:
            end.wait(30)

    with ThreadPoolExecutor(count) as pool:
        assert len(list(pool.map(run, range(count)))) == count


def test_per_thread_default_streams_have_words_of_their_own(words):
    """They have one handle, and are different streams, whose grids may run at once."""
    launch(ix.PER_THREAD_DEFAULT_STREAM)
    launch(ix.PER_THREAD_DEFAULT_STREAM)
    in_threads(3, lambda: launch(ix.PER_THREAD_DEFAULT_STREAM))

    assert words[0] == words[1]
    assert len(set(words)) == 4


def test_threads_that_launch_at_once_on_one_stream_share_a_word(words):
    """It is made once; no launch has the word of memory that was freed."""
    stream = cuda.stream()
    in_threads(4, lambda: launch(stream))

    assert (len(words), len(set(words))) == (4, 1)


def test_a_stream_with_the_handle_of_a_destroyed_one_has_another_word(words):
    """Work of the destroyed one may still run."""
    for _ in range(3):
        launch(cuda.stream())

    assert len(set(words)) == 3


def test_a_graph_has_words_of_its_own(words):
    """A graph may run beside the stream that captured it; the words are made during the capture."""
    driver = pytest.importorskip("cuda.bindings.driver")
    stream = cuda.stream()
    x = cuda.to_device(np.arange(SIZE), stream=stream)
    turn[4, SIZE // 4, stream](x)
    stream.synchronize()
    driver.cuStreamBeginCapture(stream.handle, driver.CUstreamCaptureMode(0))
    for _ in range(2):
        turn[4, SIZE // 4, stream](x)
    error, graph = driver.cuStreamEndCapture(stream.handle)
    assert not error
    _, ready = driver.cuGraphInstantiate(graph, 0)
    for _ in range(2):
        driver.cuGraphLaunch(ready, stream.handle)
    found = x.copy_to_host().tolist()
    driver.cuGraphExecDestroy(ready)
    driver.cuGraphDestroy(graph)

    assert found == np.roll(np.arange(SIZE), -5).tolist()
    assert len(set(words)) == 3
