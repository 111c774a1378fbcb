"""Ordering of copies on streams: what they wait for, and what waits for them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

SIZE = 4096
WAITS = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuStreamQuery"}
SLOW = 0.02  # [seconds]; duration of an operation on a slow stream


def filled(value):
    """Return the contents of memory that was filled."""
    return bytes([value]) * SIZE


class Busy:
    """Device memory that a slow stream is about to fill with sevens."""

    def __init__(self, machine, emulator):
        self.stream = machine.stream()
        self.ptr = machine.memory(np.zeros(SIZE, np.uint8))
        self.emulator = emulator
        emulator.delay(self.stream, SLOW)
        self.fill(7)
        self.array = described(self.ptr, self.stream)

    def fill(self, value):
        """Enqueue a write on the stream."""
        self.emulator.fill(self.stream, self.ptr, SIZE, value)


def described(ptr, stream):
    """Return an Array over device memory on which work is pending."""
    return ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=stream)


@pytest.fixture
def busy(machine, emulator):
    """Return memory that a stream is about to fill."""
    return Busy(machine, emulator)


def ordered(trace):
    """Return the streams on which events were recorded, and those that waited for one."""
    return (
        [call.args["stream"] for call in trace.calls if call.name == "cuEventRecord"],
        [call.args["stream"] for call in trace.calls if call.name == "cuStreamWaitEvent"],
    )


def copy_here(array, stream):
    """Copy on the same device."""
    capsule = array.__dlpack__(stream=stream, copy=True, max_version=(1, 0))
    return ix.from_dlpack(capsule, stream=stream)


def copy_to_another(array, stream):
    """Copy to the second device."""
    return array.to_device("cuda:1", stream=stream)


both = pytest.mark.parametrize("copy", [copy_here, copy_to_another])


# ---------------------------------------------------------------- which stream


@both
def test_a_copy_waits_for_the_work_on_its_source(machine, emulator, busy, copy):
    """A copy waits for the work on its source by event, and the producer for the copy.

    There is one record and one wait each way.
    """
    stream = machine.stream(1 if copy is copy_to_another else 0)

    with emulator.trace() as trace:
        copied = copy(busy.array, stream)

    assert ordered(trace) == ([busy.stream, stream], [stream, busy.stream])
    assert not WAITS & set(trace.names)
    assert machine.read(copied.ptr, SIZE) == filled(7)


@both
def test_a_copy_on_the_stream_of_its_source_needs_no_event(machine, emulator, busy, copy):
    """A copy on the stream of its source needs no event.

    Only freeing memory of another device has to wait for the copy.
    """
    with emulator.trace() as trace:
        copied = copy(busy.array, busy.stream)

    recorded, waiting = ordered(trace)
    assert recorded == ([busy.stream] if copy is copy_to_another else [])
    assert len(waiting) == len(recorded)
    assert busy.stream not in waiting
    assert not WAITS & set(trace.names)
    assert machine.read(copied.ptr, SIZE) == filled(7)


@pytest.mark.parametrize(
    "move", [lambda array: array.copy(), lambda array: array.to_device((2, 1))]
)
def test_a_copy_for_which_no_stream_is_named_runs_where_work_is_pending(
    machine, emulator, busy, move
):
    """The copy follows the work on its source."""
    with emulator.trace() as trace:
        copied = move(busy.array)

    (stream,) = [call.args["stream"] for call in trace.calls if call.name == "cuMemcpyAsync"]
    assert stream == busy.stream
    assert not WAITS & set(trace.names)
    assert machine.read(copied.ptr, SIZE) == filled(7)


def test_a_copy_runs_on_the_per_thread_stream_where_nothing_is_pending(machine, emulator):
    """The legacy stream, which others wait for, is not touched."""
    array = described(machine.memory(np.full(SIZE, 7, np.uint8)), None)

    with emulator.trace() as trace:
        copied = array.copy()

    (stream,) = [call.args["stream"] for call in trace.calls if call.name == "cuMemcpyAsync"]
    assert stream == 2
    assert ordered(trace) == ([], [])
    assert machine.read(copied.ptr, SIZE) == filled(7)


def test_strided_copies_do_not_let_the_host_wait(machine, emulator, busy):
    """Rows and columns are the driver's to copy."""
    stream = machine.stream()
    square = busy.array.reshape((64, 64))[::2, 1:9]

    with emulator.trace() as trace:
        copied = copy_here(square, stream)

    assert trace.names.count("cuMemcpy3DAsync") == 1
    assert not WAITS & set(trace.names)
    assert machine.read(copied.ptr, copied.nbytes) == filled(7)[: 32 * 8]


def test_rows_that_are_gathered_for_another_device_do_not_let_the_host_wait(
    machine, emulator, busy
):
    """Rows gathered for another device are freed without making the host wait."""
    stream = machine.stream(1)

    with emulator.trace() as trace:
        copied = busy.array.reshape((64, 64))[::2].to_device("cuda:1", stream=stream)

    assert not (WAITS | {"cuMemFree"}) & set(trace.names)
    assert machine.read(copied.ptr, copied.nbytes) == filled(7)[: 32 * 64]


def test_elements_that_the_host_puts_in_order_are_fetched_after_the_work(machine, busy):
    """Elements rearranged by the host are read after the same wait."""
    busy.emulator.fill(busy.stream, busy.ptr, 1, 1)

    copied = busy.array[::-1].copy()

    assert machine.read(copied.ptr, SIZE) == filled(7)[1:] + b"\1"


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("target", ["cuda:0", "cuda:1"])
def test_default_streams_are_those_of_the_device_that_is_written(
    machine, emulator, busy, target, stream
):
    """A number below 3 is another stream on every device."""
    copied = busy.array.__dlpack__(
        stream=stream, copy=True, dl_device=ix.Device.of(target).__dlpack_device__()
    )

    array = ix.from_dlpack(copied, stream=stream)
    with machine.current(array.device.id):
        emulator.annotate(stream, array.ptr, SIZE, write=False)
    assert machine.read(array.ptr, SIZE) == filled(7)


@pytest.mark.parametrize("pending", [1, 2])
@pytest.mark.parametrize("stream", [None, 1, 2, "another"])
def test_default_streams_of_two_devices_are_distinct(machine, emulator, pending, stream):
    """The same number on another device is waited for like any other stream, not on the host."""
    ptr = machine.memory(np.zeros(SIZE, np.uint8))
    stream = machine.stream(1) if stream == "another" else stream
    emulator.delay(pending, SLOW)
    emulator.fill(pending, ptr, SIZE, 7)

    with emulator.trace() as trace:
        moved = described(ptr, pending).to_device("cuda:1", stream=stream)

    emulator.fill(pending, ptr, SIZE, 9)
    assert not WAITS & set(trace.names)
    assert machine.read(moved.ptr, SIZE) == filled(7)


# ---------------------------------------------------------------- after the copy


@both
def test_the_next_consumer_waits_for_the_copy(machine, emulator, busy, copy):
    """The result has its stream, and keeps it alive."""
    stream, consumer = machine.stream(), machine.stream(int(copy is copy_to_another))
    copied = copy(busy.array, stream)

    taken = ix.from_dlpack(copied, stream=consumer)
    emulator.annotate(consumer, taken.ptr, SIZE, write=False)

    assert machine.read(taken.ptr, SIZE) == filled(7)


@both
def test_a_consumer_that_does_not_ask_races_with_the_copy(machine, emulator, busy, copy):
    """The race detector reports a consumer that does not wait for the copy."""
    stream, consumer = machine.stream(), machine.stream(int(copy is copy_to_another))
    copied = copy(busy.array, stream)

    emulator.annotate(consumer, copied.ptr, SIZE, write=False)

    machine.synchronize()
    emulator.expect_reports()


@both
def test_the_producer_may_write_when_the_copy_is_enqueued(machine, emulator, busy, copy):
    """The producer may write when the copy is enqueued: its stream waits for the read."""
    stream = machine.stream()
    emulator.delay(stream, 2 * SLOW)

    copied = copy(busy.array, stream)
    busy.fill(9)

    assert machine.read(copied.ptr, SIZE) == filled(7)


@both
def test_without_waits_a_copy_races(machine, emulator, busy, copy):
    """Without the waits the tests above fail."""
    with emulator.without_waits():
        copy(busy.array, machine.stream())

    machine.synchronize()
    emulator.expect_reports()


def test_another_thread_waits_for_a_copy_on_this_threads_stream(machine, emulator):
    """The number 2 means another stream there."""
    array = described(machine.memory(np.full(SIZE, 7, np.uint8)), None)
    emulator.delay(2, SLOW)
    copied, consumer = array.copy(), machine.stream()

    def consume():
        machine("cuCtxSetCurrent", machine.contexts[0])
        for stream in (2, consumer):
            taken = ix.from_dlpack(copied, stream=stream)
            emulator.annotate(stream, taken.ptr, SIZE, write=False)

    with emulator.trace() as trace:
        thread = threading.Thread(target=consume)
        thread.start()
        thread.join()
    assert not WAITS & set(trace.names)
    assert machine.read(copied.ptr, SIZE) == filled(7)


def test_a_stream_object_lives_as_long_as_what_it_fills(machine, busy):
    """A stream object lives as long as the copy on it, since a later consumer needs the stream."""

    class Stream:
        def __init__(self, handle):
            self.handle = handle

        def __cuda_stream__(self):
            return 0, self.handle

    stream = Stream(machine.stream())

    moved = busy.array.to_device("cuda:1", stream=stream)

    assert moved._pending_work.keep is stream
    assert moved._pending_work.stream == stream.handle


# ---------------------------------------------------------------- the host


@pytest.mark.parametrize("target", ["cpu", "cuda_host:0"])
def test_the_host_waits_once_for_what_it_will_read(emulator, busy, target):
    """A copy to the host is complete when the call returns, and no work is pending."""
    with emulator.trace() as trace:
        here = busy.array.to_device(target)

    assert np.asarray(here).tobytes() == filled(7)
    assert [name for name in trace.names if name in WAITS] == ["cuStreamSynchronize"]
    assert ordered(trace) == ([], [])
    assert not hasattr(here, "_pending_work")


def test_the_host_waits_for_a_copy_on_the_stream_that_is_named(machine, emulator, busy):
    """The copy waits for the producer by event, the host for the copy."""
    stream = machine.stream()

    with emulator.trace() as trace:
        here = busy.array.to_device("cpu", stream=stream)

    assert ordered(trace) == ([busy.stream], [stream])
    assert np.asarray(here).tobytes() == filled(7)


def test_plain_host_memory_may_be_written_when_it_is_on_its_way(machine, emulator):
    """The driver copies pageable host memory at once, so that no wait is needed."""
    elements, stream = np.full(SIZE, 7, np.uint8), machine.stream()
    emulator.delay(stream, SLOW)

    with emulator.trace() as trace:
        there = ix.asarray(elements).to_device("cuda", stream=stream)
    elements[:] = 9

    assert not WAITS & set(trace.names)
    assert machine.read(there.ptr, SIZE) == filled(7)


@pytest.mark.parametrize("kind", ["cuda_host:0", "cuda_managed:0", "cpu"])
def test_page_locked_and_managed_memory_may_be_written_after_the_call(machine, emulator, kind):
    """The driver copies straight from it, also where it is called plain: so the host waits."""
    ptr = machine.managed(SIZE) if kind == "cuda_managed:0" else machine.pinned(SIZE)
    stream = machine.stream()
    machine("cuMemsetD8", ptr, 7, SIZE)
    machine.synchronize()
    emulator.delay(stream, SLOW)

    there = ix.from_pointer(ptr, (SIZE,), "uint8", device=kind).to_device("cuda", stream=stream)
    emulator.host_access(ptr, SIZE, write=True)
    machine("cuMemsetD8", ptr, 9, SIZE)

    assert machine.read(there.ptr, SIZE) == filled(7)


def test_managed_memory_becomes_the_hosts_when_the_work_on_it_is_done(machine, emulator):
    """Managed memory is passed to the host after a wait, unless the caller passes -1."""
    ptr, stream = machine.managed(SIZE), machine.stream()
    emulator.delay(stream, SLOW)
    emulator.fill(stream, ptr, SIZE, 7)
    array = ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda_managed", stream=stream)

    with emulator.trace() as unsynchronized:
        array.to_device("cpu", stream=-1)
    shared = array.to_device("cpu")
    emulator.host_access(ptr, SIZE, write=False)

    assert np.asarray(shared).tobytes() == filled(7)
    assert not unsynchronized.calls


@pytest.mark.parametrize("target", [None, "cuda:1"])
def test_a_copy_of_managed_memory_waits_for_the_work_on_it(machine, emulator, target):
    """The host waits for its copy; default streams are those of the current device."""
    ptr = machine.managed(SIZE)
    stream = machine.stream() if target is None else 2
    emulator.delay(stream, SLOW)
    emulator.fill(stream, ptr, SIZE, 7)
    array = ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda_managed", stream=stream)

    copied = array.copy() if target is None else array.to_device(target)

    assert np.asarray(copied.to_device("cpu")).tobytes() == filled(7)


# ---------------------------------------------------------------- refused requests


@pytest.mark.parametrize(
    ("stream", "rule"),
    [
        *((stream, "DLP-STREAM-2") for stream in (-1, 0, -2)),
        *((stream, "DLP-STREAM-4") for stream in ("7", True, 7.0)),
    ],
)
@pytest.mark.parametrize("target", ["cpu", "cuda:1"])
def test_an_invalid_stream_is_refused_before_any_call(emulator, busy, target, stream, rule):
    """A copy runs on a stream."""
    with emulator.trace() as trace, pytest.raises(ix.StreamError, match=rule):
        busy.array.to_device(target, stream=stream)

    assert not trace.calls


def test_minus_one_is_refused_for_a_copy(emulator, busy):
    """A copy for a consumer that passes -1 is refused, since it would have to be waited for."""
    refused = pytest.raises(ix.StreamError, match=r"runs on a stream.*DLP-STREAM-2")
    with emulator.trace() as trace, refused:
        busy.array.__dlpack__(stream=-1, copy=True)

    assert not trace.calls


def test_a_stream_that_is_gone_is_refused(machine, emulator, busy):
    """A destroyed stream is refused, and nothing leaks."""
    gone = int(machine("cuStreamCreate", 1))
    machine("cuStreamDestroy", gone)
    before = emulator.live()

    with pytest.raises(ix.StreamError, match="DLP-STREAM-7"):
        copy_to_another(busy.array, gone)

    assert emulator.live()._replace(events=0) == before._replace(events=0)
