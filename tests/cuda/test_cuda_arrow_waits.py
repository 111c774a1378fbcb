"""Columns of Arrow on the emulated driver: race detection, driver calls and resource counts."""

from __future__ import annotations

import ctypes
import gc

import pytest

import interchange as ix
from interchange._functions import arrow_columns
from interchange._streams.cuda import CudaDriver
from interchange._streams.events import wait_for_foreign_event
from interchange_conformance.zoo.arrow import Chunk, DeviceArraySource, Field, Place

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes], of memory
CUDA, PINNED, MANAGED = 2, 3, 13


def forget(tensor, _event, *rest):
    """Record the stream as an import does, without waiting for the event."""
    wait_for_foreign_event(tensor, 0, *rest)


class Program:
    """A program that writes on one stream, imports the column, and uses it on another stream."""

    def __init__(self, cuda, emulator, record_event):
        self.cuda, self.emulator, self.record_event = cuda, emulator, record_event
        self.producer, self.stream = cuda.stream(), cuda.stream()

    def written(self, memory, nbytes=SIZE):
        """Write memory on the producer's stream, and return its address."""
        self.emulator.fill(self.producer, memory, nbytes, 0x55)
        return memory

    def column(self, text, chunk, device_type=CUDA):
        """Return a producer whose event is recorded after the write."""
        place = Place(device_type, 0, self.record_event(self.producer).address)
        return DeviceArraySource(Field(text), (chunk,), place=place)

    def bytes_of(self, memory, device_type=CUDA):
        """Write memory, and return a producer of its bytes."""
        chunk = Chunk(length=SIZE, buffers=(None, self.written(memory)))
        return self.column("C", chunk, device_type)

    def use_on_stream(self):
        """Share the memory, and read it on a stream."""
        array = ix.from_arrow(self.bytes_of(self.cuda.memory()), stream=self.stream)
        self.emulator.annotate(self.stream, array.ptr, SIZE, write=False)

    def copy(self):
        """Copy on the device."""
        ix.from_arrow(self.bytes_of(self.cuda.memory()), copy=True, stream=self.stream)

    def move(self):
        """Copy to the host."""
        ix.from_arrow(self.bytes_of(self.cuda.memory()), device="cpu", stream=self.stream)

    def look_for_nulls(self):
        """Read a bitmap on the host, to count the nulls."""
        memory, bitmap = self.cuda.memory(), self.cuda.memory()
        chunk = Chunk(length=8, null_count=-1, buffers=(self.written(bitmap), memory))
        ix.from_arrow(self.column("C", chunk), nulls="separate", stream=self.stream)

    def spread_bits(self):
        """Read bools on the host, with bits expanded to bytes."""
        memory = self.written(self.cuda.memory())
        ix.from_arrow(self.column("b", Chunk(length=8, buffers=(None, memory))), stream=self.stream)

    def read_page_locked(self):
        """Read page-locked memory on the host, without a copy."""
        memory = self.cuda.pinned()
        ix.from_arrow(self.bytes_of(memory, PINNED))
        self.emulator.host_access(memory, SIZE, write=False)

    def read_managed(self):
        """Read managed memory on the host through the default stream."""
        memory = self.cuda.managed()
        ix.from_arrow(self.bytes_of(memory, MANAGED))[0].item()
        self.emulator.host_access(memory, SIZE, write=False)


@pytest.fixture
def program(cuda, emulator, record_event):
    """Return the parts of a program."""
    return Program(cuda, emulator, record_event)


BY_STREAM = ("use_on_stream", "copy", "move", "look_for_nulls", "spread_bits", "read_managed")
USES = (*BY_STREAM, "read_page_locked")


@pytest.mark.parametrize("use", USES)
def test_whatever_is_done_comes_after_the_event(program, use):
    """The detector finds no read that is not ordered after the write."""
    getattr(program, use)()
    gc.collect()

    assert program.emulator.reports() == []


@pytest.mark.parametrize("use", USES)
def test_an_import_that_forgets_the_event_is_caught(program, use, monkeypatch):
    """The same programs have a race if the import does not wait for the event."""
    monkeypatch.setattr(arrow_columns, "wait_for_foreign_event", forget)
    getattr(program, use)()

    program.emulator.expect_reports(match="RAW")


@pytest.mark.parametrize("use", BY_STREAM)
def test_it_is_the_wait_of_a_stream_that_keeps_the_order(program, use):
    """The same programs have a race if waits of streams have no effect."""
    with program.emulator.without_waits():
        getattr(program, use)()

    program.emulator.expect_reports(match="RAW")


OTHER_PROTOCOLS = {"from_cai", "from_dlpack", "xp.from_dlpack"}
"""Functions that do not accept Arrow."""


@pytest.mark.parametrize("forgetful", [False, True])
def test_every_function_waits_for_the_event(program, taking_stream, forgetful, monkeypatch):
    """Functions that accept arrays accept columns; an import without the wait is detected."""
    if forgetful:
        monkeypatch.setattr(arrow_columns, "wait_for_foreign_event", forget)
    memory = program.cuda.memory()
    source = program.bytes_of(memory)
    try:
        taken = taking_stream(source, stream=program.stream)
    except ix.NoProtocolError:
        assert taking_stream.name.partition(",")[0] in OTHER_PROTOCOLS
        return
    program.emulator.annotate(program.stream, memory, SIZE, write=False)
    del taken
    gc.collect()

    if forgetful:
        program.emulator.expect_reports(match="RAW")
    assert program.emulator.unexpected_reports() == []
    assert source.counts == source.due


def test_an_import_is_one_wait_beside_questions(program):
    """The stream waits for the event: nothing is recorded, and the host does not wait."""
    source = program.bytes_of(program.cuda.memory())
    with program.emulator.trace() as trace:
        ix.from_arrow(source, stream=program.stream)
    asked = {"cuEventRecord", "cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"}

    assert trace.names.count("cuStreamWaitEvent") == 1
    assert not asked & set(trace.names)


def test_an_import_of_what_is_ready_makes_no_call(program):
    """An import of ready memory, or with -1, makes no call, so captures are not affected."""
    chunk = Chunk(length=SIZE, buffers=(None, program.cuda.memory()))
    ready = DeviceArraySource(Field("C"), (chunk,), place=Place(CUDA))
    vouched = program.column("C", chunk)
    with program.emulator.trace() as trace:
        ix.from_arrow(ready, stream=program.stream)
        ix.from_arrow(vouched, stream=-1)

    assert trace.names == []


def test_an_event_that_is_gone_is_refused(program):
    """The producer destroyed the event before the release callback."""
    event = program.record_event(program.producer)
    word = ctypes.c_void_p(event.handle)
    event.destroy()
    chunk = Chunk(length=SIZE, buffers=(None, program.cuda.memory()))
    place = Place(CUDA, 0, ctypes.addressof(word))
    source = DeviceArraySource(Field("C"), (chunk,), place=place)
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_arrow(source)

    assert (caught.value.rule, source.counts) == ("ARROW-DEVICE-3", source.due)


WAYS = {
    "shared": {},
    "copied": {"copy": True},
    "moved": {"device": "cpu"},
    "moved to another": {"device": "cuda:1"},
    "with a mask": {"nulls": "separate"},
    "with no sync": {"stream": -1},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["array", "stream"])
def test_imports_leave_nothing_on_the_driver(program, way, kind):
    """A hundred imports of each kind leave no event and no memory, and release each struct once."""
    buffers = program.cuda.memory(value=255), program.cuda.memory()
    source = program.column("C", Chunk(length=SIZE, null_count=-1, buffers=buffers))
    source = source if kind == "array" else source.as_device_stream()

    def cycle(count):
        for _ in range(count):
            ix.from_arrow(source, **WAYS[way])
        program.cuda.synchronize_all()
        gc.collect()

    cycle(1)
    before = program.emulator.live()
    cycle(100)

    assert program.emulator.live() == before
    assert source.counts == source.due


def test_a_failure_gives_nothing_back_that_a_stream_still_reads(program, monkeypatch):
    """A copy that was started is waited for and freed first, and then its source."""
    source = program.bytes_of(program.cuda.memory())
    alive, free = [], CudaDriver.free

    def fail(*_):
        raise MemoryError

    def free_and_look(self, *memory):
        alive.append(source.alive)
        free(self, *memory)

    monkeypatch.setattr(arrow_columns.Column, "mask", fail)
    monkeypatch.setattr(CudaDriver, "free", free_and_look)
    with pytest.raises(MemoryError):
        ix.from_arrow(source, copy=True, nulls="separate", stream=program.stream)
    gc.collect()

    assert (alive, source.counts) == ([2], source.due)  # the column and its type
