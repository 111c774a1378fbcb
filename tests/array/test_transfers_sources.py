"""Sources of copies: kept until the copy has run, and no longer."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

SIZE = 4096
WAITING = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"}


class Source:
    """Owns memory and its stream; both are freed when it is collected and the stream is idle."""

    def __init__(self, machine):
        self.machine = machine
        self.stream = int(machine("cuStreamCreate", 1))
        self.ptr = int(machine("cuMemAllocAsync", SIZE, self.stream))

    def __del__(self):
        self.machine("cuMemFreeAsync", self.ptr, self.stream)
        self.machine("cuStreamDestroy", self.stream)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (SIZE,),
            "typestr": "|u1",
            "data": (self.ptr, False),
            "strides": None,
            "version": 3,
            "stream": self.stream,
        }


@pytest.fixture
def copied(machine, emulator):
    """Return a function that creates, writes and copies a source without stream=, and drops it."""

    def make(copy=lambda array: array.copy()):
        source = Source(machine)
        emulator.fill(source.stream, source.ptr, SIZE, 7)
        return copy(ix.from_cai(source)), weakref.ref(source), source.stream

    return make


COPIES = {
    "a copy": lambda array: array.copy(),
    "a copy of rows": lambda array: array.reshape((64, 64))[::2].copy(),
    "elsewhere": lambda array: array.to_device("cuda:1"),
    "a copy of a copy": lambda array: array.copy().copy(),
    "a copy after a loan": lambda array: after_a_loan(array).copy(),
}


def after_a_loan(array):
    """Return the exported objects that were released."""
    with ix.borrow(array, stream=1) as lent:
        pass
    return lent


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_that_has_run_keeps_no_source(machine, copied, way):
    """A completed copy keeps neither its source nor the producer whose stream it used."""
    copy, source, _ = copied(COPIES[way])
    machine.synchronize()
    gc.collect()

    assert source() is None
    assert machine.read(copy.ptr, copy.nbytes) == bytes([7]) * copy.nbytes


# To drop a copy lets the host wait for it: not while its stream is held.
@pytest.mark.parametrize("way", [way for way in COPIES if way != "a copy of a copy"])
def test_a_source_is_kept_until_its_copy_has_run(machine, emulator, way):
    """A garbage collection does not free a source before its copy has run."""
    source = Source(machine)
    emulator.fill(source.stream, source.ptr, SIZE, 7)
    gone = weakref.ref(source)
    with emulator.held(source.stream):
        copy = COPIES[way](ix.from_cai(source))
        del source
        gc.collect()
        kept = gone() is not None
    machine.synchronize()

    assert kept
    assert machine.read(copy.ptr, copy.nbytes) == bytes([7]) * copy.nbytes


TOUCHES = {
    "a hand-over": lambda copy, stream: copy.__dlpack__(stream=stream, max_version=(1, 1)),
    "its record": lambda copy, _: copy.__cuda_array_interface__,
    "another copy": lambda copy, stream: copy.copy(stream=stream),
    "a loan": lambda copy, stream: ix.borrow(copy, stream=stream).__enter__(),
    "another allocation": lambda _, __: ix.asarray(bytes(8)).to_device("cuda"),
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_the_next_touch_lets_a_source_go(machine, emulator, copied, touch):
    """The next operation releases a source, without a collection or a wait on the host."""
    stream = machine.stream()
    gc.collect()
    gc.disable()
    try:
        copy, source, _ = copied()
        machine.synchronize()
        kept = source() is not None
        with emulator.trace() as trace:
            touched = TOUCHES[touch](copy, stream)
        gone = source() is None
    finally:
        gc.enable()

    assert (kept, gone) == (True, True)
    assert not WAITING & set(trace.names)
    del touched


def test_a_completed_copy_has_no_pending_work(machine, emulator, copied):
    """A completed copy has no pending work and is published without an order."""
    copy, _, _ = copied()
    machine.synchronize()
    with emulator.trace() as trace:
        capsule = copy.__dlpack__(stream=machine.stream(), max_version=(1, 1))

    assert copy.__cuda_array_interface__["stream"] is None
    assert "cuStreamWaitEvent" not in trace.names
    del capsule


def test_a_copy_that_has_run_frees_its_source_though_others_are_under_way(
    machine, emulator, copied
):
    """Otherwise a device that always has copies pending would keep every source."""
    slow = machine.stream()
    ptr = machine.memory(np.zeros(8, np.uint8))
    other = ix.from_pointer(ptr, (8,), "uint8", device="cuda:0", owner=object())
    with emulator.held(slow):
        under_way = other.copy(stream=slow)
        copy, source, stream = copied()
        machine("cuStreamSynchronize", stream)
        gc.collect()
        gone = source() is None
    machine.synchronize()

    assert gone
    assert len({copy.ptr, under_way.ptr}) == 2


def test_a_stream_that_a_copy_publishes_outlives_its_source(machine, emulator):
    """A stream published in a record outlives the source: consumers may wait for it later."""
    source = Source(machine)
    emulator.fill(source.stream, source.ptr, SIZE, 7)
    with emulator.held(source.stream):
        copy = ix.from_cai(source).copy()
        published = copy.__cuda_array_interface__["stream"]
        own = source.stream
    gone = weakref.ref(source)
    del source
    machine.synchronize()
    gc.collect()

    machine("cuStreamSynchronize", published)
    assert gone() is None
    assert published != own


def test_the_stream_that_a_copy_publishes_waits_for_it(machine, emulator):
    """The published stream waits for the copy, even if the copy runs on another stream."""
    source, target = Source(machine), machine.pinned(SIZE)
    emulator.fill(source.stream, source.ptr, SIZE, 7)
    with emulator.held(source.stream):
        copy = ix.from_cai(source).copy()
        published = copy.__cuda_array_interface__["stream"]
        machine("cuMemcpyAsync", target, copy.ptr, SIZE, published)
        pending = emulator.pending(published)
    machine.synchronize()

    assert pending > 0
    assert emulator.reports() == []


@pytest.mark.parametrize("done", [False, True], ids=["under way", "made"])
def test_work_of_a_loan_of_a_copy_is_waited_for(machine, emulator, done):
    """A copy made during a borrow is waited for, and the host does not wait."""
    source, stream, next_ = Source(machine), machine.stream(), machine.stream()
    emulator.fill(source.stream, source.ptr, SIZE, 7)
    copy = ix.from_cai(source).copy()
    if done:
        machine.synchronize()
        gc.collect()
    with emulator.trace() as trace, ix.borrow(copy, stream=stream, writable=True) as lent:
        emulator.fill(stream, lent.ptr, SIZE, 9)
    waited = WAITING & set(trace.names)
    machine("cuStreamSynchronize", source.stream)
    gc.collect()
    target = machine.pinned(SIZE)
    capsule = copy.__dlpack__(stream=next_, max_version=(1, 1))
    machine("cuMemcpyAsync", target, copy.ptr, SIZE, next_)
    machine.synchronize()

    assert waited == set()
    assert emulator.reports() == []
    assert machine.read(copy.ptr, SIZE) == bytes([9]) * SIZE
    del capsule


def test_a_stream_that_was_named_is_remembered_as_long_as_the_copy(machine, copied):
    """A user's stream is kept as long as the copy, and keeps no source."""
    stream = machine.stream()
    copy, source, _ = copied(lambda array: ix.from_dlpack(array, stream=stream, copy=True))
    machine.synchronize()
    gc.collect()

    assert source() is None
    assert copy.__cuda_array_interface__["stream"] == stream


def test_events_of_copies_are_used_again(machine, emulator, copied):
    """Events are reused for any number of released sources."""
    for round_ in range(8):
        copy, source, _ = copied()
        machine.synchronize()
        gc.collect()
        assert source() is None
        if round_ == 2:
            before = emulator.live().events

    assert emulator.live().events == before
    assert np.asarray(copy.to_device("cpu")).tobytes() == bytes([7]) * SIZE
