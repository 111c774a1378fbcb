"""Streams, events and contexts of the emulated driver: order, lifetime and errors."""

from __future__ import annotations

import itertools

import pytest

from .programs import ON_DRIVER

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2
UNKNOWN = 0x5EC0DEADBEE0


# ---------------------------------------------------------------- order


def waits_for(cuda, memory, first, second):
    """Return whether a record in one stream waits for an earlier, held operation of another."""
    event = cuda.event()
    with cuda.emulator.held(first):
        cuda.emulator.annotate(first, memory, 1, write=False)
        cuda.cuEventRecord(event, second)
        return cuda.code("cuEventQuery", event) == "NOT_READY"


PAIRS = {
    ("blocking", LEGACY): True,
    (LEGACY, "blocking"): True,
    (PER_THREAD, LEGACY): True,
    (LEGACY, PER_THREAD): True,
    ("blocking", 0): True,
    ("non-blocking", LEGACY): False,
    (LEGACY, "non-blocking"): False,
    ("blocking", PER_THREAD): False,
    ("blocking", "blocking"): False,
    ("blocking", "non-blocking"): False,
}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_default_streams_order_what_the_documents_say(cuda, memory, pair):
    """The legacy stream waits for all blocking streams and they wait for it; others do not wait."""
    first, second = (
        cuda.stream(blocking=name == "blocking") if isinstance(name, str) else name for name in pair
    )

    assert waits_for(cuda, memory, first, second) is PAIRS[pair]


def test_a_wait_is_for_the_work_before_the_record(cuda, streams, memory):
    """A wait does not include later work in the same stream."""
    first, second = streams
    event = cuda.event()
    cuda.cuMemsetD8Async(memory, 7, SIZE, first)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamSynchronize(first)
    with cuda.emulator.held(first):
        cuda.emulator.annotate(first, 0, 0, write=False)
        cuda.cuStreamWaitEvent(second, event, 0)
        cuda.cuMemsetD8Async(memory, 8, SIZE, second)
        cuda.cuStreamSynchronize(second)

        assert cuda.first_byte(memory) == 8


def test_operations_of_a_stream_run_in_order(cuda, streams, memory):
    """Each operation runs after the one before it is done."""
    stream, _ = streams
    cuda.emulator.delay(stream, 0.001)
    for value in range(10):
        cuda.cuMemsetD8Async(memory, value, SIZE, stream)
    cuda.cuStreamSynchronize(stream)

    assert cuda.first_byte(memory) == 9


def test_a_chain_through_many_streams_runs_to_its_end(cuda, memory):
    """A thousand streams, each waiting for the one before, complete after the first is released."""
    streams = [cuda.stream() for _ in range(1000)]
    with cuda.emulator.held(streams[0]):
        for earlier, later in itertools.pairwise(streams):
            cuda.order(earlier, later)
        cuda.cuMemsetD8Async(memory, 9, SIZE, streams[-1])
        before = cuda.first_byte(memory)
    cuda.cuStreamSynchronize(streams[-1])

    assert (before, cuda.first_byte(memory)) == (0, 9)


def test_every_thread_has_a_default_stream_of_its_own(cuda, memory):
    """A gate on handle 2 of one thread does not hold handle 2 of another."""

    def other():
        cuda.cuMemsetD8Async(memory, 9, SIZE, PER_THREAD)
        cuda.cuStreamSynchronize(PER_THREAD)
        return cuda.cuStreamGetId(PER_THREAD)

    with cuda.emulator.held(PER_THREAD):
        found = cuda.in_thread(other)

    assert cuda.first_byte(memory) == 9
    assert found != cuda.cuStreamGetId(PER_THREAD)


PER_THREAD_FLAVOUR = f"""{ON_DRIVER}
import threading
context = d.cuCtxGetCurrent()[1]
memory = d.cuMemAlloc(4096)[1]
ids = set(d.cuStreamGetId(0)[1:])

def other():
    d.cuCtxSetCurrent(context)
    ids.add(d.cuStreamGetId(0)[1])
    d.cuMemsetD8Async(memory, 8, 4096, 0)

d.cuMemsetD8Async(memory, 7, 4096, 0)
thread = threading.Thread(target=other)
thread.start()
thread.join()
print(len(ids), len(emulator.reports()))
"""


@pytest.mark.parametrize(
    ("flavour", "streams", "reports"), [("0", 1, 0), ("1", 2, 1)], ids=["legacy", "per-thread"]
)
def test_stream_0_is_what_the_binding_asked_for(run_isolated, flavour, streams, reports):
    """Stream 0 is the legacy stream of all threads, or a stream per thread in that flavour."""
    out = run_isolated(
        PER_THREAD_FLAVOUR, env={"CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": flavour}
    )

    assert list(map(int, out.split())) == [streams, reports]


# ---------------------------------------------------------------- events


def test_an_event_is_done_when_its_work_is(cuda, streams):
    """The event is not ready while the stream is held, and ready after it."""
    stream, _ = streams
    event = cuda.event()
    with cuda.emulator.held(stream):
        cuda.cuEventRecord(event, stream)
        before = cuda.code("cuEventQuery", event)
    cuda.cuEventSynchronize(event)

    assert (before, cuda.code("cuEventQuery", event)) == ("NOT_READY", "SUCCESS")


def test_an_event_that_was_never_recorded_is_done(cuda, streams):
    """Such an event has no work: a wait returns at once."""
    event = cuda.event()

    assert cuda.code("cuEventQuery", event) == "SUCCESS"
    assert cuda.code("cuEventSynchronize", event) == "SUCCESS"
    assert cuda.code("cuStreamWaitEvent", streams[0], event, 0) == "SUCCESS"


def test_recording_again_forgets_the_earlier_record(cuda, streams):
    """The event refers to the last record."""
    held, free = streams
    event = cuda.event()
    with cuda.emulator.held(held):
        cuda.cuEventRecord(event, held)
        cuda.cuEventRecord(event, free)

        assert cuda.code("cuEventQuery", event) == "SUCCESS"


def test_an_event_may_be_destroyed_while_it_is_waited_for(cuda, streams, memory):
    """The wait remains, and the event is no longer counted."""
    first, second = streams
    events = cuda.emulator.live().events
    with cuda.emulator.held(first):
        cuda.emulator.annotate(first, 0, 0, write=False)
        cuda.order(first, second)
        cuda.cuMemsetD8Async(memory, 7, SIZE, second)
        before = cuda.first_byte(memory), cuda.emulator.live().events - events
    cuda.cuStreamSynchronize(second)

    assert (before, cuda.first_byte(memory)) == ((0, 0), 7)


def test_elapsed_time_is_that_between_two_events(cuda, streams):
    """The time is in milliseconds and not shorter than the delay of the operation in between."""
    stream, _ = streams
    start, end = cuda.cuEventCreate(0), cuda.cuEventCreate(0)
    cuda.emulator.delay(stream, 0.02)
    cuda.cuEventRecord(start, stream)
    cuda.emulator.annotate(stream, 0, 0, write=False)
    cuda.cuEventRecord(end, stream)
    early = cuda.code("cuEventElapsedTime", start, end)
    cuda.cuEventSynchronize(end)

    assert early == "NOT_READY"
    assert 20 <= cuda.cuEventElapsedTime(start, end) < 20_000


def test_elapsed_time_needs_timed_and_recorded_events(cuda, streams):
    """An event without timing and one that was never recorded are invalid handles."""
    timed, other, clockless = cuda.cuEventCreate(0), cuda.cuEventCreate(0), cuda.event()
    cuda.cuEventRecord(timed, streams[0])
    cuda.cuEventRecord(clockless, streams[0])

    assert cuda.code("cuEventElapsedTime", timed, clockless) == "INVALID_HANDLE"
    assert cuda.code("cuEventElapsedTime", timed, other) == "INVALID_HANDLE"


def test_an_event_is_recorded_in_streams_of_its_context_only(cuda):
    """An event of another context can be waited for."""
    event = cuda.event()
    with cuda.device(1):
        stream = cuda.stream()
        recorded = cuda.code("cuEventRecord", event, stream)
        waited = cuda.code("cuStreamWaitEvent", stream, event, 0)

    assert (recorded, waited) == ("INVALID_HANDLE", "SUCCESS")


def test_a_wait_across_devices_orders(cuda, streams):
    """A stream of device 1 waits for a held stream of device 0."""
    first, _ = streams
    event = cuda.event()
    with cuda.emulator.held(first):
        cuda.emulator.annotate(first, 0, 0, write=False)
        cuda.cuEventRecord(event, first)
        with cuda.device(1):
            second = cuda.stream()
            cuda.cuStreamWaitEvent(second, event, 0)
            end = cuda.event()
            cuda.cuEventRecord(end, second)
            before = cuda.code("cuEventQuery", end)
    cuda.cuEventSynchronize(end)

    assert before == "NOT_READY"


INVALID_FLAGS = [("cuEventCreate", flags) for flags in (8, 4, 1 << 10)] + [("cuStreamCreate", 2)]


@pytest.mark.parametrize(("name", "flags"), INVALID_FLAGS)
def test_invalid_flags_are_refused(cuda, name, flags):
    """Unknown flags, and an interprocess event (4) with timing; streams have two kinds."""
    assert cuda.code(name, flags) == "INVALID_VALUE"


# ---------------------------------------------------------------- handles

OF_A_STREAM = ("Synchronize", "Query", "Destroy", "GetFlags", "GetPriority", "GetId", "GetDevice")
OF_A_STREAM += ("GetCtx", "IsCapturing", "EndCapture")
CALLS = {
    **{f"cuStream{name}": lambda stream, _: (stream,) for name in OF_A_STREAM},
    "cuMemsetD8Async": lambda stream, memory: (memory, 1, 1, stream),
    "cuMemcpyAsync": lambda stream, memory: (memory, memory + 64, 1, stream),
    "cuMemAllocAsync": lambda stream, _: (1, stream),
    "cuMemFreeAsync": lambda stream, memory: (memory, stream),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["destroyed", "unknown", "an event", "small"])
def test_what_is_no_stream_is_an_invalid_handle(cuda, memory, name, kind):
    """Every call returns the error, and none crashes."""
    stream = cuda.stream()
    cuda.cuStreamDestroy(stream)
    handles = {"destroyed": int(stream), "unknown": UNKNOWN, "an event": int(cuda.event())}

    assert cuda.code(name, *CALLS[name](handles.get(kind, 3), memory)) == "INVALID_HANDLE"


@pytest.mark.parametrize("handle", [0, LEGACY, PER_THREAD])
def test_default_streams_cannot_be_destroyed(cuda, handle):
    """Default streams belong to the driver."""
    assert cuda.code("cuStreamDestroy", handle) == "INVALID_HANDLE"


def test_what_is_no_event_is_an_invalid_handle(cuda, streams):
    """Destroyed and unknown events, NULL and streams are refused."""
    gone = cuda.event()
    cuda.cuEventDestroy(gone)
    for event in (int(gone), UNKNOWN, 0, int(streams[0])):
        for name in ("cuEventQuery", "cuEventSynchronize", "cuEventDestroy"):
            assert cuda.code(name, event) == "INVALID_HANDLE"
        assert cuda.code("cuEventRecord", event, streams[0]) == "INVALID_HANDLE"
        assert cuda.code("cuStreamWaitEvent", streams[0], event, 0) == "INVALID_HANDLE"


def test_a_handle_is_given_out_once(cuda):
    """A destroyed stream stays unknown when new streams are created."""
    handles = []
    for _ in range(100):
        stream = cuda.stream()
        handles.append(int(stream))
        cuda.cuStreamDestroy(stream)

    assert len(set(handles)) == 100


def test_a_stream_knows_what_it_is(cuda):
    """A stream has flags, a priority, a device and a context."""
    stream = cuda.cuStreamCreateWithPriority(1, -3)
    least, greatest = cuda.cuCtxGetStreamPriorityRange()

    assert cuda.cuStreamGetFlags(stream) == 1
    assert cuda.cuStreamGetPriority(stream) == -3
    assert int(cuda.cuStreamGetDevice(stream)) == 0
    assert int(cuda.cuStreamGetCtx(stream)) == int(cuda.context)
    assert (least, greatest) == (0, -5)


@pytest.mark.parametrize(("asked", "given"), [(5, 0), (-99, -5)])
def test_priorities_are_clamped(cuda, asked, given):
    """Priorities are clamped to the range of the context."""
    stream = cuda.cuStreamCreateWithPriority(0, asked)

    assert cuda.cuStreamGetPriority(stream) == given
