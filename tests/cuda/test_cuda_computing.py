"""Computations of a library on device Arrays: its stream waits, and is waited for."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace

import pytest

import interchange as ix
from interchange._libraries.dlpack_backend import DLPackBackend
from interchange._streams.pending import origins_of, pending_work_of

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

COUNT = 4096  # elements of one byte each
LATER = 0.05  # delay before a stream that the host waits for continues [seconds]


class Bytes:
    """An array of a library of bytes that uses its current stream."""

    def __init__(self, library, ptr, owner):
        self.library, self.ptr, self.owner = library, ptr, owner

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **asked):
        current = self.library.current
        found = ix.from_pointer(
            self.ptr, (COUNT,), "uint8", device="cuda", owner=self, stream=current
        )
        return found.__dlpack__(**asked)

    def __setitem__(self, key, value):
        self.library.cuda.fill(self.ptr, value, self.library.current, COUNT)


class Library(DLPackBackend):
    """A library that copies and fills, on the emulated or a real driver."""

    name = "bytes"

    def __init__(self, device, cuda):
        self.cuda, self.current, self.array_type = cuda, cuda.stream(), Bytes
        self.room = cuda.memory(COUNT)  # before any gate, since an allocation synchronises
        super().__init__(device, SimpleNamespace(positive=self.positive, reshape=self.reshape))

    def _find_operators(self):
        return {}

    def import_tensor(self, tensor):
        found = ix.from_dlpack(tensor, stream=self.current)
        return Bytes(self, found.ptr, found)

    def stream(self):
        return self.current, None

    def may_share(self, one, other):
        return one.ptr == other.ptr

    def reshape(self, x, shape, *, copy=None):
        assert (shape, copy) == ((64, 64), None)
        return x

    def positive(self, x):
        self.cuda.copy(self.room, x.ptr, self.current, COUNT)
        return Bytes(self, self.room, None)


@pytest.fixture
def library(cuda):
    """Return the library that computes on the first device, until the test is over."""
    found = Library(ix.Device.of("cuda"), cuda)
    ix.set_backend("cuda", lambda _: found)
    yield found
    ix.set_backend("cuda", None)


def read_around(cuda, shut, array):
    """Read an Array on a consumer's stream; return the bytes before and after a gate opens."""
    consumer = cuda.stream()
    taken = array.__dlpack__(stream=consumer)
    found = cuda.read_around(shut, array.ptr, consumer)
    del taken
    return found


@pytest.mark.usefixtures("library")
def test_the_library_waits_for_the_producer(cuda, produce):
    """The library's copy runs after the producer's held write."""
    producer = produce(cuda.stream())
    shut = producer.write_behind_gate(7)

    assert read_around(cuda, shut, +ix.from_cai(producer)) == ({0}, {7})


def test_a_consumer_waits_for_the_library(cuda, produce, gate, library):
    """The result is read when it is done, though the library's stream is held."""
    producer = produce(cuda.stream())
    producer.write(7)
    x = ix.from_cai(producer)
    shut = gate(library.current)

    assert read_around(cuda, shut, +x) == ({0}, {7})


def test_a_consumer_waits_for_what_the_library_wrote(cuda, produce, gate, library):
    """Writes of the library to foreign memory are waited for as well."""
    producer = produce(cuda.stream())
    producer.write(7)
    x = ix.from_cai(producer)
    +x  # noqa: B018 - the library has seen it before
    shut = gate(library.current)
    x[...] = 9

    assert read_around(cuda, shut, x) == ({0}, {9})


KNOWN_STREAMS = {
    "a record": lambda producer, _: ix.from_cai(producer),
    "a bare record": lambda producer, _: ix.from_cai(producer.__cuda_array_interface__),
    "a capsule": lambda producer, stream: ix.from_dlpack(
        ix.from_cai(producer).__dlpack__(stream=stream), stream=stream
    ),
    "a pointer": lambda producer, stream: ix.from_pointer(
        producer.ptr, (COUNT,), "uint8", device="cuda", stream=stream
    ),
}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", KNOWN_STREAMS)
def test_the_library_waits_whenever_it_computes(cuda, produce, kind):
    """Work that was enqueued since the memory was first imported is waited for as well."""
    stream = cuda.stream()
    x = KNOWN_STREAMS[kind](produce(stream), stream)
    +x  # noqa: B018 - the library has seen it before
    cuda.synchronize()
    shut = cuda.fill_behind_gate(x.ptr, 7, stream)

    assert read_around(cuda, shut, +x) == ({0}, {7})


def test_the_host_waits_whenever_it_computes(cuda, gate):
    """This applies to managed memory, whose owner must be visible to the garbage collector."""
    stream, ptr = cuda.stream(), cuda.managed()
    ctypes.memset(ptr, 0, COUNT)

    class Owner:
        __cuda_array_interface__ = cuda.record_of(ptr, stream)

    x = ix.from_cai(Owner())
    zeros = x + 0
    shut = gate(stream)
    cuda.fill(ptr, 7, stream, COUNT)
    timer = threading.Timer(LATER, shut.open)
    timer.start()
    sevens = x + 0
    timer.join()

    assert (set(zeros.tolist()), set(sevens.tolist())) == ({0}, {7})


READS = {
    "an operator": lambda x: +x,
    "a function": ix.xp.positive,
    "a view": lambda x: +ix.xp.reshape(x, (64, 64)),
}


@pytest.mark.parametrize("stream_is_named", [False, True])
@pytest.mark.parametrize("read", READS)
def test_the_producer_waits_for_what_the_library_reads(
    cuda, produce, gate, library, read, stream_is_named
):
    """The producer's next write runs after the library's work, though the library is held."""
    producer = produce(cuda.stream())
    x = ix.from_cai(producer, stream=cuda.stream() if stream_is_named else None)
    +x  # noqa: B018 - the library has seen it before
    shut = gate(library.current)
    found = READS[read](x)
    producer.write(9)
    shut.open()
    cuda.synchronize()

    assert cuda.read(library.room, COUNT) == {0}
    del found


@pytest.mark.parametrize("stream_is_named", [False, True])
def test_the_producer_waits_for_what_the_library_writes(
    cuda, produce, gate, library, stream_is_named
):
    """The producer's next write runs last."""
    producer = produce(cuda.stream())
    x = ix.from_cai(producer, stream=cuda.stream() if stream_is_named else None)
    +x  # noqa: B018 - the library has seen it before
    shut = gate(library.current)
    x[...] = 7
    producer.write(9)
    shut.open()

    assert cuda.read(producer.ptr, COUNT) == {9}


@pytest.mark.usefixtures("library")
def test_a_copy_after_a_write_is_followed_by_the_producer(cuda, produce, gate):
    """Streams of reads are recorded beside the last write, and once for repeated writes."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    x = ix.from_cai(producer, stream=stream)
    for value in (5, 6, 7):
        x[...] = value
    shut = gate(stream)
    copied = x.copy(stream=stream)
    producer.write(9)
    shut.open()
    cuda.synchronize()

    assert set(copied.to_device("cpu").tobytes()) == {7}
    assert [work.stream for work in origins_of(pending_work_of(x))[0]] == [
        x.__cuda_array_interface__["stream"],
        stream,
        producer.published,
    ]


def test_a_library_that_cannot_be_followed_is_waited_for(cuda, produce, library, monkeypatch):
    """If the producer cannot wait, the host has waited when the error is raised."""
    producer = produce(cuda.stream())
    x = ix.from_cai(producer, stream=library.current)
    refused = []

    def capture():
        refused.append(producer.published)
        cuda("cuStreamBeginCapture", producer.published, 2)  # relaxed capture mode

    positive = library.namespace.positive
    monkeypatch.setattr(library.namespace, "positive", lambda x: (positive(x), capture())[0])
    try:
        with pytest.raises(ix.StreamError, match="DLP-STREAM-8"):
            ix.xp.positive(x)
    finally:
        cuda("cuStreamEndCapture", producer.published)

    assert refused
    assert cuda("cuStreamQuery", library.current) == []
