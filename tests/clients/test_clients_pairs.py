"""Every client passes memory with pending work to every client, through interchange.

A producer's stream is slow, and its write is pending at the transfer.  The consumer reads on its
own stream; it reads the right bytes, and the detector reports nothing.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

VALUE = 7
SLOW = 0.005  # before each operation of a producer's stream [seconds]


class World(NamedTuple):
    """The clients, and the emulated driver."""

    emulator: Any
    bindings: Any
    core: Any
    numba: Any

    def core_stream(self, handle):
        """Return a stream of cuda.core for a handle."""
        return self.core.Stream.from_handle(handle)

    def numba_stream(self, handle):
        """Return a stream of Numba for a handle."""
        return self.numba.external_stream(handle)


class Made(NamedTuple):
    """The result of a producer: the object, its memory, and the stream on which it writes."""

    x: Any
    ptr: int
    stream: int
    is_tracked: bool = True  # otherwise the client does not know its stream, and the user orders it
    keep: Any = None


@pytest.fixture
def world(emulator, bindings, cuda_core, numba):
    """Return the clients."""
    return World(emulator, bindings, cuda_core, numba)


# ---------------------------------------------------------------- producers


def bindings_pointer(world):
    """Memory from an address, with a stream, described by `from_pointer`."""
    cuda, stream = world.bindings, world.bindings.stream()
    ptr = cuda.memory()
    world.emulator.delay(stream, SLOW)
    cuda.fill(ptr, VALUE, stream)
    array = ix.from_pointer(ptr, (cuda.size,), "uint8", device="cuda:0", stream=stream)
    return Made(array, ptr, int(stream))


def core_buffer(world):
    """A Buffer of cuda.core, filled on a Stream that the Buffer does not know."""
    stream = world.core.device.create_stream()
    buffer = world.core.device.allocate(world.bindings.size, stream=stream)
    stream.sync()  # the allocation, which is also enqueued
    world.emulator.delay(stream, SLOW)
    buffer.fill(VALUE, stream=stream)
    return Made(buffer, int(buffer.handle), int(stream.handle), is_tracked=False, keep=stream)


def core_view(world):
    """A StridedMemoryView of a Buffer, which does not know the Stream either."""
    made = core_buffer(world)
    view = world.core.View.from_buffer(made.x, (world.bindings.size,), dtype=np.dtype("u1"))
    return made._replace(x=view)


def numba_kernel(world):
    """A device array of Numba with a stream, and a kernel on it."""
    stream = world.numba.stream()
    array = world.numba.device_array(world.bindings.size, "u1", stream=stream)
    ptr = array.__cuda_array_interface__["data"][0]
    world.emulator.delay(stream, SLOW)
    world.emulator.fill(stream, ptr, world.bindings.size, VALUE, "kernel")
    return Made(array, ptr, int(stream))


def numba_upload(world):
    """An array that ``to_device`` of Numba uploads on a stream."""
    stream = world.numba.stream()
    world.emulator.delay(stream, SLOW)
    host = np.full(world.bindings.size, VALUE, "u1")
    array = world.numba.to_device(host, stream=stream)
    return Made(array, array.__cuda_array_interface__["data"][0], int(stream))


PRODUCERS = {
    "cuda.bindings": bindings_pointer,
    "cuda.core Buffer": core_buffer,
    "cuda.core view": core_view,
    "numba-cuda kernel": numba_kernel,
    "numba-cuda upload": numba_upload,
}


# ---------------------------------------------------------------- consumers


def bindings_dlpack(world, x, stream):
    """A capsule for a stream, and a copy on it."""
    array = ix.asarray(x) if not hasattr(x, "__dlpack__") else ix.from_dlpack(x, stream=stream)
    capsule = array.__dlpack__(stream=stream, max_version=(1, 1))
    return ix.from_dlpack(capsule, stream=stream), lambda ptr: world.bindings.read_on(ptr, stream)


def bindings_record(world, x, stream):
    """A record for a stream, and a copy on the stream that it names."""
    view = ix.to_cai(x, stream=stream)
    published = view.__cuda_array_interface__["stream"]
    return view, lambda ptr: world.bindings.read_on(ptr, published)


def read_by_core(world, ptr, stream):
    """Copy memory to the host with cuda.core, on a Stream."""
    nbytes, lane = world.bindings.size, world.core_stream(stream)
    target = world.core.LegacyPinnedMemoryResource().allocate(nbytes, stream=lane)
    world.core.Buffer.from_handle(ptr, nbytes).copy_to(target, stream=lane)
    lane.sync()
    return ctypes.string_at(int(target.handle), nbytes)


def core_dlpack(world, x, stream):
    """A view of cuda.core by DLPack, for a stream."""
    array = ix.asarray(x) if not hasattr(x, "__dlpack__") else ix.from_dlpack(x, stream=stream)
    view = world.core.View.from_dlpack(array, stream_ptr=stream)
    return view, lambda _: read_by_core(world, view.ptr, stream)


def core_record(world, x, stream):
    """A view of cuda.core by the record, for a stream."""
    array = ix.asarray(x) if not hasattr(x, "__dlpack__") else ix.from_dlpack(x, stream=stream)
    view = world.core.View.from_cuda_array_interface(array, stream_ptr=stream)
    return view, lambda _: read_by_core(world, view.ptr, stream)


def core_convert(world, x, stream):
    """A view of cuda.core that `convert` makes."""
    view = ix.convert(x, "cuda.core", stream=world.core_stream(stream))
    return view, lambda _: read_by_core(world, view.ptr, stream)


def numba_unsynced(world, x, stream):
    """An array of Numba with the stream that `to_cai` published: the host does not wait."""
    array = world.numba.as_cuda_array(ix.to_cai(x, stream=stream), sync=False)
    return array, lambda _: array.copy_to_host().tobytes()


def numba_convert(world, x, stream):
    """An array of Numba that `convert` makes for a stream."""
    array = ix.convert(x, "numba", stream=world.numba_stream(stream))
    return array, lambda _: array.copy_to_host().tobytes()


def numba_synced(world, x, stream):
    """An array of Numba: the host waits, and any stream may read."""
    array = world.numba.as_cuda_array(ix.to_cai(x, stream=stream))
    other = world.numba.external_stream(int(world.bindings.stream()))
    return array, lambda _: array.copy_to_host(stream=other).tobytes()


CONSUMERS = {
    "cuda.bindings by DLPack": bindings_dlpack,
    "cuda.bindings by record": bindings_record,
    "cuda.core by DLPack": core_dlpack,
    "cuda.core by record": core_record,
    "cuda.core by convert": core_convert,
    "numba-cuda": numba_unsynced,
    "numba-cuda by convert": numba_convert,
    "numba-cuda with sync": numba_synced,
}
BY_EVENT = [name for name in CONSUMERS if name != "numba-cuda with sync"]
STREAMS = ("another", "same", "legacy", "per-thread")


def pick(world, made, consumer):
    """Return the consumer's stream."""
    if consumer == "another":
        return int(world.bindings.stream())
    return {"same": made.stream, "legacy": 1, "per-thread": 2}[consumer]


def order_by_hand(world, made, stream):
    """Order the streams as users of cuda.core must: a Buffer and a view have no stream."""
    if not made.is_tracked and stream != made.stream:
        world.core_stream(stream).wait(world.core_stream(made.stream))


# ---------------------------------------------------------------- the claims


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_consumer_sees_what_a_busy_producer_wrote(world, producer, consumer, stream):
    """The bytes are right on every stream, at the producer's address, and no race is reported."""
    made = PRODUCERS[producer](world)
    handle = pick(world, made, stream)

    order_by_hand(world, made, handle)
    taken, read = CONSUMERS[consumer](world, made.x, handle)
    found = read(made.ptr)

    assert set(found) == {VALUE}
    assert len(found) == world.bindings.size
    del taken


@pytest.mark.parametrize("consumer", BY_EVENT)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_without_the_wait_it_is_a_race(world, producer, consumer):
    """Without the waits, the detector reports each of these transfers."""
    made = PRODUCERS[producer](world)
    handle = pick(world, made, "another")

    with world.emulator.without_waits():
        order_by_hand(world, made, handle)
        taken, read = CONSUMERS[consumer](world, made.x, handle)
    read(made.ptr)

    world.emulator.expect_reports(match=r"\(RAW\)")
    del taken


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("producer", ["cuda.core Buffer", "cuda.core view"])
def test_what_knows_of_no_stream_is_not_waited_for(world, producer, consumer):
    """cuda.core tracks no work, and ``__dlpack__(stream=)`` inserts no wait: a race."""
    made = PRODUCERS[producer](world)
    handle = pick(world, made, "another")

    taken, read = CONSUMERS[consumer](world, made.x, handle)
    read(made.ptr)

    world.emulator.expect_reports(match=r"\(RAW\)")
    del taken


@pytest.mark.parametrize("producer", ["cuda.core Buffer", "cuda.core view"])
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_loan_whose_producer_is_named_needs_no_order_by_hand(world, producer, consumer):
    """``from_pointer(stream=)`` states the stream of pending work for memory of cuda.core."""
    made = PRODUCERS[producer](world)
    handle = pick(world, made, "another")
    stream = world.core_stream(made.stream)
    array = ix.from_pointer(
        made.ptr, (world.bindings.size,), "uint8", device="cuda:0", owner=made.x, stream=stream
    )

    taken, read = CONSUMERS[consumer](world, array, handle)
    found = read(made.ptr)

    assert set(found) == {VALUE}
    del taken
