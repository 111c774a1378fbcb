"""Launches over arrays that name a stream of their library, or none: order, and driver calls.

Source: CUDA Array Interface, version 3, Synchronization; CUDA driver API, Event Management.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import interchange as ix
from interchange import _core, cuda
from interchange.cuda.repeating import WORK
from interchange.cuda.streams import Stream

from .comparing import run_in_threads

pytestmark = [pytest.mark.interop, pytest.mark.emulated]

COUNT = 32
ORDER = {"cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuLaunchKernel"}


class Foreign:
    """An array of a library that publishes a stream by the CUDA Array Interface."""

    def __init__(self, stream, dtype="f4", count=COUNT, step=1, *, readonly=False):
        self.array = cuda.to_device(np.ones(count, dtype))
        cuda.synchronize()
        self.stream, self.step, self.readonly = stream, step, readonly

    @property
    def __cuda_array_interface__(self):
        array = self.array[:: self.step]
        return {
            "shape": array.shape,
            "typestr": str(array.dtype.typestr),
            "data": (array.ptr, self.readonly),
            "strides": None if self.step == 1 else array.strides_in_bytes,
            "version": 3,
            "stream": self.stream,
        }

    def numbers(self):
        """Return the elements, when all work is done."""
        cuda.synchronize()
        return np.asarray(self.array.to_device("cpu")).tolist()


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] += x[i] + y[i]


@pytest.fixture
def streams(emulator):  # noqa: ARG001 - it is loaded
    """Return four streams, ordered before among each other by launches of `kernel`."""
    return [cuda.stream() for _ in range(4)]


def warmed(streams):
    """Return a kernel that was launched with each pair of streams."""
    kernel = cuda.jit(add.__wrapped_kernel__)
    for stream in streams:
        for other in (*(one.handle for one in streams), 1, None):
            for _ in range(2):
                kernel[1, COUNT, stream](Foreign(other), Foreign(other), Foreign(other))
    cuda.synchronize()
    return kernel


def repeated(kernel, stream, *arguments):
    """Return the answer of the core: whether it launched the kernel."""
    if ix.core_name != "native":
        pytest.skip("the ctypes core leaves launches to Python")
    return kernel._repeater.launch(kernel[1, COUNT, stream]._configuration, arguments)


NAMED = {
    "their own stream": ((0, 0, 0), []),
    "one other": ((1, 1, 1), ["cuEventRecord", "cuStreamWaitEvent"]),
    "two others": ((1, 2, 1), ["cuEventRecord", "cuStreamWaitEvent"] * 2),
    "another and their own": ((1, 0, 0), ["cuEventRecord", "cuStreamWaitEvent"]),
    "the default stream": ((9, 9, 9), ["cuEventRecord", "cuStreamWaitEvent"]),
}


def handles(streams, places):
    """Return the handles of streams; 9 is the legacy default stream."""
    return [1 if place == 9 else streams[place].handle for place in places]


@pytest.mark.parametrize("named", NAMED)
def test_each_pair_of_streams_is_ordered_once(emulator, streams, named):
    """One record and one wait before the launch, and one record and the waits after it."""
    places, before = NAMED[named]
    kernel = warmed(streams)
    arrays = [Foreign(handle) for handle in handles(streams, places)]
    with emulator.trace() as calls:
        assert repeated(kernel, streams[0], *arrays) == 1
    others = len(before) // 2
    after = ["cuEventRecord"] * bool(others) + ["cuStreamWaitEvent"] * others

    assert [name for name in calls.names if name in ORDER] == [*before, "cuLaunchKernel", *after]
    assert arrays[2].numbers() == [3] * COUNT
    assert emulator.reports() == []


def test_the_host_waits_once_if_no_stream_is_named(emulator, streams):
    """The producer may use the memory on any stream when the launch returns."""
    kernel = warmed(streams)
    arrays = [Foreign(None) for _ in range(3)]
    with emulator.trace() as calls:
        assert repeated(kernel, streams[0], *arrays) == 1
    assert emulator.pending(streams[0].handle) == 0
    assert [one for one in calls.names if one in ORDER] == ["cuLaunchKernel", "cuStreamSynchronize"]


@pytest.mark.parametrize("named", NAMED)
def test_work_before_and_after_is_ordered(emulator, streams, named):
    """The detector sees the writes of the producers' streams on both sides."""
    kernel = warmed(streams)
    arrays = [Foreign(handle) for handle in handles(streams, NAMED[named][0])]
    for _ in range(3):
        for array in arrays:
            emulator.annotate(array.stream, array.array.ptr, 4 * COUNT, write=True)
        kernel[1, COUNT, streams[0]](*arrays)
    cuda.synchronize()

    assert emulator.reports() == []


def test_a_wait_that_is_taken_away_is_missed(emulator, streams):
    """The core makes the waits: without them the detector reports a race."""
    kernel = warmed(streams)
    arrays = [Foreign(streams[1].handle) for _ in range(3)]
    emulator.annotate(streams[1].handle, arrays[2].array.ptr, 4 * COUNT, write=True)
    with emulator.without_waits():
        assert repeated(kernel, streams[0], *arrays) == 1
    cuda.synchronize()

    assert emulator.expect_reports(match="not ordered after")


CHANGED = {
    "dtype": lambda one: Foreign(one, "f8"),
    "strides": lambda one: Foreign(one, count=2 * COUNT, step=2),
    "read-only": lambda one: Foreign(one, readonly=True),
    "the stream of a thread": lambda _: Foreign(2),
    "a host array": lambda _: np.ones(COUNT, "f4"),
    "None": lambda _: None,
}


@pytest.mark.parametrize("kind", CHANGED)
def test_what_changed_is_left_to_python(streams, kind):
    """Nothing is enqueued."""
    kernel = warmed(streams)
    one = streams[0].handle
    arrays = [CHANGED[kind](one), Foreign(one), Foreign(one)]

    assert repeated(kernel, streams[0], *arrays) == 0
    assert arrays[2].numbers() == [1] * COUNT


@pytest.mark.parametrize("named", ["other", "none"])
def test_a_launch_that_would_break_a_capture_is_refused(streams, named):
    """The graph has no node of it."""
    driver = pytest.importorskip("cuda.bindings.driver")
    kernel = warmed(streams)
    other = streams[1].handle if named == "other" else None
    arrays = [Foreign(other) for _ in range(3)]
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    assert not driver.cuStreamBeginCapture(streams[0].handle, mode)[0]
    try:
        assert repeated(kernel, streams[0], *arrays) == 0
        with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-8\]"):
            kernel[1, COUNT, streams[0]](*arrays)
    finally:
        error, graph = driver.cuStreamEndCapture(streams[0].handle)
    assert (int(error), driver.cuGraphGetNodes(graph, 0)[-1]) == (0, 0)


def test_a_stream_that_was_destroyed_is_refused(streams):
    """Its handle was ordered before."""
    kernel = warmed(streams)
    handle = streams[1].handle
    arrays = [Foreign(handle) for _ in range(3)]
    driver = pytest.importorskip("cuda.bindings.driver")
    driver.cuStreamDestroy(handle)
    streams[1].handle = 0

    with pytest.raises(ix.StreamError, match=r"\[DLP-STREAM-7\]"):
        kernel[1, COUNT, streams[0]](*arrays)
    assert arrays[2].numbers() == [1] * COUNT


def test_memory_that_was_freed_is_refused(streams):
    """The driver is asked about each address."""
    kernel, one = warmed(streams), streams[0].handle
    arrays = [Foreign(one) for _ in range(3)]
    record = arrays[0].__cuda_array_interface__
    arrays[0] = type("Gone", (), {"__cuda_array_interface__": record})()
    cuda.synchronize()

    with pytest.raises(ix.ExchangeError, match="CAI-DATA-3"):
        kernel[1, COUNT, streams[0]](*arrays)


def test_threads_launch_at_once(emulator, streams):
    """Each with streams of its own; events are used by one launch at a time."""
    kernel, found = warmed(streams), {}

    def launch(number):
        ours, theirs = cuda.stream(), cuda.stream()
        arrays = [Foreign(theirs.handle) for _ in range(3)]
        for _ in range(50):
            kernel[1, COUNT, ours](*arrays)
        found[number] = arrays[2].numbers()

    run_in_threads(4, launch)

    assert found == {number: [101] * COUNT for number in range(4)}
    assert emulator.reports() == []


# ---------------------------------------------------------------- errors of the driver


class Calls:
    """Functions like those of a driver, of which one may fail."""

    def __init__(self, failing=""):
        self.made, self.failing = [], failing
        kinds = {
            "launch": ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3
            ),
            "current": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p),
            "capturing": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
            "record": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
            "wait": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint),
            "synchronize": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p),
        }
        self.kept = [kind(lambda *_, name=name: self.call(name)) for name, kind in kinds.items()]
        self.addresses = tuple(ctypes.cast(one, ctypes.c_void_p).value for one in self.kept)

    def call(self, name):
        """Note a call; return its code."""
        self.made.append(name)
        return int(f"{name} {self.made.count(name)}" == self.failing)


ENDS = {
    "": (1, ["capturing", "capturing", "record", "wait", "launch", "record", "wait"]),
    "record 1": (0, ["capturing", "capturing", "record"]),
    "wait 1": (0, ["capturing", "capturing", "record", "wait"]),
    "launch 1": (0, ["capturing", "capturing", "record", "wait", "launch"]),
    "record 2": (1, ["record", "wait", "launch", "record", "synchronize"]),
    "wait 2": (1, ["wait", "launch", "record", "wait", "synchronize"]),
}


@pytest.mark.parametrize("failing", ENDS)
def test_a_launch_that_fails_in_the_middle(streams, failing):
    """After the launch the host waits instead; before it nothing is launched."""
    ours, theirs, *_ = streams
    warmed(streams[:2])
    launcher = _core.make_launcher({}, *WORK, Stream)
    if launcher is None:
        pytest.skip("the ctypes core leaves launches to Python")
    calls, pool = Calls(failing), [(0, 0, 0, 77)]
    launcher.connect(calls.addresses, 0, {5: pool}, {theirs.handle: (pool,)})
    array = Foreign(theirs.handle)
    assert launcher.learn(({0: (3, 5)}, 0, None), ((array, ix.from_cai(array)),))
    done, made = ENDS[failing]

    assert launcher.launch(((1, 1, 1), (1, 1, 1), ours.handle, ours, 0), (array,)) == done
    assert calls.made[-len(made) :] == made
    assert pool == [(0, 0, 0, 77)]


def test_the_host_waits_if_nothing_else_is_possible(streams, monkeypatch):
    """The core reports a launch that no stream waits for."""
    kernel = cuda.jit(add.__wrapped_kernel__)
    waited = []
    monkeypatch.setattr("interchange.cuda.kernel.synchronize_stream", lambda *x: waited.append(x))
    monkeypatch.setattr(kernel._repeater, "launch", lambda *_: 2)
    kernel[1, COUNT, streams[0]](1, 2, 3)

    assert waited == [(streams[0].handle, "add[...]()")]
