"""All examples of the CUDA Array Interface's specification with two libraries.

Source: CUDA Array Interface, version 3.  interchange replaces the fictitious consumer of the
text, and `Emulator.fill` and `Emulator.annotate` replace kernels.
"""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

SLOW = 0.005  # before each operation of a stream [seconds]


def address(x):
    """Return the address in an object's record."""
    return x.__cuda_array_interface__["data"][0]


# ---------------------------------------------------------------- Synchronization


def test_producers_and_a_consumer_that_launches_a_kernel(numba, bindings, emulator):
    """``add[1, 32](a, b, out)`` has three producers, and Numba as the consumer."""
    streams = [bindings.stream() for _ in range(3)]
    memory = [bindings.memory() for _ in streams]
    for ptr, stream in zip(memory, streams, strict=True):
        emulator.delay(stream, SLOW)
        bindings.fill(ptr, 7, stream)
    a, b, out = (
        numba.as_cuda_array(
            ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)
        )
        for ptr, stream in zip(memory, streams, strict=True)
    )

    add = numba.stream()
    for x, writes in ((a, False), (b, False), (out, True)):
        emulator.annotate(add, address(x), x.size, write=writes, what="add")
    bindings.synchronize()

    assert emulator.reports() == []


def test_an_array_of_a_stream_and_a_kernel_on_another(numba, bindings, emulator):
    """A launch on an array's non-default stream, with the event; interchange imports it."""
    array_stream, kernel_stream = numba.stream(), numba.stream()
    count = 16384
    x = numba.device_array(count, dtype=np.uint8, stream=array_stream)
    emulator.delay(kernel_stream, SLOW)

    emulator.fill(kernel_stream, address(x), count, 7, "initialize_array")
    event = numba.event()
    event.record(kernel_stream)
    event.wait(array_stream)
    consumed = ix.from_cai(x)

    consumer = bindings.stream()
    ready = ix.from_dlpack(consumed, stream=consumer)
    assert set(bindings.read_on(ready.ptr, consumer, count)) == {7}


def test_the_same_without_the_event_is_a_race(numba, bindings, emulator):
    """As the specification warns, the consumer works while the kernel still runs."""
    array_stream, kernel_stream = numba.stream(), numba.stream()
    x = numba.device_array(16384, dtype=np.uint8, stream=array_stream)
    emulator.delay(kernel_stream, SLOW)

    emulator.fill(kernel_stream, address(x), 16384, 7, "initialize_array")
    consumer = bindings.stream()
    ready = ix.from_dlpack(ix.from_cai(x), stream=consumer)
    bindings.read_on(ready.ptr, consumer, 16384)

    emulator.expect_reports(match=r"initialize_array")


class Busy:
    """A producer with work on three streams, which publishes a fourth that waits for them."""

    def __init__(self, bindings, *, waits=True):
        self.bindings = bindings
        self.streams = [bindings.stream() for _ in range(3)]
        self.published = bindings.stream()
        self.waits = waits
        self.ptr = bindings.memory()
        self.part = bindings.size // 3

    def write(self, value):
        """Enqueue a value on the three streams, each for a third of the memory."""
        ends = [*range(0, self.bindings.size - self.part, self.part), self.bindings.size]
        for stream, start, end in zip(self.streams, ends, ends[1:], strict=False):
            self.bindings.fill(self.ptr + start, value, stream, end - start)

    @property
    def __cuda_array_interface__(self):
        for stream in self.streams if self.waits else ():
            event = self.bindings("cuEventCreate", 2)
            self.bindings("cuEventRecord", event, stream)
            self.bindings("cuStreamWaitEvent", self.published, event, 0)
            self.bindings("cuEventDestroy", event)
        return {
            "shape": (self.part * 3,),
            "typestr": "|u1",
            "data": (self.ptr, False),
            "version": 3,
            "stream": int(self.published),
        }


@pytest.mark.parametrize("consumer", ["another", "legacy", "per-thread", "the published"])
def test_three_streams_and_a_fourth_that_is_published(bindings, emulator, consumer):
    """Streams 7, 9 and 15 have events for stream 3: waiting for stream 3 is sufficient."""
    producer = Busy(bindings)
    stream = {"another": int(bindings.stream()), "legacy": 1, "per-thread": 2}.get(
        consumer, int(producer.published)
    )
    for busy in producer.streams:
        emulator.delay(busy, SLOW)

    producer.write(7)
    ready = ix.from_dlpack(ix.from_cai(producer), stream=stream)

    assert set(bindings.read_on(ready.ptr, stream, ready.nbytes)) == {7}


def test_work_that_is_enqueued_after_the_import_counts(bindings, emulator):
    """The attribute is read again at the export, and publishes the stream of pending work."""
    producer = Busy(bindings)
    array = ix.from_cai(producer)
    for busy in producer.streams:
        emulator.delay(busy, SLOW)

    producer.write(9)
    stream = int(bindings.stream())
    ready = ix.from_dlpack(array, stream=stream)

    assert set(bindings.read_on(ready.ptr, stream, ready.nbytes)) == {9}


def test_a_producer_that_leaves_out_the_events_races(bindings, emulator):
    """Synchronisation on stream 3 is not sufficient, and no consumer can correct that."""
    producer = Busy(bindings, waits=False)
    for busy in producer.streams:
        emulator.delay(busy, SLOW)

    producer.write(7)
    stream = int(bindings.stream())
    ready = ix.from_dlpack(ix.from_cai(producer), stream=stream)
    bindings.read_on(ready.ptr, stream, ready.nbytes)

    emulator.expect_reports(match=r"\(RAW\)")


def test_a_consumer_that_enqueues_in_the_provided_stream(numba, bindings, emulator):
    """It may return at once: the producer's next kernel runs later in the same stream."""
    stream = numba.stream()
    x = numba.to_device(np.full(bindings.size, 7, "u1"), stream=stream)
    emulator.delay(stream, SLOW)
    array = ix.from_cai(x)
    target = bindings.pinned()

    published = array.__cuda_array_interface__["stream"]
    bindings("cuMemcpyAsync", target, array.ptr, bindings.size, published)
    emulator.fill(stream, address(x), bindings.size, 9, "the producer's next kernel")
    bindings.synchronize()

    assert emulator.read(target, bindings.size) == bytes([7]) * bindings.size


def test_a_consumer_that_works_elsewhere_places_a_wait_in_the_provided_stream(
    numba, bindings, emulator
):
    """Alternatively `borrow` makes the provided stream wait on exit."""
    stream, elsewhere = numba.stream(), bindings.stream()
    x = numba.to_device(np.full(bindings.size, 7, "u1"), stream=stream)
    emulator.delay(elsewhere, SLOW)
    target = bindings.pinned()

    with ix.borrow(x, stream=elsewhere) as array:
        bindings("cuMemcpyAsync", target, array.ptr, bindings.size, elsewhere)
    emulator.fill(stream, address(x), bindings.size, 9, "the producer's next kernel")
    bindings.synchronize()

    assert emulator.read(target, bindings.size) == bytes([7]) * bindings.size


def test_a_consumer_that_forgets_the_wait_races(numba, bindings, emulator):
    """Without `borrow`, the producer overwrites memory that is still read."""
    stream, elsewhere = numba.stream(), bindings.stream()
    x = numba.to_device(np.full(bindings.size, 7, "u1"), stream=stream)
    target = bindings.pinned()

    ready = ix.from_dlpack(ix.from_cai(x), stream=elsewhere)
    bindings("cuMemcpyAsync", target, ready.ptr, bindings.size, elsewhere)
    emulator.fill(stream, address(x), bindings.size, 9, "the producer's next kernel")
    bindings.synchronize()

    emulator.expect_reports(match=r"\(WAR\)")


@pytest.mark.parametrize("way", ["interchange", "Numba"])
def test_a_user_may_have_the_stream_ignored(numba, bindings, emulator, monkeypatch, way):
    """With ``sync=False`` and Numba's option no wait is made, and the user orders the streams."""
    stream = bindings.stream()
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    bindings("cuStreamSynchronize", stream)  # ordered by the user
    made = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)
    monkeypatch.setattr("numba.cuda.core.config.CUDA_ARRAY_INTERFACE_SYNC", 0)
    other = int(bindings.stream())

    with emulator.trace() as trace:
        if way == "Numba":
            taken = numba.as_cuda_array(made)
        else:
            taken = ix.from_dlpack(ix.from_cai(ix.to_cai(made), sync=False), stream=other)

    assert {"cuStreamSynchronize", "cuStreamWaitEvent"} & set(trace.names) == set()
    assert set(bindings.read_on(ptr, other)) == {7}
    del taken


# ---------------------------------------------------------------- Lifetime management


def test_reading_the_attribute_keeps_nothing_alive(bindings, make_owner):
    """The record has no field for an owner."""
    owner = make_owner()
    gone = weakref.ref(owner)
    array = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0", owner=owner)
    record = ix.to_cai(array).__cuda_array_interface__

    del owner, array

    assert (gone(), record["shape"]) == (None, (4,))


@pytest.mark.parametrize("way", ["as_cuda_array", "owner=", "no owner"])
def test_what_numba_makes_of_ours_holds_it_as_the_text_says(numba, bindings, make_owner, way):
    """``as_cuda_array`` keeps the object alive; ``from_cuda_array_interface`` keeps ``owner=``."""
    owner = make_owner()
    gone = weakref.ref(owner)
    ours = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0", owner=owner)
    view = ix.to_cai(ours)
    if way == "as_cuda_array":
        x = numba.as_cuda_array(view)
    else:
        named = view if way == "owner=" else None
        x = numba.from_cuda_array_interface(view.__cuda_array_interface__, owner=named)
        del named

    del owner, ours, view
    alive = gone() is not None
    del x

    assert (alive, gone()) == (way != "no owner", None)


@pytest.mark.parametrize("way", ["the object", "owner=", "no owner"])
def test_what_we_make_of_numbas_holds_it_alike(numba, way):
    """`from_cai` keeps an object alive, and ``owner=`` for a dict."""
    x = numba.device_array(4, "f4")
    gone = weakref.ref(x)
    if way == "the object":
        array = ix.from_cai(x)
    else:
        named = x if way == "owner=" else None
        array = ix.from_cai(x.__cuda_array_interface__, owner=named)
        del named

    del x
    alive = gone() is not None
    del array

    assert (alive, gone()) == (way != "no owner", None)


def test_a_stream_lives_as_long_as_the_object_that_exports_it(numba, bindings):
    """A view keeps the stream of its record alive, also a stream of Numba."""
    stream = numba.stream()
    gone = weakref.ref(stream)
    made = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0")
    view = ix.to_cai(made, stream=stream)

    del stream
    alive = gone() is not None
    del view

    assert (alive, gone()) == (True, None)


# ---------------------------------------------------------------- Pointer attributes


def test_the_driver_is_asked_what_an_address_is(numba):
    """``cuPointerGetAttribute`` describes device, managed and mapped memory of Numba."""
    found = [
        str(ix.from_cai(make(4, "f4")).device)
        for make in (numba.device_array, numba.managed_array, numba.mapped_array)
    ]

    assert found == ["cuda:0", "cuda_managed:0", "cuda_host:0"]
