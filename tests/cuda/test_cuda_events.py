"""Events passed between libraries: a producer's is waited for; ours follows all pending work."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix
from interchange._streams.events import recorded_event_of, wait_for_foreign_event
from interchange._streams.pending import pending_work_of

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

CALL = "f()"
SIZE = 4096  # [bytes]
CONSUMERS = ("own", "per-thread", "legacy", "default")


def array_of(ptr, device="cuda:0", stream=-1):
    """Return an Array over memory."""
    return ix.from_pointer(ptr, (SIZE,), "uint8", device=device, stream=stream)


def pick(cuda, consumer):
    """Return the `stream` argument of a consumer, and the stream to which it refers."""
    named = {"own": cuda.stream(), "per-thread": 2, "legacy": 1, "default": None}[consumer]
    return named, 1 if named is None else named


def refusal(kind, function, *args):
    """Return the rule id of the error that a call raises."""
    with pytest.raises(kind) as caught:
        function(*args)
    assert str(caught.value).startswith(f"{CALL}: ")
    return caught.value.rule


def wait(array, event, stream):
    """Wait as an import does."""
    wait_for_foreign_event(array, event.address if event else 0, stream, None, CALL)


# ---------------------------------------------------------------- a producer's event


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_sees_what_was_written_before_the_event(cuda, record_event, consumer):
    """The copy runs after the write, though the producer's stream is held."""
    producer, memory = cuda.stream(), cuda.memory()
    named, stream = pick(cuda, consumer)

    shut = cuda.fill_behind_gate(memory, 7, producer)
    wait(array_of(memory), record_event(producer), named)

    assert cuda.read_around(shut, memory, stream) == ({0}, {7})


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_what_comes_after_the_event_is_not_waited_for(cuda, record_event, gate, consumer):
    """The stream waits for one event, not for all work on the producer's stream."""
    producer, memory, target = cuda.stream(), cuda.memory(), cuda.pinned()
    named, stream = pick(cuda, consumer)
    cuda.fill(memory, 7, producer)
    event = record_event(producer)

    with gate(producer):
        wait(array_of(memory), event, named)
        cuda.copy(target, memory, stream)
        cuda("cuStreamSynchronize", stream)

        assert set(ctypes.string_at(target, SIZE)) == {7}


def test_an_event_may_go_once_it_is_waited_for(cuda, record_event):
    """The wait is enqueued, so the producer's release may destroy the event."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    event = record_event(producer)
    wait(array_of(memory), event, stream)
    event.destroy()

    assert cuda.read_around(shut, memory, stream) == ({0}, {7})


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_the_next_consumer_waits_for_the_consumers_stream(cuda, record_event, consumer):
    """The memory is ready only on this stream."""
    producer, then, memory = cuda.stream(), cuda.stream(), cuda.memory()
    named, _ = pick(cuda, consumer)
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = array_of(memory)
    wait(array, record_event(producer), named)
    capsule = array.__dlpack__(stream=then, max_version=(1, 1))

    assert cuda.read_around(shut, memory, then) == ({0}, {7})
    del capsule


def test_memory_without_an_event_is_ready(cuda):
    """No call is made for the consumer's stream, for which later consumers wait."""
    stream, array = cuda.stream(), array_of(cuda.memory())
    wait(array, None, stream)

    assert array.__cuda_array_interface__["stream"] == stream


@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed", "cuda_host"])
def test_no_sync_waits_for_nothing_and_notes_nothing(cuda, record_event, gate, device):
    """A caller that passes -1 knows that the memory is ready."""
    producer, memory = cuda.stream(), cuda.pinned()
    with gate(producer):
        array = array_of(memory, device, None if device == "cuda_host" else -1)
        wait(array, record_event(producer), -1)

        assert getattr(pending_work_of(array), "stream", None) is None


def test_the_event_of_another_device_is_waited_for(cuda, record_event):
    """An event belongs to the context that recorded it, and can be waited for in any."""
    memory, stream = cuda.memory(), cuda.stream()
    with cuda.device(1):
        producer = cuda.stream()
        shut = cuda.fill_behind_gate(memory, 7, producer)
        event = record_event(producer)
    wait(array_of(memory), event, stream)

    assert cuda.read_around(shut, memory, stream) == ({0}, {7})


# ---------------------------------------------------------------- memory that the host reads


def test_the_host_waits_for_the_event_of_page_locked_memory(cuda, record_event):
    """Without a stream the host may read the memory, so it is filled when the import returns."""
    producer, memory = cuda.stream(), cuda.pinned()
    cuda.fill(memory, 7, producer)
    wait(array_of(memory, "cuda_host", None), record_event(producer), None)

    assert set(ctypes.string_at(memory, SIZE)) == {7}


def test_the_host_waits_for_no_more_than_the_event(cuda, record_event, gate):
    """Later work of the producer is not waited for."""
    producer, memory = cuda.stream(), cuda.pinned()
    event = record_event(producer)
    with gate(producer) as shut:
        wait(array_of(memory, "cuda_host", None), event, None)

        assert not shut.is_open


@pytest.mark.parametrize("device", ["cuda_host", "cuda_managed"])
def test_a_stream_waits_for_memory_that_streams_reach(cuda, record_event, device):
    """Page-locked and managed memory are used on the stream that is passed."""
    producer, stream = cuda.stream(), cuda.stream()
    memory, target = (cuda.pinned if device == "cuda_host" else cuda.managed)(), cuda.memory()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = array_of(memory, device, None)
    wait(array, record_event(producer), stream)
    cuda.copy(target, memory, stream)
    shut.open()
    seen = {array[0].item()}  # by the host, which waits for this stream

    assert (seen, cuda.read(target)) == ({7}, {7})


def test_managed_memory_is_read_by_the_host_after_its_event(cuda, record_event):
    """The memory is ready on the default stream, for which the host waits when it reads."""
    producer, memory = cuda.stream(), cuda.managed()
    cuda.fill(memory, 7, producer)
    array = array_of(memory, "cuda_managed", None)
    wait(array, record_event(producer), None)

    assert set(array.tolist()) == {7}


# ---------------------------------------------------------------- our event


BUSY = (1, 3)


@pytest.mark.parametrize("busy", BUSY)
def test_our_event_is_behind_all_pending_work(cuda, produce, gate, busy):
    """A consumer that waits only for this event sees the writes of all streams."""
    producer = produce(*(cuda.stream() for _ in range(busy)))
    array, stream = ix.from_cai(producer), cuda.stream()
    shut = gate(producer.streams[-1])
    producer.write(7)
    event = recorded_event_of([array], CALL)
    cuda.wait_for(event.address, stream)

    assert cuda.read_around(shut, producer.ptr, stream) == ({0}, {7})


def test_our_event_is_behind_streams_that_the_producer_named_in_turn(cuda, produce):
    """A producer that changes its published stream has work on both streams."""
    first, second = cuda.stream(), cuda.stream()
    producer = produce(first)
    array, stream = ix.from_cai(producer), cuda.stream()
    shut = cuda.fill_behind_gate(producer.ptr, 7, first)
    producer.streams, producer.published = [second], second
    event = recorded_event_of([array], CALL)
    cuda.wait_for(event.address, stream)

    assert cuda.read_around(shut, producer.ptr, stream) == ({0}, {7})


def test_a_copy_on_its_way_is_behind_our_event(cuda, produce):
    """The copy is on the producer's stream, which may be destroyed before the copy."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    shut = producer.write_behind_gate(7)
    copied = ix.from_cai(producer).copy()
    event = recorded_event_of([copied], CALL)
    cuda.wait_for(event.address, stream)

    assert cuda.read_around(shut, copied.ptr, stream) == ({0}, {7})


@pytest.mark.parametrize("stream", [1, 2])
def test_our_event_is_behind_default_streams(cuda, stream):
    """Default streams are those of the memory's device."""
    memory, consumer = cuda.memory(), cuda.stream()
    shut = cuda.fill_behind_gate(memory, 7, stream)
    event = recorded_event_of([array_of(memory, stream=stream)], CALL)
    cuda.wait_for(event.address, consumer)

    assert cuda.read_around(shut, memory, consumer) == ({0}, {7})


def test_one_event_is_behind_the_work_on_several_arrays(cuda, gate):
    """The arrays are exported together, and each is written on a separate stream."""
    streams = [cuda.stream(), cuda.stream(), 1]
    arrays = [array_of(cuda.memory(), stream=stream) for stream in streams]
    arrays.append(array_of(cuda.memory()))
    target, consumer = cuda.pinned(3 * SIZE), cuda.stream()
    shut = gate(streams[0])
    for array, stream in zip(arrays, streams, strict=False):
        cuda.fill(array.ptr, 7, stream)
    event = recorded_event_of(arrays, CALL)
    cuda.wait_for(event.address, consumer)
    for i, array in enumerate(arrays[:3]):
        cuda.copy(target + i * SIZE, array.ptr, consumer)
    shut.open()
    cuda.synchronize()

    assert set(ctypes.string_at(target, 3 * SIZE)) == {7}


def test_where_nothing_is_pending_there_is_no_event(cuda):
    """The event is NULL."""
    assert recorded_event_of([array_of(cuda.memory())], CALL) is None


def test_memory_that_the_host_reads_has_been_waited_for(cuda):
    """Page-locked memory is exported when it is ready, without an event."""
    memory, stream = cuda.pinned(), cuda.stream()
    array = array_of(memory, "cuda_host", None)
    wait(array, None, stream)
    cuda.fill(memory, 7, stream)

    assert recorded_event_of([array], CALL) is None
    assert set(ctypes.string_at(memory, SIZE)) == {7}


def test_managed_memory_has_an_event(cuda, gate):
    """A consumer may use managed memory on a device."""
    memory, stream = cuda.managed(), cuda.stream()
    array = array_of(memory, "cuda_managed", stream)
    with gate(stream) as shut:
        cuda.fill(memory, 7, stream)
        event = recorded_event_of([array], CALL)

        assert (event is not None, shut.is_open) == (True, False)


# ---------------------------------------------------------------- invalid arguments


def test_null_is_no_event(cuda):
    """A producer without an event passes no address."""
    word = ctypes.c_void_p(0)
    array = array_of(cuda.memory())

    assert refusal(
        ix.ExchangeError, wait_for_foreign_event, array, ctypes.addressof(word), 1, None, CALL
    ) == ("ARROW-DEVICE-3")


@pytest.mark.parametrize("stream", [0, -2, 2**64])
@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed", "cuda_host"])
def test_what_is_no_stream_is_refused(cuda, record_event, device, stream):
    """The stream is checked with and without an event."""
    array = array_of(cuda.pinned(), device, None)
    event = record_event(cuda.stream())

    assert refusal(ix.StreamError, wait, array, event, stream) == "DLP-STREAM-2"
    assert refusal(ix.StreamError, wait, array, None, stream) == "DLP-STREAM-2"


def test_a_capturing_stream_waits_for_no_event(cuda, record_event):
    """The wait is refused before the driver is called, and the capture ends successfully."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    event = record_event(producer)
    with cuda.capture(stream):
        rule = refusal(ix.StreamError, wait, array_of(memory), event, stream)

    assert rule == "DLP-STREAM-8"


def test_a_capturing_stream_needs_no_event_of_what_is_ready(cuda):
    """No wait is needed, and no call is made."""
    stream, memory = cuda.stream(), cuda.memory()
    with cuda.capture(stream):
        wait(array_of(memory), None, stream)


def test_the_host_waits_beside_a_capture(cuda, record_event):
    """A wait of the host for a foreign event does not invalidate a capture."""
    producer, other, memory = cuda.stream(), cuda.stream(), cuda.pinned()
    event = record_event(producer)
    with cuda.capture(other):
        wait(array_of(memory, "cuda_host", None), event, None)


def test_no_event_is_recorded_in_a_capture(cuda):
    """A consumer outside of the capture could not wait for it; the capture ends successfully."""
    stream = cuda.stream()
    array = array_of(cuda.memory(), stream=stream)
    with cuda.capture(stream):
        rule = refusal(ix.StreamError, recorded_event_of, [array], CALL)

    assert rule == "DLP-STREAM-8"


def test_an_event_of_a_capture_is_found_out(cuda, record_event):
    """The stream would join the capture, as the error states."""
    origin, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    with cuda.capture(origin):
        rule = refusal(ix.StreamError, wait, array_of(memory), record_event(origin), stream)
        join = record_event(stream)
        cuda("cuStreamWaitEvent", origin, join.handle, 0)

    assert rule == "DLP-STREAM-8"
