"""Producers that publish their current stream: earlier published streams are waited for as well."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096
ORDERING = {"cuEventRecord": "after", "cuStreamWaitEvent": "waits"}
LATER = 0.05  # delay before a stream that the host waits for continues [seconds]


class Changing:
    """An array that publishes the current stream of its library."""

    def __init__(self, cuda, *, managed=False):
        self.cuda = cuda
        self.first, self.second = cuda.stream(), cuda.stream()
        self.current = self.first
        self.ptr = cuda.managed() if managed else cuda.memory()
        if managed:
            ctypes.memset(self.ptr, 0, SIZE)

    @property
    def __cuda_array_interface__(self):
        return self.cuda.record_of(self.ptr, self.current)

    def write(self, value):
        """Enqueue a write on the current stream."""
        self.cuda.fill(self.ptr, value, self.current)


@pytest.fixture
def changed(cuda, gate):
    """Return a producer, an Array of it, and a gate that holds a write on the first stream."""
    producer = Changing(cuda)
    shut = gate(producer.first)
    producer.write(7)
    array = ix.from_cai(producer)
    producer.current = producer.second
    return producer, array, shut


def read_on(cuda, stream, taken, shut):
    """Read on a consumer's stream, or on the published stream, before and after a gate opens."""
    if stream is None:
        stream = taken.__cuda_array_interface__["stream"]
    ptr = getattr(taken, "ptr", None) or taken.__cuda_array_interface__["data"][0]
    return cuda.read_around(shut, ptr, stream)


HANDED_OVER = {
    "__dlpack__": lambda array, s: ix.from_dlpack(array.__dlpack__(stream=s), stream=s),
    "from_dlpack": lambda array, s: ix.from_dlpack(array, stream=s),
    "a view": lambda array, s: ix.from_dlpack(array.reshape((64, 64))[:], stream=s),
    "to_cai": lambda array, s: ix.to_cai(array, stream=s).array,
    "from_cai": lambda array, s: ix.from_cai(array, stream=s),
    "borrow": lambda array, s: ix.borrow(array, stream=s).__enter__(),
    "what is published": lambda array, _: ix.to_cai(array),
    "the attribute": lambda array, _: array,
    "a view's attribute": lambda array, _: array[:],
    "a copy": lambda array, _: array.copy(),
    "a copy elsewhere": lambda array, _: array.to_device("cuda:1"),
    "a copy on a stream": lambda array, s: array.to_device("cuda:0", stream=s),
}
ITS_OWN = {"what is published", "the attribute", "a view's attribute"} | {
    way for way in HANDED_OVER if way.startswith("a copy")
}


@pytest.fixture(params=HANDED_OVER)
def way(request, cuda):
    """Return how an Array is exported; to another device if there is one."""
    if request.param == "a copy elsewhere" and len(cuda.contexts) < 2:
        pytest.skip("there is one device")
    return request.param


def test_what_was_enqueued_before_the_import_is_waited_for(cuda, changed, way):
    """The record publishes another stream at the export."""
    producer, array, shut = changed
    stream = cuda.stream()

    taken = HANDED_OVER[way](array, stream)
    assert read_on(cuda, None if way in ITS_OWN else stream, taken, shut) == ({0}, {7})
    del producer


def test_what_was_enqueued_since_is_waited_for_as_well(cuda, gate, way):
    """The record's new stream is waited for."""
    producer = Changing(cuda)
    array = ix.from_cai(producer)
    producer.current = producer.second
    shut = gate(producer.second)
    producer.write(7)
    stream = cuda.stream()

    taken = HANDED_OVER[way](array, stream)
    assert read_on(cuda, None if way in ITS_OWN else stream, taken, shut) == ({0}, {7})


READ = {
    "to_device": lambda array: bytes(np.asarray(array.to_device("cpu"))),
    "a strided copy": lambda array: bytes(np.asarray(array[::-1].to_device("cpu"))),
    "a pickle": lambda array: bytes(np.asarray(pickle.loads(pickle.dumps(array)).to_device("cpu"))),
    "__dlpack__": lambda array: bytes(np.from_dlpack(array, device="cpu")),
}


@pytest.mark.parametrize("way", READ)
def test_the_host_waits_for_what_was_enqueued_before_the_import(changed, way):
    """The host reads when all work is done."""
    _, array, shut = changed
    timer = threading.Timer(LATER, shut.open)
    timer.start()
    found = READ[way](array)
    timer.join()

    assert set(found) == {7}


@pytest.mark.parametrize("way", ["numpy", "version 2"])
def test_managed_memory_is_read_after_what_was_enqueued_before_the_import(cuda, gate, way):
    """NumPy, which names no stream, and consumers of a record without a stream read after it."""
    producer = Changing(cuda, managed=True)
    shut = gate(producer.first)
    producer.write(7)
    array = ix.from_cai(producer)
    producer.current = producer.second
    timer = threading.Timer(LATER, shut.open)
    timer.start()
    if way == "numpy":
        found = set(np.from_dlpack(array).tolist())
    else:
        record = ix.to_cai(array, version=2).__cuda_array_interface__
        found = set(ctypes.string_at(record["data"][0], SIZE))
    timer.join()

    assert found == {7}


# ---------------------------------------------------------------- the way back


@pytest.mark.parametrize("then", ["at the import", "on entry", "on exit"])
def test_every_stream_that_was_named_waits_for_a_borrower(cuda, then):
    """The producer may enqueue its next work on any of these streams."""
    producer = Changing(cuda)
    array = ix.from_cai(producer)
    producer.current = producer.second
    stream = cuda.stream()

    with ix.borrow(array, stream=stream, writable=True):
        producer.current = third = cuda.stream()
        shut = cuda.fill_behind_gate(producer.ptr, 9, stream)
    named = {"at the import": producer.first, "on entry": producer.second, "on exit": third}

    assert cuda.read_around(shut, producer.ptr, named[then]) == ({0}, {9})


def test_the_host_waits_where_no_stream_is_named_any_more(cuda):
    """The producer may use any stream next, not only the one that it published before."""
    producer, stream = Changing(cuda), cuda.stream()

    with ix.borrow(producer, stream=stream, writable=True):
        producer.current = None
        cuda.fill(producer.ptr, 9, stream)

    assert cuda("cuStreamQuery", stream) == []


@pytest.mark.parametrize("then", ["first", "second"])
def test_a_source_may_be_written_on_either_stream_after_its_copy(cuda, gate, then):
    """Both streams wait for the copy."""
    producer, stream, target = Changing(cuda), cuda.stream(), cuda.pinned()
    producer.write(7)
    array = ix.from_cai(producer)
    producer.current = producer.second
    shut = gate(stream)

    copied = ix.from_dlpack(array, stream=stream, copy=True)
    cuda.fill(producer.ptr, 9, getattr(producer, then))
    shut.open()
    cuda.synchronize()
    cuda.copy(target, copied.ptr, stream)
    cuda.synchronize()

    assert set(ctypes.string_at(target, SIZE)) == {7}


# ---------------------------------------------------------------- cost


def order_of(trace, producer, stream):
    """Return the pairs of ordered streams by name."""
    names = {producer.first: "first", producer.second: "second", stream: "consumer"}
    return [
        (ORDERING[call.name], names[call.args["stream"]])
        for call in trace.calls
        if call.name in ORDERING
    ]


@pytest.mark.parametrize(
    ("consumer", "expected"),
    [
        ("another", [("after", "first"), ("waits", "consumer")]),
        ("first", []),
    ],
)
def test_a_stream_that_stays_is_waited_for_once(emulator, cuda, consumer, expected):
    """One event is used, and none if the consumer's stream is the producer's."""
    producer = Changing(cuda)
    array = ix.from_cai(producer)
    stream = cuda.stream() if consumer == "another" else producer.first
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 1))

    found = order_of(trace, producer, None if consumer == "first" else stream)
    assert found == expected
    del capsule


@pytest.mark.parametrize(
    ("consumer", "expected"),
    [
        (
            "another",
            [
                ("after", "first"),
                ("waits", "consumer"),
                ("after", "second"),
                ("waits", "consumer"),
            ],
        ),
        ("first", [("after", "second"), ("waits", "first")]),
        ("second", [("after", "first"), ("waits", "second")]),
    ],
)
def test_two_streams_cost_two_events_at_most(emulator, cuda, consumer, expected):
    """One event less is used if the consumer's stream is one of them."""
    producer = Changing(cuda)
    array = ix.from_cai(producer)
    producer.current = producer.second
    stream = cuda.stream() if consumer == "another" else getattr(producer, consumer)
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 1))

    found = order_of(trace, producer, stream if consumer == "another" else None)
    assert found == expected
    del capsule


def test_no_order_makes_no_call_though_the_stream_changed(emulator, cuda):
    """With -1 the producer's record is not read."""
    producer = Changing(cuda)
    array = ix.from_cai(producer)
    producer.current = producer.second
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=-1, max_version=(1, 1))

    assert trace.names == []
    del capsule


def test_the_device_policy_is_asked_for_once(emulator, cuda, exporter, record):
    """Records below version 3 have no stream that could change."""
    array = ix.from_cai(exporter(**record(version=2, stream=...)), unsynced="device")
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=cuda.stream(), max_version=(1, 1))

    assert trace.names.count("cuCtxSynchronize") == 1
    del capsule


# ---------------------------------------------------------------- lifetime of the first stream


def test_a_stream_that_its_library_lets_go_is_kept(cuda, monkeypatch):
    """CuPy's arrays publish the current stream without keeping it alive."""

    class Stream:
        """A stream object of CuPy."""

    asked = []
    current = [Stream()]
    module = SimpleNamespace(
        cuda=SimpleNamespace(get_current_stream=lambda device: asked.append(device) or current[0])
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    ndarray = type("ndarray", (Changing,), {"__module__": "cupy"})
    array = ix.from_cai(ndarray(cuda))
    gone = weakref.ref(current.pop())
    gc.collect()
    kept = gone() is not None
    del array
    gc.collect()

    assert (asked, kept, gone()) == ([0], True, None)
