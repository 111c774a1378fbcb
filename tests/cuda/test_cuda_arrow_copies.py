"""Columns of Arrow that are filled, joined, or written to memory of the caller, on a device."""

from __future__ import annotations

import ctypes
import struct

import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import Chunk, DeviceArraySource, Field, Place

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096  # elements
CUDA = 2


def column_at(*memories, event=None, device_type=CUDA, text="C", bitmap=None, nulls=0):
    """Return a producer of a column with a chunk of `SIZE` bytes at each address."""
    count = SIZE // struct.calcsize({"C": "B", "i": "i"}[text])
    chunks = tuple(Chunk(length=count, buffers=(bitmap, ptr), null_count=nulls) for ptr in memories)
    place = Place(device_type, 0, None if event is None else event.address)
    source = DeviceArraySource(Field(text), chunks[:1], place=place)
    if len(chunks) == 1:
        return source
    source = source.as_device_stream()
    source.chunks = chunks
    return source


def test_a_column_is_written_to_an_array_of_the_device(cuda, record_event):
    """The copy waits for the event, and the user of the Array for the copy; the host does not."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    out = ix.asarray(bytearray(SIZE)).to_device("cuda:0")
    cuda("cuCtxSynchronize")
    shut = cuda.fill_behind_gate(memory, 7, producer)

    found = ix.from_arrow(column_at(memory, event=record_event(producer)), out=out, stream=stream)

    assert found is out
    assert cuda.read_around(shut, out.ptr, stream) == ({0}, {7})


def test_several_chunks_are_written_to_the_host(cuda):
    """They are copied one after the other, and the host waits."""
    memories = [cuda.memory(value=3), cuda.memory(value=5)]
    out = bytearray(2 * SIZE)

    ix.from_arrow(column_at(*memories), out=out)

    assert out == bytes([3]) * SIZE + bytes([5]) * SIZE


def test_several_chunks_are_written_to_a_device(cuda):
    """Without a copy in host memory."""
    memories = [cuda.memory(value=3), cuda.memory(value=5)]
    out = ix.asarray(bytearray(2 * SIZE)).to_device("cuda:0")

    found = ix.from_arrow(column_at(*memories), out=out)

    assert bytes(found.to_device("cpu").tolist()) == bytes([3]) * SIZE + bytes([5]) * SIZE


def test_memory_of_another_library_is_complete(cuda, record_event):
    """The host waits, since the owner of the memory does not know of the copy."""
    producer, memory = cuda.stream(), cuda.memory(value=1)
    target = cuda.memory()
    record = {"shape": (SIZE,), "typestr": "|u1", "data": (target, False), "version": 2}
    theirs = type("Theirs", (), {"__cuda_array_interface__": record})()

    found = ix.from_arrow(column_at(memory, event=record_event(producer)), out=theirs)

    assert found.ptr == target
    host = cuda.pinned()
    cuda("cuMemcpy", host, target, SIZE)
    assert set(ctypes.string_at(host, SIZE)) == {1}


@pytest.mark.parametrize("out", [False, True])
def test_nulls_of_a_device_column_are_filled(cuda, out):
    """The bitmap and the values are read by the host, and the result is on the device."""
    bitmap, memory = cuda.memory(value=0b11110111), cuda.memory(value=1)
    source = column_at(memory, text="i", bitmap=bitmap, nulls=-1)
    given = ix.asarray(memoryview(bytearray(SIZE)).cast("i")).to_device("cuda:0") if out else None

    found = ix.from_arrow(source, nulls=-9, out=given)

    assert found.device == "cuda:0"
    assert given is None or found is given
    assert found.to_device("cpu").tolist()[:9] == [0x01010101] * 3 + [-9] + [0x01010101] * 5


def test_a_count_of_no_nulls_is_trusted(cuda):
    """The bitmap is not read."""
    source = column_at(cuda.memory(value=2), bitmap=1, nulls=0)

    assert ix.from_arrow(source, nulls=0).ptr == source.chunks[0].buffers[1]


def test_chunks_are_joined_if_needed(cuda):
    """One chunk of a device is shared, and several are joined on it."""
    memories = [cuda.memory(value=3), cuda.memory(value=5)]
    one, two = column_at(memories[0]), column_at(*memories)

    shared, joined = (ix.from_arrow(source, copy="if_needed") for source in (one, two))

    assert shared.ptr == memories[0]
    assert (joined.device, joined.shape, joined.readonly) == ("cuda:0", (2 * SIZE,), False)
    assert set(joined.to_device("cpu").tolist()[SIZE:]) == {5}
