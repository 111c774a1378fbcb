"""`interchange_view` of device memory: its device, and the stream of pending work.

Source: interchange/interchange.h; CUDA Array Interface, version 3, Synchronization.
"""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.gpu,
    pytest.mark.skipif(ix.core_name != "native", reason="the C API is the native core's"),
]


def test_a_record_is_told(c_api, exporter, record):
    """The view has the shape, strides in elements and device; no stream if none is published."""
    found = c_api.fields(exporter(**record(strides=(64, 8))))

    assert (found["shape"], found["strides"], found["device"]) == ((4, 8), (16, 2), (2, 0))
    assert (found["dtype"], found["flags"], found["stream"]) == ((2, 32, 1), 0, None)


def test_a_read_only_record_is_flagged(c_api, cuda, exporter, record):
    """The read-only flag is the same as for host memory."""
    found = c_api.fields(exporter(**record(data=(cuda.memory(), True))))

    assert found["flags"] == c_api.READ_ONLY


def test_the_stream_of_a_record_is_told(c_api, cuda, produce):
    """The stream is the handle that the producer publishes."""
    stream = cuda.stream()

    assert c_api.fields(produce(stream))["stream"] == stream


@pytest.mark.parametrize("stream", [1, 2])
def test_default_streams_of_records_are_told(c_api, exporter, record, stream):
    """Default streams have the numbers of CUDA."""
    assert c_api.fields(exporter(**record(stream=stream)))["stream"] == stream


def test_a_record_below_version_3_is_pending_on_the_default_stream(c_api, exporter, record):
    """A record without streams is pending on the default stream, as in asarray."""
    assert c_api.fields(exporter(**record(version=2)))["stream"] == 1


def test_work_that_is_ordered_after_the_stream_is_safe(c_api, cuda, produce, gate):
    """The write of a producer precedes the work of a C caller that waits as the header requires."""
    producer_stream, ours = cuda.stream(), cuda.stream()
    producer = produce(producer_stream)
    target = cuda.memory()
    with gate(producer_stream):
        producer.write(7)
        with c_api.viewed(producer) as view:
            event = cuda("cuEventCreate", 2)
            cuda("cuEventRecord", event, view.stream)
            cuda("cuStreamWaitEvent", ours, event, 0)
            cuda.copy(target, view.data, ours)
            cuda("cuEventRecord", event, ours)
            cuda("cuStreamWaitEvent", view.stream, event, 0)
    cuda("cuEventDestroy", event)

    assert cuda.read(target) == {7}


def test_work_that_is_not_ordered_is_reported(c_api, cuda, produce, emulator):
    """Without the wait above, the detector reports a race."""
    producer_stream, ours = cuda.stream(), cuda.stream()
    producer = produce(producer_stream)
    target = cuda.memory()
    emulator.delay(producer_stream, 0.005)
    producer.write(7)
    with c_api.viewed(producer) as view:
        cuda.copy(target, view.data, ours)
    cuda.synchronize()

    assert emulator.reports()
    emulator.expect_reports()


def test_an_array_that_was_made_ready_is_pending_on_that_stream(c_api, cuda, produce):
    """An Array that was imported for a stream is ready on this stream."""
    stream = cuda.stream()
    array = ix.from_dlpack(ix.from_cai(produce(cuda.stream())), stream=stream)

    assert c_api.fields(array)["stream"] == stream


def test_work_on_several_streams_is_told_by_one(c_api, cuda, gate):
    """If the producer publishes another stream, the returned stream waits for it."""
    first, second = cuda.stream(), cuda.stream()

    class Moving:
        def __init__(self):
            self.ptr, self.stream = cuda.memory(), first

        @property
        def __cuda_array_interface__(self):
            return cuda.record_of(self.ptr, self.stream)

    producer, target = Moving(), cuda.memory()
    array = ix.from_cai(producer)
    with gate(first):
        cuda.fill(producer.ptr, 7, first)
        producer.stream = second
        with c_api.viewed(array) as view:
            assert view.stream == second
            cuda.copy(target, view.data, view.stream)

    assert cuda.read(target) == {7}
