"""CUDA graphs: captures are not affected, and forbidden operations are refused before the call."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


def refusal(call):
    """Return the rule id of the StreamError that a call raises."""
    with pytest.raises(ix.StreamError) as caught:
        call()
    return caught.value.rule


def export(array, stream):
    """Export an Array to a stream."""
    return array.__dlpack__(stream=stream, max_version=(1, 1))


@pytest.mark.parametrize("reason", ["its own stream", "no sync", "idle"])
def test_memory_that_needs_no_wait_is_taken_under_capture(cuda, produce, reason):
    """The streams are equal; -1 makes no call, whatever the stream is (P69); no work is pending."""
    own, stream = cuda.stream(), cuda.stream()
    producer = produce() if reason == "idle" else produce(own)
    consumer = {"its own stream": own, "no sync": -1}.get(reason, stream)
    with cuda.capture(own if reason == "its own stream" else stream):
        assert export(ix.from_cai(producer), consumer) is not None


def test_a_capture_does_not_wait_for_what_is_outside_it(cuda, produce):
    """The wait is refused before the driver is called, which would invalidate the capture."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    with cuda.capture(stream):
        array = ix.from_cai(producer)
        rule = refusal(lambda: export(array, stream))

    assert rule == "DLP-STREAM-8"


@pytest.mark.parametrize("how", ["producer", "consumer"])
def test_the_legacy_stream_is_left_alone_while_a_blocking_stream_captures(cuda, produce, how):
    """The legacy stream is neither recorded nor made to wait."""
    blocking, other = cuda.stream(blocking=True), cuda.stream()
    producer = produce(published=1) if how == "producer" else produce(other)
    with cuda.capture(blocking):
        array = ix.from_cai(producer)
        rule = refusal(lambda: export(array, other if how == "producer" else 1))

    assert rule == "DLP-STREAM-8"


def test_the_host_does_not_wait_for_a_capturing_stream(cuda, produce):
    """Version 2 would require the host to wait."""
    producer = produce(cuda.stream())
    view = ix.to_cai(ix.from_cai(producer), version=2)
    with cuda.capture(producer.published):
        rule = refusal(lambda: view.__cuda_array_interface__)

    assert rule == "DLP-STREAM-8"


def test_streams_of_one_capture_are_ordered(cuda, produce):
    """Events fork and join streams within a graph."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    with cuda.capture(producer.published):
        with ix.borrow(producer, stream=stream, writable=True) as array:
            cuda.fill(array.ptr, 3, stream)
        cuda.fill(producer.ptr, 4, producer.published)


@pytest.mark.parametrize("consumer", ["legacy", "per-thread", "another"])
def test_a_stream_is_not_drawn_into_a_capture_unasked(cuda, produce, consumer):
    """Captured work has not run, and a stream that joins the capture must be joined again."""
    producer = produce(cuda.stream())
    stream = {"legacy": 1, "per-thread": 2, "another": cuda.stream()}[consumer]
    export(ix.from_cai(producer), stream)
    with cuda.capture(producer.published):
        array = ix.from_cai(producer)
        rule = refusal(lambda: export(array, stream))

    assert rule == "DLP-STREAM-8"


def test_an_order_before_the_capture_serves_it(cuda, produce):
    """The streams are ordered before the capture, and -1 is passed within it."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    producer.write(7)
    array = ix.from_cai(producer, stream=stream)
    with cuda.capture(stream):
        assert export(array, stream) is not None

    assert cuda.read(producer.ptr) == {7}


@pytest.mark.parametrize("way", ["copy", "to_device", "dlpack"])
def test_a_copy_is_refused_while_its_stream_captures(cuda, produce, way):
    """A copy needs new memory, which captures forbid: no call that could invalidate it is made."""
    producer = produce(cuda.stream())
    array = ix.from_cai(producer)
    ways = {
        "copy": array.copy,
        "to_device": lambda: array.to_device("cpu"),
        "dlpack": lambda: array.__dlpack__(stream=producer.published, copy=True),
    }
    with cuda.capture(producer.published):
        rule = refusal(ways[way])

    assert rule == "DLP-STREAM-8"


def test_memory_of_ours_may_die_during_a_capture(cuda):
    """Captures forbid freeing memory, so it is done in a way that does not affect them."""
    stream = cuda.stream()
    array = ix.asarray(bytes(64)).to_device("cuda:0", stream=stream)
    cuda.synchronize()
    with cuda.capture(stream):
        del array


class Copying:
    """A DLPack producer that copies on the consumer's stream without setting the copy flag."""

    def __init__(self, cuda, array):
        self.cuda, self.array, self.spare = cuda, array, cuda.memory()
        self.asked = 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        del dl_device
        self.asked += 1
        if copy:
            self.cuda.copy(self.spare, self.array.ptr, stream)
        return self.array.__dlpack__(stream=-1, max_version=max_version)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("device", [None, "cuda:0", "cuda_host"])
@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray])
def test_an_import_that_copies_is_refused_before_its_producer_is_asked(cuda, produce, take, device):
    """The work of the producer would become part of the graph."""
    stream = cuda.stream()
    producer = Copying(cuda, ix.from_cai(produce()))
    cuda("cuStreamBeginCapture", stream, cuda.api.CUstreamCaptureMode(0))
    rule = refusal(lambda: take(producer, device=device, copy=True, stream=stream))
    graph = cuda("cuStreamEndCapture", stream)

    assert (rule, producer.asked) == ("DLP-STREAM-8", 0)
    assert cuda("cuGraphGetNodes", graph, 0)[-1] == 0
    cuda("cuGraphDestroy", graph)
    assert take(producer, device=device, copy=True, stream=stream).shape == (producer.array.size,)


@pytest.mark.parametrize("kind", ["no stream", "DLPack"])
def test_a_borrower_that_the_host_would_wait_for_does_not_capture(cuda, produce, kind):
    """The capture is refused on entry, before any work is enqueued."""
    stream = cuda.stream()
    array = ix.from_cai(produce())
    given = array if kind == "no stream" else Copying(cuda, array)
    with cuda.capture(stream):
        borrowed = ix.borrow(given, stream=stream)
        rule = refusal(borrowed.__enter__)

    assert rule == "DLP-STREAM-8"
