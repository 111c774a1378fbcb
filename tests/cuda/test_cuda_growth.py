"""Events, the records of streams, and the driver's memory do not grow."""

from __future__ import annotations

import gc

import pytest

import interchange as ix
from interchange._streams.driver import driver_of

pytestmark = pytest.mark.emulated


def test_events_do_not_grow_with_streams(emulator, cuda, produce):
    """Ordering new streams reuses an event without pending work."""
    producer = produce(cuda.stream())
    ix.from_cai(producer, stream=cuda.stream())
    before = emulator.live().events
    for _ in range(300):
        stream = int(cuda("cuStreamCreate", 1))
        ix.from_cai(producer, stream=stream)
        cuda("cuStreamDestroy", stream)

    assert emulator.live().events == before


def test_what_is_remembered_of_streams_is_bounded(emulator, cuda):
    """A program that creates streams repeatedly does not fill the memory."""
    driver = driver_of(ix.Device(2), "f()")
    own = cuda.stream()
    for _ in range(1200):
        stream = int(cuda("cuStreamCreate", 1))
        driver.order(stream, own, 0, "f()")
        cuda("cuStreamDestroy", stream)

    assert len(driver._ready) <= 1024
    assert emulator.reports() == []


def test_round_trips_of_copies_give_everything_back(emulator, cuda):
    """Copies to the device, between devices, and back free all memory."""
    stream = cuda.stream()
    source = ix.asarray(bytes(range(256)))

    def trip():
        there = source.to_device("cuda:0", stream=stream)
        elsewhere = there.to_device("cuda:1")
        return elsewhere[::2].copy().to_device("cpu").tolist()

    trip()
    gc.collect()
    before = emulator.live()
    for _ in range(200):
        assert trip() == list(range(0, 256, 2))
    gc.collect()

    assert emulator.live() == before


def test_a_refused_order_leaves_no_event_behind(emulator, cuda, produce):
    """The event is neither lost nor left in use."""
    producer = produce(cuda.stream())
    gone = int(cuda("cuStreamCreate", 1))
    cuda("cuStreamDestroy", gone)
    array = ix.from_cai(producer, stream=cuda.stream())
    before = emulator.live().events
    for _ in range(50):
        with pytest.raises(ix.StreamError):
            array.__dlpack__(stream=gone, max_version=(1, 1))

    assert emulator.live().events == before


def test_events_of_a_context_that_is_gone_are_not_used_again(emulator, cuda):
    """Another context may have the same id: the driver refuses the events; new ones are created."""
    driver = driver_of(ix.Device(2), "f()")
    first, second = cuda.stream(), cuda.stream()
    driver.order(first, second, 0, "f()")
    for events in driver._events.values():
        for event in events:
            cuda("cuEventDestroy", event.handle.value)
    driver.order(first, second, 0, "f()")
    driver.order(first, second, 0, "f()")

    assert emulator.reports() == []
