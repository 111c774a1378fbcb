"""Order of producers and consumers: data are correct on every stream because of the waits."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

WAYS = {
    "from_cai, __dlpack__(stream)": lambda x, s: ix.from_cai(x).__dlpack__(stream=s),
    "from_cai(stream)": lambda x, s: ix.from_cai(x, stream=s),
    "asarray, __dlpack__(stream)": lambda x, s: ix.asarray(x).__dlpack__(stream=s),
    "to_cai(stream)": lambda x, s: ix.to_cai(x, stream=s),
    "to_capsule(stream)": lambda x, s: ix.to_capsule(x, stream=s),
    "view, __dlpack__(stream)": lambda x, s: ix.from_cai(x)[::2].__dlpack__(stream=s),
    "from_dlpack twice": lambda x, s: ix.from_dlpack(ix.from_dlpack(ix.from_cai(x)), stream=s),
    "capsule between": lambda x, s: ix.from_dlpack(ix.to_capsule(x, stream=1), stream=1).__dlpack__(
        stream=s
    ),
}
"""Functions that import memory for a stream."""
BUSY = ("idle", "busy on one stream", "busy on three streams")
CONSUMERS = ("same", "another", "legacy", "per-thread")


def make_busy(cuda, produce, busy):
    """Return a producer with no stream, with one, or with three and a fourth that it publishes."""
    if busy == "idle":
        return produce()
    if busy == "busy on one stream":
        return produce(cuda.stream())
    return produce(*(cuda.stream() for _ in range(3)), published=cuda.stream())


def pick(cuda, producer, consumer):
    """Return the consumer's stream."""
    if consumer == "same":
        return producer.published or cuda.stream()
    return {"another": cuda.stream(), "legacy": 1, "per-thread": 2}[consumer]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("busy", BUSY)
def test_a_consumer_sees_what_was_written_before(cuda, produce, gate, way, consumer, busy):
    """The consumer's copy runs after the producer's write, though the producer is held."""
    producer = make_busy(cuda, produce, busy)
    stream = pick(cuda, producer, consumer)
    target = cuda.pinned()
    held = [gate(producer.streams[-1])] if producer.streams else []

    producer.write(7)
    taken = WAYS[way](producer, stream)
    cuda.copy(target, producer.ptr, stream)
    before = ctypes.string_at(target, producer.size)
    for shut in held:
        shut.open()
    cuda.synchronize()

    assert set(ctypes.string_at(target, producer.size)) == ({7} if held else {0})
    assert set(before) == {0}
    del taken


def test_sync_false_waits_for_nothing(cuda, produce, gate):
    """A consumer that disables waiting reads the current contents."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    target = cuda.pinned()
    shut = gate(producer.published)
    cuda.fill(target, 5, stream)

    array = ix.from_cai(producer, sync=False)
    capsule = array.__dlpack__(stream=stream)
    cuda("cuStreamSynchronize", stream)
    still_shut = not shut.is_open
    shut.open()

    assert still_shut
    del capsule


def test_a_write_through_a_loan_is_seen_by_the_producer(cuda, produce):
    """At the end of `borrow` the producer's stream waits for the consumer's."""
    producer, stream = produce(cuda.stream()), cuda.stream()

    with ix.borrow(producer, stream=stream, writable=True) as array:
        shut = cuda.fill_behind_gate(array.ptr, 9, stream)

    assert cuda.read_around(shut, producer.ptr, producer.published) == ({0}, {9})
