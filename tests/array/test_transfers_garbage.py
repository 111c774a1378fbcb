"""Copies in reference cycles with their sources, and when the collector may free both."""

from __future__ import annotations

import gc
import weakref

import pytest

import interchange as ix
from interchange._streams import completion
from interchange._streams.driver import driver_of

pytestmark = pytest.mark.emulated

SIZE = 4096


def sources(machine, *streams, own):
    """Make copies that are in a cycle with the owner of their source, which frees without waiting.

    No work is pending on the source, so that no stream of its owner waits for the copies.
    """
    owner = machine.owner(SIZE, own)
    machine.synchronize()
    array = ix.from_pointer(owner.ptr, (SIZE,), "uint8", device="cuda:0", owner=owner)
    owner.array, owner.itself = array, owner
    owner.copies = [array.copy(stream=stream) for stream in streams]
    return weakref.ref(owner)


def test_a_source_in_garbage_outlives_the_copy_that_is_made_of_it(machine, emulator):
    """The finaliser of a source, which frees the memory, runs after the stream has read it."""
    stream = machine.stream()

    with emulator.held(stream):
        source = sources(machine, stream, own=machine.stream())
        gc.collect()
        kept = source() is not None
    machine.synchronize()
    gc.collect()

    assert kept
    assert source() is None


@pytest.mark.parametrize("count", [1, 3])
def test_copies_that_were_made_are_garbage_like_others(machine, emulator, count):
    """All garbage of every round is freed, with all copies of a round running at once.

    So each round needs as many events at a time, which are idle afterwards.
    """
    own, *streams = [machine.stream() for _ in range(count + 1)]
    for round_ in range(4):
        with emulator.held(*streams):
            source = sources(machine, *streams, own=own)
        machine.synchronize()
        gc.collect()
        assert source() is None
        if not round_:
            machine.synchronize()
            before = emulator.live()
    machine.synchronize()

    assert emulator.live() == before
    assert not completion._notifications


def test_a_copy_keeps_no_source_that_it_was_made_of(machine, emulator):
    """The source is freed although the copy still exists."""
    del emulator
    owner = machine.owner(SIZE, machine.stream())
    machine.synchronize()
    array = ix.from_pointer(owner.ptr, (SIZE,), "uint8", device="cuda:0", owner=owner)
    copied, source = array.copy(), weakref.ref(owner)
    del array, owner

    machine.synchronize()
    gc.collect()

    assert source() is None
    assert copied.shape == (SIZE,)


def test_a_source_stays_while_there_is_a_copy_of_it_to_make(machine, emulator):
    """A source is kept while a copy of it is pending, even if another copy is complete."""
    slow, quick = machine.stream(), machine.stream()
    owner = machine.owner(SIZE, machine.stream())
    machine.synchronize()
    array = ix.from_pointer(owner.ptr, (SIZE,), "uint8", device="cuda:0", owner=owner)
    source = weakref.ref(owner)
    with emulator.held(slow):
        copies = [array.copy(stream=slow), array.copy(stream=quick)]
        del array, owner
        machine("cuStreamSynchronize", quick)
        gc.collect()
        assert source() is not None

    machine.synchronize()
    gc.collect()
    assert source() is None
    assert len(copies) == 2


def test_collecting_does_not_spoil_a_capture(machine, emulator):
    """The collector runs anywhere."""
    stream, captured = machine.stream(), machine.stream()
    with emulator.held(stream):
        source = sources(machine, stream, own=machine.stream())
        machine("cuStreamBeginCapture", captured, machine.api.CUstreamCaptureMode(0))
        gc.collect()
        graph = machine("cuStreamEndCapture", captured)
    machine("cuGraphDestroy", graph)
    machine.synchronize()
    gc.collect()

    assert source() is None


def test_a_driver_that_fails_keeps_the_source(machine, emulator, monkeypatch):
    """If the driver fails, the source is kept, and no error is raised in the collector."""
    del emulator
    source = sources(machine, machine.stream(), own=machine.stream())
    machine.synchronize()
    with monkeypatch.context() as patch:
        patch.setattr(driver_of(ix.Device(2), "test"), "is_complete", None)
        gc.collect()
        kept = source() is not None
    gc.collect()

    assert kept
    assert source() is None


def test_a_forked_child_asks_no_driver(machine, emulator):
    """A forked child has no driver state and does not free its parent's copies."""
    del emulator
    source = sources(machine, machine.stream(), own=machine.stream())
    machine.synchronize()
    gc.disable()
    try:
        completion.poll(_process=lambda: -1)
        kept = source() is not None
    finally:
        gc.enable()
    gc.collect()

    assert kept
    assert source() is None


def test_a_source_that_the_collector_does_not_see_goes_too(machine, emulator):
    """A source in a DLPack import, invisible to the collector, is freed while the copy exists."""
    stream = machine.stream()
    copies = []
    for _ in range(5):
        owner = machine.owner(SIZE, stream)
        machine.synchronize()
        array = ix.from_pointer(owner.ptr, (SIZE,), "uint8", device="cuda:0", owner=owner)
        capsule = array.__dlpack__(stream=stream, max_version=(1, 1))
        copies.append(ix.from_dlpack(capsule, stream=stream).copy())
        source = weakref.ref(owner)
        del owner, array, capsule
        machine.synchronize()
        gc.collect()
        assert source() is None

    assert len(copies) == 5
    assert emulator.reports() == []


def test_copies_under_way_do_not_slow_the_collector_down(machine, emulator):
    """The collector makes one query per stream, however many copies are pending."""
    stream = machine.stream()
    owner = machine.owner(SIZE, machine.stream())
    source = ix.from_pointer(owner.ptr, (8,), "uint8", device="cuda:0", owner=owner)
    machine.synchronize()
    with emulator.held(stream):
        copies = [source.copy(stream=stream) for _ in range(50)]
        with emulator.trace() as trace:
            gc.collect(0)
        asked = trace.names.count("cuEventQuery")
    machine.synchronize()

    assert asked == 1
    assert len(copies) == 50
