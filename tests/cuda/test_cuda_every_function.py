"""Properties of every public function that accepts an array of CUDA memory, by its signature."""

from __future__ import annotations

import gc
import weakref

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


class Both:
    """A producer with a record of the CUDA Array Interface, and with DLPack."""

    def __init__(self, producer):
        self.producer, self.ptr, self.size = producer, producer.ptr, producer.size

    @property
    def __cuda_array_interface__(self):
        return self.producer.__cuda_array_interface__

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        stream_of_ours = self.producer.published
        array = ix.from_pointer(
            self.ptr, (self.size,), "uint8", device="cuda:0", stream=stream_of_ours, owner=self
        )
        return array.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


@pytest.fixture
def both(cuda, produce):
    """Return a producer with a new stream, in a list that can be cleared."""
    return [Both(produce(cuda.stream()))]


def test_the_stream_that_is_named_waits_for_the_producer(cuda, both, taking_stream):
    """Work on the stream after the call sees the earlier writes of the producer."""
    (source,), stream = both, cuda.stream()
    producer = source.producer
    shut = producer.write_behind_gate(7)

    taken = taking_stream(source, stream=stream)

    assert cuda.read_around(shut, producer.ptr, stream) == ({0}, {7})
    del taken


@pytest.mark.parametrize(("stream", "rule"), [(0, "DLP-STREAM-2"), ("no stream", "DLP-STREAM-4")])
def test_what_is_no_stream_of_cuda_is_refused(both, taking_stream, stream, rule):
    """0 is ambiguous between the two default streams."""
    if taking_stream.name.startswith("cuda.to_device") and stream == 0:
        assert taking_stream(both[0], stream=stream).size  # the default stream in numba.cuda
        return
    with pytest.raises(ix.InterchangeError) as caught:
        taking_stream(both[0], stream=stream)

    assert caught.value.rule == rule


def test_memory_of_a_device_lives_as_long_as_what_was_returned(cuda, both, taking):
    """The memory lives exactly as long as the returned object."""
    producer = both.pop()
    alive, address = weakref.ref(producer), producer.ptr
    found = taking.memory(producer)
    is_shared = found.ptr == address
    del producer
    gc.collect()
    assert alive() is not None or not is_shared

    del found
    cuda.synchronize()
    gc.collect()
    assert alive() is None
