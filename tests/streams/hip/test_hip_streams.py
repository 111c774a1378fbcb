"""ROCm, streams: their order, and invalid streams."""

from __future__ import annotations

import threading
from ctypes import byref, c_int, c_void_p

import pytest

import interchange as ix
from interchange._streams import driver as drivers
from interchange._streams.device_driver import PitchedCopy

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
THREAD_LOCAL = 1  # hipStreamCaptureModeThreadLocal


def refusal(kind, function, *args):
    """Return the rule id of the error of one class that a call raises."""
    with pytest.raises(kind) as caught:
        function(*args, CALL)
    assert str(caught.value).startswith(f"{CALL}: ")
    return caught.value.rule


# ---------------------------------------------------------------- waits


def write_and_read(rocm, producer, consumer, ordinal=0):
    """Write on one stream, order another after it, and copy there, for the race detector."""
    memory, target = rocm.memory(ordinal), rocm.memory(ordinal)
    rocm.emulator.fill(producer, memory, SIZE, 7)
    rocm.driver.order(producer, consumer, ordinal, CALL)
    rocm.driver.copy(target, memory, SIZE, consumer, ordinal, CALL)
    rocm.driver.synchronize(consumer, ordinal, CALL)
    return rocm.emulator.read(target, SIZE)


def test_nothing_else_keeps_the_order(rocm):
    """If waits have no effect, the detector reports a race in the same program."""
    with rocm.emulator.without_waits():
        write_and_read(rocm, rocm.stream(), rocm.stream())

    rocm.emulator.expect_reports()


def test_the_host_does_not_wait(rocm):
    """The streams are ordered while the producer's stream is held."""
    producer, consumer = rocm.stream(), rocm.stream()
    with rocm.emulator.held(producer):
        rocm.emulator.fill(producer, rocm.memory(), SIZE, 7)
        rocm.driver.order(producer, consumer, 0, CALL)

        assert rocm.emulator.pending(producer) > 0


def test_an_order_is_one_record_and_one_wait(rocm):
    """No other call is made once an event exists."""
    producer, consumer = rocm.stream(), rocm.stream()
    rocm.driver.order(producer, consumer, 0, CALL)
    with rocm.calls() as calls:
        rocm.driver.order(producer, consumer, 0, CALL)

    assert calls == ["cuEventRecord", "cuStreamWaitEvent"]


@pytest.mark.parametrize("default", [False, True])
def test_a_stream_needs_no_order_after_itself(rocm, default):
    """No call is made."""
    stream = 0 if default else rocm.stream()
    with rocm.emulator.trace() as trace:
        rocm.driver.order(stream, stream, 0, CALL)

    assert trace.names == []


def test_events_are_used_again(rocm):
    """A hundred orders need one event per device."""
    streams = [rocm.stream(), rocm.stream(), rocm.stream(1)]
    before = rocm.events()
    for _ in range(100):
        for producer, consumer in zip(streams, streams[1:] + streams[:1], strict=True):
            rocm.driver.order(producer, consumer, 0, CALL)

    assert rocm.events() - before == 2


@pytest.mark.parametrize(
    ("current", "producer", "consumer"), [(0, 0, 0), (1, 0, 0), (0, 1, 1), (0, 1, 0)]
)
def test_a_stream_waits_for_another(rocm, current, producer, consumer):
    """Streams of any devices are ordered, and the current device is kept."""
    with rocm.device(current):
        seen = write_and_read(rocm, rocm.stream(producer), rocm.stream(consumer), producer)

        assert rocm.driver.current_device(CALL) == current
    assert seen == bytes([7]) * SIZE


@pytest.mark.parametrize("ordinal", [0, 1])
@pytest.mark.parametrize("is_producer", [True, False])
def test_0_is_the_default_stream_of_the_memorys_device(rocm, ordinal, is_producer):
    """The default stream is that of this device, not of the current one."""
    other = rocm.stream(ordinal)
    producer, consumer = (0, other) if is_producer else (other, 0)
    source, middle, target = (rocm.memory(ordinal) for _ in range(3))
    with rocm.device(1 - ordinal):
        rocm.driver.copy(middle, source, SIZE, producer, ordinal, CALL)
        rocm.driver.order(producer, consumer, ordinal, CALL)
        rocm.driver.copy(target, middle, SIZE, consumer, ordinal, CALL)
        rocm.driver.synchronize(consumer, ordinal, CALL)

    assert rocm.emulator.reports() == []


def test_the_order_of_default_streams_is_seen(rocm):
    """Without the waits a race is reported: non-blocking streams ignore the default stream."""
    other, memory = rocm.stream(1), rocm.memory(1)
    with rocm.emulator.without_waits():
        rocm.driver.copy(memory, rocm.memory(1), SIZE, 0, 1, CALL)
        rocm.driver.order(0, other, 1, CALL)
        rocm.driver.copy(rocm.memory(1), memory, SIZE, other, 1, CALL)

    rocm.emulator.expect_reports()


def test_threads_order_side_by_side(rocm):
    """No two threads use one event: there are at most as many as are used at once."""
    streams = [rocm.stream() for _ in range(4)]
    before, failed = rocm.events(), []

    def order(producer, consumer):
        try:
            for _ in range(50):
                rocm.driver.order(producer, consumer, 0, CALL)
        except Exception as error:  # noqa: BLE001 - a thread has no other way to tell
            failed.append(error)

    pairs = zip(streams, streams[1:] + streams[:1], strict=True)
    threads = [threading.Thread(target=order, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert rocm.events() - before <= len(threads)


def test_an_array_on_rocm_waits_by_it(rocm, monkeypatch):
    """The consumer's stream waits for the producer's; 0 is a valid stream, and 1 is not."""
    monkeypatch.setitem(drivers.drivers, "hip", rocm.driver)
    producer, consumer, memory = rocm.stream(), rocm.stream(), rocm.memory()
    array = ix.from_pointer(memory, (SIZE,), "uint8", device="rocm:0", stream=producer)
    rocm.emulator.fill(producer, memory, SIZE, 7)
    with rocm.calls() as calls:
        array.__dlpack__(stream=consumer)
        array.__dlpack__(stream=0)
    rocm.emulator.annotate(consumer, memory, SIZE, write=False)
    with pytest.raises(ix.StreamError):
        array.__dlpack__(stream=1)

    assert (calls.count("cuEventRecord"), calls.count("cuStreamWaitEvent")) == (2, 2)


@pytest.mark.parametrize("whole", [False, True], ids=["stream", "device"])
def test_the_host_waits(rocm, whole):
    """The wait releases the GIL, so that another thread can open the gate."""
    stream, memory = rocm.stream(1), rocm.memory(1)
    opener = threading.Timer(0.05, rocm.emulator.release, [stream])
    with rocm.emulator.held(stream):
        rocm.emulator.fill(stream, memory, SIZE, 7)
        opener.start()
        if whole:
            rocm.driver.synchronize_device(1, CALL)
        else:
            rocm.driver.synchronize(stream, 1, CALL)
        seen = rocm.emulator.read(memory, SIZE)
    opener.join()

    assert seen == bytes([7]) * SIZE


def test_the_host_waits_for_one_device_only(rocm):
    """Work that is pending on another device stays pending."""
    stream = rocm.stream(0)
    opener = threading.Timer(10, rocm.emulator.release, [stream])  # so that the test does not hang
    opener.start()
    with rocm.emulator.held(stream):
        rocm.emulator.fill(stream, rocm.memory(0), SIZE, 7)
        rocm.driver.synchronize_device(1, CALL)

        assert rocm.emulator.pending(stream) > 0
    opener.cancel()


# ---------------------------------------------------------------- invalid streams


def uses(rocm, stream):
    """Return every call that takes a stream."""
    driver, memory, other = rocm.driver, rocm.memory(), rocm.stream()
    rows = PitchedCopy(2, 2, 1, (memory, 4, 2), (memory + 64, 4, 2))
    return {
        "producer": lambda call: driver.order(stream, other, 0, call),
        "consumer": lambda call: driver.order(other, stream, 0, call),
        "host": lambda call: driver.synchronize(stream, 0, call),
        "copy": lambda call: driver.copy(memory, memory + 64, 4, stream, 0, call),
        "rows": lambda call: driver.copy_pitched(rows, stream, 0, call),
    }


USES = ["producer", "consumer", "host", "copy", "rows"]


@pytest.mark.parametrize("use", USES)
def test_a_destroyed_stream_is_refused(rocm, use):
    """The error precedes any use of the handle, which crashes some releases; no event is lost."""
    stream = rocm.stream()
    call = uses(rocm, stream)[use]
    rocm.destroy(stream)
    before = rocm.events()

    assert refusal(ix.StreamError, call) == "DLP-STREAM-7"
    assert (rocm.events(), rocm.last_error()) == (before, 0)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("stream", [1, 2, -1])
def test_the_numbers_of_cuda_are_no_streams(rocm, use, stream):
    """The runtime uses these handles for its default streams, but no protocol does."""
    assert refusal(ix.StreamError, uses(rocm, stream)[use]) == "DLP-STREAM-3"


# ---------------------------------------------------------------- captures


@pytest.mark.parametrize("captured", ["the consumer", "the producer", "both, apart"])
def test_no_order_leads_into_or_out_of_a_capture(rocm, captured):
    """The wait is refused before a call that would invalidate a capture, or extend it unasked."""
    producer, consumer = rocm.stream(), rocm.stream()
    streams = {"the consumer": (consumer,), "the producer": (producer,)}
    with rocm.capture(*streams.get(captured, (producer, consumer))):
        assert refusal(ix.StreamError, rocm.driver.order, producer, consumer, 0) == "DLP-STREAM-8"


def test_a_stream_joins_the_capture_that_it_waits_for(rocm):
    """The stream leaves the capture when it is waited for."""
    origin, branch = rocm.stream(), rocm.stream()
    with rocm.capture(origin):
        rocm.driver.order(origin, branch, 0, CALL, fork=True)
        rocm.driver.order(branch, origin, 0, CALL)

    assert rocm.last_error() == 0


@pytest.mark.parametrize("is_producer", [True, False])
def test_no_default_stream_beside_a_capture(rocm, is_producer):
    """While a blocking stream captures, the default stream is not used."""
    stream, other = rocm.stream(flags=0), rocm.stream()
    pair = (0, other) if is_producer else (other, 0)
    with rocm.capture(stream):
        assert refusal(ix.StreamError, rocm.driver.order, *pair, 0) == "DLP-STREAM-8"
        assert refusal(ix.StreamError, rocm.driver.synchronize, 0, 0) == "DLP-STREAM-8"
    assert rocm.last_error() == 0


def test_the_host_waits_for_no_capturing_stream(rocm):
    """The wait would have no effect, and would invalidate the capture."""
    stream = rocm.stream()
    with rocm.capture(stream):
        assert refusal(ix.StreamError, rocm.driver.synchronize, stream, 0) == "DLP-STREAM-8"


def test_a_spoilt_capture_is_named(rocm):
    """An invalidated capture has no id that tells it from others."""
    stream, other = rocm.stream(), rocm.stream()
    rocm.do("hipStreamBeginCapture", c_void_p(stream), THREAD_LOCAL)
    assert rocm.runtime.hipStreamSynchronize(c_void_p(stream)) != 0

    assert refusal(ix.StreamError, rocm.driver.order, stream, other, 0) == "DLP-STREAM-8"
    assert refusal(ix.StreamError, rocm.driver.order, other, stream, 0) == "DLP-STREAM-8"
    assert rocm.runtime.hipStreamEndCapture(c_void_p(stream), byref(c_void_p())) != 0
    rocm.runtime.hipGetLastError()


def test_memory_is_freed_during_a_capture(rocm):
    """A finalizer runs anywhere; the capture succeeds, and the thread's mode is restored."""
    memory, mode = rocm.driver.allocate(SIZE, 0, CALL), c_int(THREAD_LOCAL)
    before = rocm.emulator.live().device
    rocm.do("hipThreadExchangeStreamCaptureMode", byref(mode))
    with rocm.capture(rocm.stream()):
        rocm.driver.free(memory, 0, False)  # noqa: FBT003 - as it is called
    rocm.do("hipThreadExchangeStreamCaptureMode", byref(mode))

    assert (rocm.emulator.live().device, mode.value) == (before - 1, THREAD_LOCAL)
