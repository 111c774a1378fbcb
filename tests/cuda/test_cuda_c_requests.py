"""`interchange_view_with` and `interchange_view_done` order streams by event, in both directions.

Source: CUDA Array Interface, version 3, Synchronization; interchange/interchange.h.
"""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.gpu,
    pytest.mark.skipif(ix.core_name != "native", reason="the C API is the native core's"),
]

WAYS = {
    "record": lambda x: x,
    "Array": ix.from_cai,
    "DLPack": lambda x: Capsules(ix.from_cai(x)),
}


class Capsules:
    """A producer of capsules, which names no stream."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("times", [1, 3], ids=["first", "known"])
def test_work_of_the_producer_is_waited_for(c_api, cuda, produce, gate, way, times):
    """The write of the producer precedes the read on the stream of the request."""
    stream, ours = cuda.stream(), cuda.stream()
    producer, target = produce(stream), cuda.memory()
    for number in range(times):
        with gate(stream):
            producer.write(7 + number)
            view = c_api.fill_with(WAYS[way](producer), stream=ours, device_type=2)
            cuda.copy(target, view.data, ours)
        c_api.done(view, ours)  # for the producer that names no stream, the host waits
        c_api.release(view)

        assert cuda.read(target) == {7 + number}


@pytest.mark.parametrize("way", ["record", "Array"])
@pytest.mark.parametrize("times", [1, 3], ids=["first", "known"])
def test_the_producer_waits_for_the_consumer(c_api, cuda, produce, gate, way, times):
    """What the producer writes next does not overtake the read on a gated stream."""
    stream, ours = cuda.stream(), cuda.stream()
    producer, target = produce(stream), cuda.memory()
    for number in range(times):
        producer.write(7 + number)
        with c_api.viewed(WAYS[way](producer), stream=ours) as view, gate(ours):
            cuda.copy(target, view.data, ours)
            c_api.done(view, ours)
            producer.write(100)

        assert cuda.read(target) == {7 + number}


@pytest.mark.parametrize("way", WAYS)
def test_the_host_does_not_wait(c_api, cuda, produce, gate, way):
    """The view is filled while the stream of the producer is shut."""
    stream, ours = cuda.stream(), cuda.stream()
    producer = produce(stream)
    with gate(stream):
        producer.write(7)
        view = c_api.fill_with(WAYS[way](producer), stream=ours)
    c_api.release(view)


@pytest.mark.parametrize("missing", ["first", "last"])
@pytest.mark.parametrize("way", ["record", "Array"])
def test_a_missing_wait_is_reported(c_api, cuda, produce, emulator, way, missing):
    """Without either order, the detector reports a race: unordered, and without view_done."""
    stream, ours = cuda.stream(), cuda.stream()
    producer, target = produce(stream), cuda.memory()
    emulator.delay(stream if missing == "first" else ours, 0.005)
    producer.write(7)
    demands = "unordered" if missing == "first" else ours
    with c_api.viewed(WAYS[way](producer), stream=demands) as view:
        cuda.copy(target, view.data, ours)
        if missing == "first":
            c_api.done(view, ours)
    if missing == "last":
        producer.write(8)
    cuda.synchronize()

    assert emulator.reports()
    emulator.expect_reports()


def test_a_producer_without_a_stream_is_handed_back_by_the_host(c_api, cuda, exporter, record):
    """A record that names no stream: the host waits for the consumer's work."""
    ours, target = cuda.stream(), cuda.memory()
    ptr = cuda.memory(value=5)
    with c_api.viewed(exporter(**record(data=(ptr, False))), stream=ours) as view:
        cuda.copy(target, view.data, ours)
        c_api.done(view, ours)
        cuda.fill(ptr, 9, cuda.stream())

    assert cuda.read(target) == {5}


@pytest.mark.parametrize("stream", ["legacy", "per-thread", "default"])
def test_default_streams_are_named(c_api, cuda, produce, gate, stream):
    """The default streams of CUDA, by their names."""
    theirs, target = cuda.stream(), cuda.memory()
    producer = produce(theirs)
    ours = 2 if stream == "per-thread" else 1
    with gate(theirs):
        producer.write(7)
        with c_api.viewed(producer, stream=stream) as view:
            cuda.copy(target, view.data, ours)
            c_api.done(view, ours)
    producer.write(8)

    assert cuda.read(target) == {7}


def test_view_done_of_a_plain_view_orders_the_producer(c_api, cuda, produce, gate):
    """A view without a request: its consumer waited by itself, and hands the memory back."""
    stream = cuda.stream()
    producer, target = produce(stream), cuda.memory()
    producer.write(7)
    cuda.synchronize()
    ours = cuda.stream()
    with c_api.viewed(producer) as view, gate(ours):
        cuda.copy(target, view.data, ours)
        c_api.done(view, ours)
        producer.write(8)

    assert cuda.read(target) == {7}


def test_view_done_may_be_called_again(c_api, cuda, produce, gate):
    """Each call orders the work that is on the stream by then."""
    stream, ours = cuda.stream(), cuda.stream()
    producer, target = produce(stream), cuda.memory()
    producer.write(7)
    with c_api.viewed(ix.from_cai(producer), stream=ours) as view:
        c_api.done(view, ours)
        with gate(ours):
            cuda.copy(target, view.data, ours)
            c_api.done(view, ours)
            producer.write(8)

    assert cuda.read(target) == {7}


def test_a_copy_on_the_host_waits_for_the_producer(c_api, cuda, produce):
    """Device memory that is wanted on the host is copied there, once its work is done."""
    producer = produce(cuda.stream())
    producer.write(7)
    demands = {"device_type": 1, "flags": c_api.COPY_ALLOWED}
    for stream in (None, cuda.stream()):
        with c_api.viewed(producer, stream=stream, **demands) as view:
            assert (view.device_type, view.has_stream, view.flags) == (1, 0, c_api.IS_COPIED)


def test_an_unmet_demand_leaves_the_streams_as_they_were(c_api, cuda, produce, emulator):
    """A refusal does not wait: the capture of neither stream is disturbed, and no event is left."""
    producer, ours = produce(cuda.stream()), cuda.stream()
    producer.write(7)
    for way in WAYS.values():
        with pytest.raises(ix.ContractError, match="argument 'points'"):
            c_api.fill_with(way(producer), stream=ours, device_type=1, name="points")
    cuda.synchronize()
    assert not emulator.reports()
