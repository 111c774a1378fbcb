"""`borrow` orders the streams on entry and on exit, also if the body raises."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix
from interchange._protocols import cuda_array_interface as cai

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

WAITS = {"cuStreamWaitEvent", "cuStreamSynchronize"}
STREAMS = ("same", "another", "legacy", "per-thread")


def pick(cuda, producer, consumer):
    """Return the consumer's stream."""
    if consumer == "same":
        return producer.published
    return {"another": cuda.stream(), "legacy": 1, "per-thread": 2}[consumer]


@pytest.mark.parametrize("consumer", STREAMS)
@pytest.mark.parametrize("busy_on", [1, 3])
def test_the_body_sees_what_the_producer_wrote(cuda, produce, gate, consumer, busy_on):
    """On entry the stream waits for the producer's held stream."""
    producer = produce(*(cuda.stream() for _ in range(busy_on)), published=cuda.stream())
    stream = pick(cuda, producer, consumer)
    shut = gate(producer.streams[0])
    producer.write(7)

    with ix.borrow(producer, stream=stream) as array:
        assert cuda.read_around(shut, array.ptr, stream) == ({0}, {7})


@pytest.mark.parametrize("consumer", STREAMS)
@pytest.mark.parametrize("raises", [False, True], ids=["returns", "raises"])
def test_the_producer_sees_what_the_body_wrote(cuda, produce, gate, consumer, raises):
    """On exit the producer's stream waits for the consumer's, also if the body raises."""
    producer = produce(cuda.stream())
    stream = pick(cuda, producer, consumer)
    shut = []

    def body():
        with ix.borrow(producer, stream=stream, writable=True) as array:
            shut.append(gate(stream))
            cuda.fill(array.ptr, 9, stream)
            if raises:
                raise RuntimeError("the body's own")

    if raises:
        with pytest.raises(RuntimeError, match="the body's own"):
            body()
    else:
        body()

    assert cuda.read_around(shut[0], producer.ptr, producer.published) == ({0}, {9})


def test_where_no_stream_is_named_the_host_waits(cuda, produce):
    """An idle producer may use any stream afterwards, so the host waits for pending work."""
    producer, stream = produce(), cuda.stream()

    with ix.borrow(producer, stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 9, stream)

    assert cuda("cuStreamQuery", stream) == []
    assert cuda.read(producer.ptr) == {9}


def test_back_names_the_stream_that_waits(cuda, produce):
    """With `back` the host does not wait for an idle producer."""
    producer, stream, own = produce(), cuda.stream(), cuda.stream()

    with ix.borrow(producer, stream=stream, writable=True, back=own) as array:
        shut = cuda.fill_behind_gate(array.ptr, 9, stream)

    assert cuda.read_around(shut, producer.ptr, own) == ({0}, {9})


def test_several_arrays_are_borrowed_at_once(cuda, produce):
    """One call returns a tuple, and the stream of every producer waits at the end."""
    producers = [produce(cuda.stream()) for _ in range(3)]
    stream = cuda.stream()
    for value, producer in enumerate(producers):
        producer.write(value + 1)

    with ix.borrow(*producers, stream=stream) as arrays:
        targets = [cuda.pinned() for _ in arrays]
        for array, target in zip(arrays, targets, strict=True):
            cuda.copy(target, array.ptr, stream)
    for producer in producers:
        producer.write(9)
    cuda.synchronize()

    assert [ctypes.string_at(target, 1) for target in targets] == [b"\1", b"\2", b"\3"]


def test_loans_nest(cuda, produce):
    """A borrowed Array can be borrowed again: the inner stream is ordered in between."""
    producer, outer, inner = produce(cuda.stream()), cuda.stream(), cuda.stream()
    target = cuda.pinned()
    producer.write(1)

    with ix.borrow(producer, stream=outer, writable=True) as array:
        cuda.fill(array.ptr, 2, outer)
        with ix.borrow(array, stream=inner, writable=True) as again:
            cuda.fill(again.ptr, 3, inner)
        cuda.copy(target, array.ptr, outer)
    producer.write(4)

    assert cuda.read(producer.ptr) == {4}
    assert set(ctypes.string_at(target, producer.size)) == {3}


def test_what_was_taken_is_handed_back_when_the_next_cannot_be(cuda, produce):
    """If an import fails on entry, the earlier producers' streams still wait."""
    producer, stream = produce(cuda.stream()), cuda.stream()

    with (
        pytest.raises(ix.NoProtocolError),
        ix.borrow(producer, object(), stream=stream),
    ):
        pytest.fail("the body ran")
    producer.write(5)

    assert cuda.read(producer.ptr) == {5}


def test_the_array_is_ready_on_the_stream(cuda, produce):
    """Within the body, a transfer to the same stream needs no further wait."""
    producer, stream = produce(cuda.stream()), cuda.stream()

    with ix.borrow(producer, stream=stream) as array:
        assert array.__cuda_array_interface__["stream"] == stream


def test_a_loan_is_read_only_unless_told(cuda, produce):
    """With `writable=False` the Array is read-only."""
    producer, stream = produce(cuda.stream()), cuda.stream()

    with ix.borrow(producer, stream=stream) as array:
        reading = array.readonly
    with ix.borrow(producer, stream=stream, writable=True) as array:
        writing = array.readonly

    assert (reading, writing) == (True, False)


def test_no_sync_orders_nothing(cuda, produce, gate):
    """With -1 the caller is responsible for the order in both directions."""
    producer = produce(cuda.stream())
    shut = gate(producer.published)

    with ix.borrow(producer, stream=ix.NO_SYNC) as array:
        shape = array.shape
    shut.open()

    assert shape == (producer.size,)


@pytest.mark.parametrize("way", ["the switch", "sync=False"])
@pytest.mark.parametrize("back", [False, True], ids=["the host waits", "a stream waits"])
def test_where_streams_do_not_count_they_are_as_if_not_named(
    emulator, cuda, produce, monkeypatch, way, back
):
    """No stream waits on entry; on exit the host waits, unless `back` names a stream."""
    producer, stream, own = produce(cuda.stream()), cuda.stream(), cuda.stream()
    source = producer
    if way == "the switch":
        monkeypatch.setattr(cai, "SYNCS", False)
    else:
        source = ix.from_cai(producer, sync=False)

    with emulator.trace() as entry:
        loan = ix.borrow(source, stream=stream, writable=True, back=own if back else None)
        array = loan.__enter__()
    cuda.fill(array.ptr, 9, stream)
    with emulator.trace() as way_back:
        loan.__exit__(None, None, None)

    def waiting(trace):
        calls = [call for call in trace.calls if call.name in WAITS]
        return [(call.name, call.args["stream"]) for call in calls]

    assert waiting(entry) == ([("cuStreamWaitEvent", stream)] if back else [])
    assert waiting(way_back) == [
        ("cuStreamWaitEvent", own) if back else ("cuStreamSynchronize", stream)
    ]


def test_accepts_arrays_borrows(cuda, produce):
    """The decorator returns borrowed arguments when the function returns."""
    producer, out = produce(cuda.stream()), produce(cuda.stream())
    stream = cuda.stream()

    @ix.accepts_arrays("x", "out", stream="stream", borrow=True, writable=["out"])
    def twice(x, out, stream):
        cuda.copy(out.ptr, x.ptr, stream)
        return x.readonly, out.readonly

    shut = producer.write_behind_gate(6)
    flags = twice(producer, out=out, stream=stream)

    assert flags == (True, False)
    assert cuda.read_around(shut, out.ptr, out.published) == ({0}, {6})
