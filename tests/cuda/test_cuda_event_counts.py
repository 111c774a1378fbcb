"""Events passed between libraries, on the emulated driver: races, driver calls and counts."""

from __future__ import annotations

import ctypes
import gc
import os
import threading

import pytest

import interchange as ix
from interchange._streams.events import recorded_event_of, wait_for_foreign_event

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 4096  # [bytes]


def array_of(ptr, device="cuda:0", stream=-1):
    """Return an Array over memory."""
    return ix.from_pointer(ptr, (SIZE,), "uint8", device=device, stream=stream)


def write_and_wait(cuda, emulator, record_event, how):
    """Write on one stream, wait for its event with `how`, and read on another stream."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    emulator.fill(producer, memory, SIZE, 7)
    how(array_of(memory), record_event(producer).address, stream, None, CALL)
    emulator.annotate(stream, memory, SIZE, write=False)


def test_the_detector_sees_the_order(cuda, emulator, record_event):
    """A consumer that waits for the event reads after the write, and no race is reported."""
    write_and_wait(cuda, emulator, record_event, wait_for_foreign_event)

    assert emulator.reports() == []


@pytest.mark.parametrize("missing", ["the wait", "the event"])
def test_without_the_wait_or_the_event_there_is_a_race(cuda, emulator, record_event, missing):
    """The same program has a race if waits have no effect, or if only the stream is recorded."""

    def forget(tensor, _, *rest):
        wait_for_foreign_event(tensor, 0, *rest)

    if missing == "the event":
        write_and_wait(cuda, emulator, record_event, forget)
    else:
        with emulator.without_waits():
            write_and_wait(cuda, emulator, record_event, wait_for_foreign_event)

    assert len(emulator.expect_reports(match="RAW")) == 1


@pytest.mark.parametrize("device", ["cuda_host", "cuda_managed"])
def test_the_host_reads_after_the_event(cuda, emulator, record_event, device):
    """The detector sees the wait of the host, for every kind of memory."""
    memory = cuda.pinned() if device == "cuda_host" else cuda.managed()
    producer, array = cuda.stream(), array_of(memory, device, None)
    emulator.fill(producer, memory, SIZE, 7)
    wait_for_foreign_event(array, record_event(producer).address, None, None, CALL)
    seen = set(array.tolist())
    emulator.host_access(memory, SIZE, write=False)

    assert seen == {7}


def test_a_wait_is_one_call_beside_questions(cuda, emulator, record_event):
    """The stream waits for the event: nothing is recorded, and the host does not wait."""
    producer, stream, array = cuda.stream(), cuda.stream(), array_of(cuda.memory())
    event = record_event(producer)
    with emulator.trace() as trace:
        wait_for_foreign_event(array, event.address, stream, None, CALL)
    waits = [call.args for call in trace.calls if call.name == "cuStreamWaitEvent"]

    assert waits == [{"stream": stream, "event": event.handle}]
    assert not {"cuEventRecord", "cuEventSynchronize", "cuStreamSynchronize"} & set(trace.names)


@pytest.mark.parametrize("ready", [True, False])
def test_no_call_is_made_where_none_is_needed(cuda, emulator, record_event, ready):
    """Without an event, and with -1, which must not affect a capture."""
    event = 0 if ready else record_event(cuda.stream()).address
    array, stream = array_of(cuda.memory()), cuda.stream() if ready else -1
    with emulator.trace() as trace:
        wait_for_foreign_event(array, event, stream, None, CALL)

    assert trace.names == []


def test_the_host_does_not_wait_for_our_event(cuda, emulator):
    """The event is recorded while the producer's stream is held."""
    stream = cuda.stream()
    array = array_of(cuda.memory(), stream=stream)
    with emulator.held(stream):
        emulator.fill(stream, array.ptr, SIZE, 7)
        recorded_event_of([array], CALL)

        assert emulator.pending(stream) > 0


def test_an_event_lives_as_long_as_its_object(cuda, emulator):
    """The event is destroyed with it, whatever context is current in that thread."""
    array = array_of(cuda.memory(), stream=cuda.stream())
    before = emulator.live().events
    kept = [recorded_event_of([array], CALL)]
    during = emulator.live().events
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()

    assert (during - before, emulator.live().events - before) == (1, 0)


def test_events_do_not_grow(cuda, emulator, record_event):
    """A hundred waits and a hundred records leave no events."""
    array = array_of(cuda.memory(), stream=cuda.stream())
    event = record_event(cuda.stream())
    taken = cuda.stream()
    before = emulator.live().events
    for _ in range(100):
        held = recorded_event_of([array], CALL)
        wait_for_foreign_event(array_of(array.ptr), event.address, taken, None, CALL)
        wait_for_foreign_event(array_of(array.ptr), held.address, taken, None, CALL)
    del held

    assert emulator.live().events == before


def test_a_stream_that_is_gone_leaves_no_event(cuda, emulator):
    """The error names the stream."""
    stream = int(cuda("cuStreamCreate", 1))
    array = array_of(cuda.memory(), stream=stream)
    cuda("cuStreamDestroy", stream)
    before = emulator.live().events
    with pytest.raises(ix.StreamError) as caught:
        recorded_event_of([array], CALL)

    assert (caught.value.rule, emulator.live().events) == ("DLP-STREAM-7", before)


@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed", "cuda_host"])
@pytest.mark.parametrize("named", [False, True])
def test_an_event_that_was_destroyed_is_refused(cuda, record_event, device, named):
    """The producer must keep the event until release."""
    event = record_event(cuda.stream())
    address = ctypes.c_void_p(event.handle)
    event.destroy()
    array = array_of(cuda.pinned(), device, None)
    stream = cuda.stream() if named else None
    with pytest.raises(ix.ExchangeError) as caught:
        wait_for_foreign_event(array, ctypes.addressof(address), stream, None, CALL)

    assert caught.value.rule == "ARROW-DEVICE-3"
    assert f"{event.handle:#x} is not an event" in str(caught.value)


def test_a_stream_that_is_gone_waits_for_nothing(cuda, record_event):
    """The error differs from that for a destroyed event."""
    stream, event = int(cuda("cuStreamCreate", 1)), record_event(cuda.stream())
    cuda("cuStreamDestroy", stream)
    with pytest.raises(ix.StreamError) as caught:
        wait_for_foreign_event(array_of(cuda.memory()), event.address, stream, None, CALL)

    assert caught.value.rule == "DLP-STREAM-7"


def test_a_forked_child_leaves_our_event_alone(cuda, emulator):
    """The event belongs to the parent, whose driver cannot be called in the child."""
    event = recorded_event_of([array_of(cuda.memory(), stream=cuda.stream())], CALL)
    before = emulator.live().events
    event._process = os.getpid() + 1  # as in a child
    del event
    gc.collect()
    left = emulator.live().events

    assert left == before


@pytest.mark.readable
def test_the_ctypes_core_exports_nothing(cuda, emulator):
    """The ctypes core names the package to install, and leaves no event."""
    busy = array_of(cuda.memory(), stream=cuda.stream())
    before = emulator.live().events
    with pytest.raises(ix.BackendUnavailableError) as caught:
        ix.to_arrow(busy)
    rule = caught.value.rule
    del caught
    gc.collect()  # objects kept by the traceback

    assert (rule, emulator.live().events) == ("ARROW-CORE-1", before)
