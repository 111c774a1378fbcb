"""ROCm, events passed between libraries: a producer's is waited for; ours follows pending work."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p

import pytest

import interchange as ix
from interchange._streams import driver as drivers
from interchange._streams.events import recorded_event_of, wait_for_foreign_event

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
THREAD_LOCAL = 1  # hipStreamCaptureModeThreadLocal
WITHOUT_TIMING = 2  # hipEventDisableTiming


@pytest.fixture
def hip(rocm, monkeypatch):
    """Make the driver under test that of interchange, and return it."""
    monkeypatch.setitem(drivers.drivers, "hip", rocm.driver)
    return rocm


@pytest.fixture
def record_event(hip):
    """Return a function that records an event on a stream and returns the word with its handle."""
    made = []

    def record(stream, device=0):
        event = c_void_p()
        with hip.device(device):
            hip.do("hipEventCreateWithFlags", byref(event), WITHOUT_TIMING)
            hip.do("hipEventRecord", event, c_void_p(stream))
        made.append(event)
        return event

    yield record
    for event in made:
        if event.value:
            hip.do("hipEventDestroy", event)


def array_of(ptr, device="rocm:0", stream=None):
    """Return an Array over memory."""
    return ix.from_pointer(ptr, (SIZE,), "uint8", device=device, stream=stream)


def wait(array, event, stream):
    """Wait as an import does."""
    wait_for_foreign_event(array, ctypes.addressof(event), stream, None, CALL)


def refusal(kind, function, *args):
    """Return the rule id of the error that a call raises."""
    with pytest.raises(kind) as caught:
        function(*args)
    assert str(caught.value).startswith(f"{CALL}: ")
    return caught.value.rule


def write_and_read(hip, record_event, named, device=0):
    """Write on one stream, wait for its event on another, and read there."""
    producer, memory = hip.stream(device), hip.memory(device)
    stream = 0 if named is None else named
    hip.emulator.fill(producer, memory, SIZE, 7)
    wait(array_of(memory, f"rocm:{device}"), record_event(producer, device), named)
    hip.driver.copy(hip.memory(device), memory, SIZE, stream, device, CALL)
    hip.driver.synchronize(stream, device, CALL)


@pytest.mark.parametrize("consumer", ["own", "0", "default"])
@pytest.mark.parametrize("device", [0, 1])
def test_a_stream_waits_for_the_event(hip, record_event, consumer, device):
    """The stream or the device's default stream waits; the detector sees the order."""
    named = {"own": hip.stream(device), "0": 0, "default": None}[consumer]
    with hip.device(1 - device):
        write_and_read(hip, record_event, named, device)

    assert hip.emulator.reports() == []


@pytest.mark.parametrize("consumer", ["own", "0", "default"])
def test_nothing_but_the_wait_keeps_the_order(hip, record_event, consumer):
    """The same program without the waits is reported."""
    named = {"own": hip.stream(), "0": 0, "default": None}[consumer]
    with hip.emulator.without_waits():
        write_and_read(hip, record_event, named)

    hip.emulator.expect_reports()


def test_the_host_waits_for_page_locked_memory(hip, record_event):
    """The memory is filled when the import returns."""
    producer, memory = hip.stream(), hip.memory(pinned=True)
    hip.emulator.fill(producer, memory, SIZE, 7)
    wait(array_of(memory, "rocm_host"), record_event(producer), None)

    assert set(ctypes.string_at(memory, SIZE)) == {7}


def test_a_stream_waits_for_page_locked_memory(hip, record_event):
    """If a stream is passed, the host does not wait."""
    producer, stream, memory = hip.stream(), hip.stream(), hip.memory(pinned=True)
    with hip.emulator.held(producer):
        hip.emulator.fill(producer, memory, SIZE, 7)
        wait(array_of(memory, "rocm_host"), record_event(producer), stream)
        hip.emulator.annotate(stream, memory, SIZE, write=False)

        assert hip.emulator.pending(stream) > 0


def test_no_sync_waits_for_nothing(hip, record_event):
    """No call is made."""
    memory, event = hip.memory(), record_event(hip.stream())
    with hip.emulator.trace() as trace:
        wait(array_of(memory), event, -1)

    assert trace.names == []


@pytest.mark.parametrize("stream", [1, 2])
def test_the_numbers_of_cuda_are_no_streams(hip, record_event, stream):
    """The numbers of CUDA's default streams are refused on ROCm."""
    event = record_event(hip.stream())

    assert refusal(ix.StreamError, wait, array_of(hip.memory()), event, stream) == "DLP-STREAM-3"


def test_an_event_that_was_destroyed_is_refused(hip, record_event):
    """The runtime keeps no error."""
    event = record_event(hip.stream())
    gone = c_void_p(event.value)
    hip.do("hipEventDestroy", event)
    event.value = None
    rules = [
        refusal(ix.ExchangeError, wait, array_of(hip.memory()), gone, hip.stream()),
        refusal(ix.ExchangeError, wait, array_of(hip.memory(), "rocm_host"), gone, None),
    ]

    assert (rules, hip.last_error()) == (["ARROW-DEVICE-3"] * 2, 0)


def test_a_capturing_stream_waits_for_no_event(hip, record_event):
    """The capture ends successfully."""
    event, stream = record_event(hip.stream()), hip.stream()
    with hip.capture(stream):
        rule = refusal(ix.StreamError, wait, array_of(hip.memory()), event, stream)

    assert rule == "DLP-STREAM-8"


def test_an_event_of_a_capture_is_found_out(hip, record_event):
    """The stream would join the capture, and is joined again."""
    origin, stream = hip.stream(), hip.stream()
    with hip.capture(origin):
        event = record_event(origin)
        rule = refusal(ix.StreamError, wait, array_of(hip.memory()), event, stream)
        hip.driver.order(stream, origin, 0, CALL)

    assert rule == "DLP-STREAM-8"


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("default", [False, True])
def test_our_event_is_behind_pending_work(hip, device, default):
    """A consumer that waits for it reads after the write; the host does not wait."""
    producer = 0 if default else hip.stream(device)
    consumer, source, memory = hip.stream(device), hip.memory(device), hip.memory(device)
    target = hip.memory(device)
    array = array_of(memory, f"rocm:{device}", producer)
    hip.driver.copy(memory, source, SIZE, producer, device, CALL)
    with hip.device(1 - device):
        event = recorded_event_of([array], CALL)
    handle = c_void_p.from_address(event.address)
    hip.do("hipStreamWaitEvent", c_void_p(consumer), handle, 0)
    hip.driver.copy(target, memory, SIZE, consumer, device, CALL)
    hip.driver.synchronize(consumer, device, CALL)

    assert hip.emulator.reports() == []


def test_our_event_dies_with_its_object(hip):
    """A hundred of them leave no events."""
    array = array_of(hip.memory(), stream=hip.stream())
    before = hip.events()
    held = [recorded_event_of([array], CALL) for _ in range(100)]
    during = hip.events()
    held.clear()

    assert (during - before, hip.events() - before) == (100, 0)


def test_no_event_is_recorded_in_a_capture(hip):
    """A consumer outside of the capture could not wait; the capture succeeds, no event is left."""
    stream, before = hip.stream(), hip.events()
    array = array_of(hip.memory(), stream=stream)
    with hip.capture(stream):
        rule = refusal(ix.StreamError, recorded_event_of, [array], CALL)

    assert (rule, hip.events()) == ("DLP-STREAM-8", before)


def test_a_stream_that_is_gone_leaves_no_event(hip):
    """The error is raised before the handle is dereferenced."""
    stream, before = hip.stream(), hip.events()
    array = array_of(hip.memory(), stream=stream)
    hip.destroy(stream)

    assert refusal(ix.StreamError, recorded_event_of, [array], CALL) == "DLP-STREAM-7"
    assert (hip.events(), hip.last_error()) == (before, 0)
