"""Calls of the driver: only necessary ones are made, as its call log shows."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

QUERY = "cuPointerGetAttributes"
CURRENT = "cuCtxGetDevice"  # queried if there is more than one device
WAITING = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"}
ORDERING = ["cuEventRecord", "cuStreamWaitEvent"]


@pytest.fixture
def warm(cuda, produce):
    """Return a producer and a consumer's stream that were ordered before: an event is unused."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    ix.from_cai(producer, stream=stream)
    return producer, stream


@pytest.mark.parametrize(("is_equal", "asked"), [(True, [CURRENT]), (False, [])])
def test_no_event_is_needed_for_an_equal_stream_or_for_none(emulator, warm, is_equal, asked):
    """An import asks about the pointer once; -1 makes no call, and must not affect a capture."""
    producer, _ = warm
    with emulator.trace() as arrival:
        array = ix.from_cai(producer)
    with emulator.trace() as export:
        stream = producer.published if is_equal else -1
        capsule = array.__dlpack__(stream=stream, max_version=(1, 1))

    assert (arrival.names, export.names) == ([QUERY, CURRENT], asked)
    assert array.device == ix.Device(2, 0)
    del capsule


def test_different_streams_need_one_record_and_one_wait(emulator, warm):
    """The event is recorded on the producer's stream, and the consumer's stream waits for it."""
    producer, stream = warm
    with emulator.trace() as trace:
        capsule = ix.from_cai(producer).__dlpack__(stream=stream, max_version=(1, 1))

    ordering = [call for call in trace.calls if call.name in ORDERING]
    assert [call.name for call in ordering] == ORDERING
    assert [call.args["stream"] for call in ordering] == [producer.published, stream]
    assert ordering[0].args["event"] == ordering[1].args["event"]
    del capsule


@pytest.mark.parametrize("way", ["from_cai", "to_cai", "borrow", "capsule", "accepts_arrays"])
def test_the_host_never_waits(emulator, warm, way):
    """No import or export on another stream makes the host wait."""
    producer, stream = warm
    ways = {
        "from_cai": lambda: ix.from_cai(producer, stream=stream),
        "to_cai": lambda: ix.to_cai(ix.from_cai(producer), stream=stream),
        "borrow": lambda: ix.borrow(producer, stream=stream).__enter__().ptr,
        "capsule": lambda: ix.from_dlpack(ix.to_capsule(producer, stream=stream), stream=stream),
        "accepts_arrays": lambda: ix.accepts_arrays("x", stream="s", borrow=True)(
            lambda x, s: (x.ptr, s)
        )(producer, stream),
    }
    with emulator.trace() as trace:
        ways[way]()

    assert not WAITING & set(trace.names)


def test_a_second_order_makes_no_event(emulator, warm):
    """Events are reused."""
    producer, stream = warm
    with emulator.trace() as trace:
        for _ in range(10):
            ix.from_cai(producer, stream=stream)

    assert trace.names.count("cuEventRecord") == 10
    assert not {"cuEventCreate", "cuEventDestroy"} & set(trace.names)


def test_events_keep_no_time(emulator, cuda, produce):
    """Events with timing are slower to record."""
    producer = produce(cuda.stream(), cuda.stream())
    del producer
    from interchange._streams.driver import drivers

    drivers.get("cuda", None) and drivers["cuda"]._events.clear()
    with emulator.trace() as trace:
        ix.from_cai(produce(cuda.stream()), stream=cuda.stream())

    created = [call for call in trace.calls if call.name == "cuEventCreate"]
    assert [call.args["flags"] for call in created] == [2]


def test_the_device_is_restored(emulator, cuda, produce):
    """The producer's device is current while its stream is recorded, and ours afterwards."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    cuda("cuCtxSetCurrent", cuda.contexts[1])
    with emulator.trace() as trace:
        ix.from_cai(producer, stream=stream)
    current = int(cuda("cuCtxGetCurrent"))
    cuda("cuCtxSetCurrent", cuda.contexts[0])

    assert current == cuda.contexts[1]
    steps = {"cuCtxPushCurrent": 1, "cuCtxPopCurrent": -1}
    before = trace.names[: trace.names.index("cuEventRecord")]
    assert sum(steps.get(name, 0) for name in before) == 1
    assert sum(steps.get(name, 0) for name in trace.names) == 0


def test_default_streams_of_two_devices_are_two_streams(emulator, cuda):
    """Their number is the same, and they are ordered by an event: the host does not wait."""
    ptr = cuda.memory()
    cuda.fill(ptr, 7, 1)
    array = ix.from_pointer(ptr, (4096,), "uint8", device="cuda:0", stream=1)
    with emulator.trace() as trace:
        moved = array.to_device("cuda:1", stream=1)

    assert not WAITING & set(trace.names)
    assert set(moved.to_device("cpu").tolist()) == {7}


@pytest.mark.parametrize("way", ["mask", "dtype", "read-only"])
def test_what_is_refused_leaves_no_wait_behind(emulator, cuda, produce, way):
    """Arguments are checked before streams are ordered."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    record = producer.__cuda_array_interface__
    packed = ix.from_pointer(producer.ptr, (8,), "int4", device="cuda:0", stream=producer.published)
    reading = ix.from_pointer(
        producer.ptr, (8,), "int8", device="cuda:0", stream=producer.published, readonly=True
    )
    calls = {
        "mask": lambda: ix.from_cai({**record, "mask": 7}, stream=stream, mask="separate"),
        "dtype": lambda: ix.to_cai(packed, stream=stream),
        "read-only": lambda: ix.from_dlpack(reading, stream=stream, assume_writable=True),
    }
    with emulator.trace() as trace, pytest.raises(ix.ExchangeError):
        calls[way]()

    assert not set(ORDERING) & set(trace.names)


@pytest.mark.parametrize("name", ["cuCtxPushCurrent", "cuEventRecord", "cuStreamWaitEvent"])
def test_an_interrupt_within_a_call_leaves_nothing_pushed(cuda, produce, monkeypatch, name):
    """A signal handler may raise immediately after a call of the driver."""
    from interchange._streams.driver import driver_of

    driver = driver_of(ix.Device(2), "f()")
    producer, stream = produce(cuda.stream()), cuda.stream()
    cuda("cuCtxSetCurrent", cuda.contexts[1])

    class Interrupting:
        def __getattr__(self, wanted):
            function = getattr(cuda.api, wanted)
            if wanted != name:
                return function

            def call(*args):
                function(*args)
                raise KeyboardInterrupt

            return call

    monkeypatch.setattr(driver, "api", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        ix.from_cai(producer, stream=stream)
    monkeypatch.undo()
    current = int(cuda("cuCtxGetCurrent"))
    cuda("cuCtxSetCurrent", cuda.contexts[0])

    assert current == cuda.contexts[1]
