"""Batches of device memory, of host memory that is moved, and of page-locked memory."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import interchange as ix
from interchange._streams.driver import driver_of
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow import Chunk, Field, Place, Source

pytestmark = pytest.mark.emulated

CUDA = 2
ROWS = 64


class Program:
    """A program that writes record batches on one stream, and reads them on another."""

    def __init__(self, cuda, emulator, record_event):
        self.cuda, self.emulator, self.record_event = cuda, emulator, record_event
        self.producer, self.stream = cuda.stream(), cuda.stream()

    def table(self, *values):
        """Return a stream of record batches of one column of bytes, each of one value."""
        chunks = []
        for value in values:
            memory = self.cuda.memory(ROWS)
            self.emulator.fill(self.producer, memory, ROWS, value)
            child = Chunk(length=ROWS, buffers=(None, memory))
            chunks.append(Chunk(length=ROWS, buffers=(None,), children=(child,)))
        event = self.record_event(self.producer)
        field = Field("+s", children=(Field("C", name="x"),), flags=0)
        place = Place(CUDA, 0, event.address)
        return Source(field, tuple(chunks), place=place).as_device_stream()


@pytest.fixture
def program(cuda, emulator, record_event):
    """Return the parts of a program."""
    return Program(cuda, emulator, record_event)


@pytest.mark.parametrize("size", [None, 16, 40])
def test_batches_of_a_device_are_read_after_their_event(program, size):
    """Shared or copied on the device; each is read on the consumer's stream."""
    source = program.table(1, 2, 3)
    found = []
    for batch in ix.batches(source, size=size, stream=program.stream):
        x = batch["x"]
        assert x.device == "cuda:0"
        program.emulator.annotate(program.stream, x.ptr, x.size, write=False)
        found += x.to_device("cpu").tolist()
        del x, batch
    gc.collect()

    assert found == [1] * ROWS + [2] * ROWS + [3] * ROWS
    assert program.emulator.reports() == []
    assert source.counts == source.due


@pytest.mark.parametrize("size", [None, 16, 40])
def test_batches_are_moved_to_a_device(emulator, cuda, size):
    """From host memory, which may be used for the next batch after the copy."""
    parts = [arrow.table(x=arrow.numbers("int32", 50, offset=50 * place)) for place in range(3)]
    source = arrow.chunked(*parts).as_stream()
    stream, found = cuda.stream(), []
    for batch in ix.batches(source, size=size, device="cuda:0", stream=stream):
        assert batch["x"].device == "cuda:0"
        found.append(batch["x"])
    rows = [row for x in found for row in x.to_device("cpu").tolist()]
    del found, batch

    assert rows == list(range(150))
    assert emulator.reports() == []
    assert source.counts == source.due


@pytest.mark.parametrize("size", [None, 40])
def test_pinned_batches_are_page_locked_and_used_again(emulator, size):
    """Host memory that the driver knows, writable, and not allocated for each batch."""
    parts = [arrow.table(x=arrow.numbers("int32", 50, offset=50 * place)) for place in range(8)]
    source = arrow.chunked(*parts).as_stream()
    places, found = set(), []
    before = emulator.live()
    for batch in ix.batches(source, size=size, pinned=True):
        x = batch["x"]
        assert (x.device, x.readonly) == ("cpu", False)
        assert is_known(x.ptr)
        places.add(x.ptr)
        found += x.tolist()
        del x, batch
    gc.collect()

    assert found == list(range(400))
    assert len(places) == 1
    assert emulator.live() == before
    assert source.counts == source.due


def is_known(ptr):
    """Whether the driver knows the memory at an address."""
    return driver_of(ix.Device(2), "f()").pointer_attributes(ptr, "f()") is not None


def test_a_buffer_on_a_device_is_not_used_again(program):
    """A stream may read it after its last reference is gone."""
    source, places = program.table(*range(6)), []
    for batch in ix.batches(source, size=40, stream=program.stream):
        places.append(batch["x"].ptr)
        batch.clear()

    assert program.emulator.reports() == []
    assert len(places) == 10


def test_it_stops_in_the_middle_and_leaves_nothing_on_the_driver(program):
    """Neither events nor memory."""
    program.table(1)
    source = program.table(1, 2, 3)
    before = program.emulator.live()
    for size in (None, 40):
        with ix.batches(source, size=size, stream=program.stream) as found:
            next(found)
    program.cuda.synchronize_all()
    gc.collect()

    assert program.emulator.live() == before
    assert source.counts == source.due


def test_an_event_that_is_invalid_ends_the_loop(program):
    """The error is raised in the loop, and all structs are released."""
    word = ctypes.c_void_p()
    source = program.table(1, 2)
    source = source.but(place=Place(CUDA, 0, ctypes.addressof(word)))
    found = ix.batches(source)
    with pytest.raises(ix.ExchangeError, match="ARROW-DEVICE-3"):
        next(found)
    gc.collect()

    assert source.counts == source.due


def test_columns_of_a_device_are_stacked_there(program):
    """By the driver: no byte passes through the host."""
    memory = [program.cuda.memory(ROWS) for _ in range(3)]
    for value, address in enumerate(memory):
        program.emulator.fill(program.producer, address, ROWS, value)
    event = program.record_event(program.producer)
    children = tuple(Chunk(length=ROWS, buffers=(None, address)) for address in memory)
    chunk = Chunk(length=ROWS, buffers=(None,), children=children)
    field = Field("+s", children=tuple(Field("C", name=name) for name in "abc"), flags=0)
    source = Source(field, (chunk,), place=Place(CUDA, 0, event.address)).as_device_array()
    for axis in (0, 1):
        found = ix.from_arrow(source, columns=["c", "a"], axis=axis, stream=program.stream)
        rows = np.asarray(found.to_device("cpu"))

        assert found.device == "cuda:0"
        np.testing.assert_array_equal(rows, np.stack([[2] * ROWS, [0] * ROWS], axis))
    del found
    gc.collect()

    assert program.emulator.reports() == []
    assert source.counts == source.due
