"""Copies in cycles with what they are made from: when the collector may have both."""

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
    """Make copies that are in a cycle with what owns their source, which frees without waiting.

    Nothing is pending on the source, so that no stream of its owner waits for the copies.
    """
    owner = machine.owner(SIZE, own)
    machine.synchronize()
    array = ix.from_pointer(owner.ptr, (SIZE,), "uint8", device="cuda:0", owner=owner)
    owner.array, owner.itself = array, owner
    owner.copies = [array.copy(stream=stream) for stream in streams]
    return weakref.ref(owner)


def test_a_source_in_garbage_outlives_the_copy_that_is_made_of_it(machine, emulator):
    """Its finaliser frees the memory, and is not called before the stream has read there."""
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
    """Round after round, nothing is left: all copies are under way at once, in every round.

    So each round needs as many events at a time, which stay at rest when they were used.
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
    """What was copied may go, though the copy stays."""
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
    """Though another one was made."""
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
    """Not knowing is no reason to free, nor to make noise in the collector."""
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
    """It has none, and its parent's copies are none of its own."""
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
    """That of a DLPack import: copying a frame lets go of it, while the copy stays."""
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
    """One question per stream, however many there are."""
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
