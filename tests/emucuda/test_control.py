"""The methods of `Emulator`, which control the driver of this process."""

from __future__ import annotations

import time

import pytest

from interchange_conformance.emucuda import EVERY_STREAM, Live

from .test_values import StreamOfCore

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
NON_BLOCKING = 1


# ---------------------------------------------------------------- stream objects


def test_streams_of_libraries_are_known(emulator, streams):
    """Objects of cuda.bindings, integers and objects with ``__cuda_stream__`` are accepted."""
    stream, _ = streams

    for given in (stream, int(stream), StreamOfCore(int(stream))):
        assert emulator.pending(given) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda emulator: emulator.hold(0xDEAD0),
        lambda emulator: emulator.release(0xDEAD0),
        lambda emulator: emulator.delay(0xDEAD0, 1),
        lambda emulator: emulator.pending(0xDEAD0),
        lambda emulator: emulator.annotate(0xDEAD0, 0, 0, write=True),
        lambda emulator: emulator.fill(0xDEAD0, 0, 0, 0),
        lambda emulator: emulator.held(0xDEAD0).__enter__(),
    ],
)
@pytest.mark.usefixtures("cuda")
def test_an_unknown_stream_is_refused_by_every_method(emulator, call):
    """A mistyped handle raises an error instead of appearing to be held."""
    with pytest.raises(ValueError, match="0xdead0 is not a stream"):
        call(emulator)


SLIPS = [(2**64, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)]


@pytest.mark.parametrize(("slip", "error"), SLIPS)
@pytest.mark.parametrize(
    "call",
    [
        lambda emulator, slip: emulator.hold(slip),
        lambda emulator, slip: emulator.delay(slip, 1),
        lambda emulator, slip: emulator.annotate(2, slip, 1, write=True),
        lambda emulator, slip: emulator.annotate(2, 0, slip, write=True),
        lambda emulator, slip: emulator.fill(2, slip, 1, 7),
        lambda emulator, slip: emulator.fill(2, 0, slip, 7),
        lambda emulator, slip: emulator.fill(2, 0, 1, slip),
        lambda emulator, slip: emulator.host_access(slip, 1, write=True),
        lambda emulator, slip: emulator.host_access(0, slip, write=True),
        lambda emulator, slip: emulator.alias(slip),
        lambda emulator, slip: emulator.read(slip, 1),
        lambda emulator, slip: emulator.read(0, slip),
    ],
)
@pytest.mark.usefixtures("cuda")
def test_a_number_that_c_would_cut_off_is_refused_by_every_method(emulator, call, slip, error):
    """An invalid number never acts on stream 0 or address 0, and leaves no report."""
    with pytest.raises(error):
        call(emulator, slip)

    assert emulator.reports() == []


# ---------------------------------------------------------------- gates and delays


def test_a_held_stream_starts_nothing(emulator, cuda, streams, memory):
    """Work that is enqueued in a held stream runs only after the release."""
    stream, _ = streams
    emulator.hold(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    before = emulator.read(memory, 4), emulator.pending(stream)
    emulator.release(stream)
    cuda.cuStreamSynchronize(stream)

    assert before == (bytes(4), 1)
    assert (emulator.read(memory, 4), emulator.pending(stream)) == (b"\7" * 4, 0)


def test_another_stream_runs_on_meanwhile(emulator, cuda, streams, memory):
    """A gate holds one stream, not the whole driver."""
    held, free = streams
    with emulator.held(held):
        cuda.cuMemsetD8Async(memory, 7, SIZE, free)
        cuda.cuStreamSynchronize(free)

        assert emulator.read(memory, 1) == b"\7"


def test_a_block_that_raises_opens_its_gates(emulator, cuda, streams, memory):
    """All gates of the block are opened."""

    def work():
        with emulator.held(*streams):
            for stream in streams:
                emulator.fill(stream, memory, 1, 7)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    for stream in streams:
        cuda.cuStreamSynchronize(stream)

    assert [emulator.pending(stream) for stream in streams] == [0, 0]
    emulator.expect_reports()  # two unordered writes


def test_a_block_that_cannot_begin_holds_nothing(emulator, cuda, streams, memory):
    """If one of two streams is unknown, the other one is not held."""
    stream, _ = streams
    with pytest.raises(ValueError, match="not a stream"):
        emulator.held(stream, 0xDEAD0).__enter__()
    emulator.fill(stream, memory, 1, 7)
    cuda.cuStreamSynchronize(stream)

    assert emulator.read(memory, 1) == b"\7"


def test_a_stream_may_be_destroyed_behind_its_gate(emulator, cuda):
    """The end of the block accepts that the stream no longer exists."""
    stream = cuda.cuStreamCreate(NON_BLOCKING)
    with emulator.held(stream):
        cuda.cuStreamDestroy(stream)

    with pytest.raises(ValueError, match="not a stream"):
        emulator.pending(stream)


def test_a_reset_opens_what_was_left_shut(emulator, cuda, streams, memory):
    """A reset opens gates that are left, so that no later test hangs."""
    stream, _ = streams
    emulator.hold(stream)
    emulator.fill(stream, memory, 1, 7)
    emulator.reset()
    cuda.cuStreamSynchronize(stream)

    assert emulator.read(memory, 1) == b"\7"


@pytest.mark.parametrize("every", [False, True])
def test_a_delay_comes_before_every_operation(emulator, cuda, streams, memory, every):
    """A delay applies to one stream or to all."""
    stream, _ = streams
    emulator.delay(EVERY_STREAM if every else stream, 0.05)
    start = time.monotonic()
    for _ in range(2):
        cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.cuStreamSynchronize(stream)
    took = time.monotonic() - start
    emulator.delay(EVERY_STREAM if every else stream, 0)

    assert took >= 0.1


def test_a_reset_undoes_delays(emulator, cuda, streams, memory):
    """A delay of an hour is not waited for after the reset."""
    stream, _ = streams
    emulator.delay(stream, 3600)
    emulator.reset()
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)

    assert cuda.soon(lambda: emulator.pending(stream) == 0)


@pytest.mark.parametrize("seconds", [-0.1, float("inf"), float("nan"), 1e300])
def test_a_delay_has_a_beginning_and_an_end(emulator, seconds):
    """A delay is not negative, and limited to what C's number of microseconds can hold."""
    with pytest.raises(ValueError, match="is negative" if seconds < 0 else "too long"):
        emulator.delay(EVERY_STREAM, seconds)


# ---------------------------------------------------------------- the detector


def test_a_race_is_reported_in_words(emulator, streams, memory):
    """The report contains the names of both operations."""
    first, second = streams
    emulator.annotate(first, memory, SIZE, write=True, what="the producer's kernel")
    emulator.annotate(second, memory, SIZE, write=False, what="the consumer's kernel")

    (report,) = emulator.expect_reports()

    assert "the producer's kernel" in report
    assert "the consumer's kernel" in report


@pytest.mark.parametrize("write", [False, True])
def test_reads_race_with_writes_only(emulator, streams, memory, write):
    """The detector uses the reads and writes that `annotate` declares."""
    first, second = streams
    emulator.annotate(first, memory, SIZE, write=False)
    emulator.annotate(second, memory, SIZE, write=write)

    assert len(emulator.reports()) == write
    if write:
        emulator.expect_reports(1)


def test_an_annotation_leaves_memory_alone(emulator, cuda, streams, memory):
    """An annotation does not change memory; a fill does."""
    stream, _ = streams
    emulator.annotate(stream, memory, SIZE, write=True)
    emulator.fill(stream, memory + 2, 1, 7)
    cuda.cuStreamSynchronize(stream)

    assert emulator.read(memory, 4) == b"\0\0\7\0"


def test_the_host_takes_part(emulator, cuda, streams):
    """Host access to pinned memory is an operation, ordered by what the host has waited for."""
    stream, _ = streams
    ptr = int(cuda.cuMemHostAlloc(SIZE, 0))
    emulator.annotate(stream, ptr, SIZE, write=True, what="the kernel")
    emulator.host_access(ptr, SIZE, write=False, what="the host's loop")
    early = emulator.expect_reports(1, match="the host's loop")
    cuda.cuStreamSynchronize(stream)
    emulator.reset()
    emulator.annotate(stream, ptr, SIZE, write=True, what="the kernel")
    cuda.cuStreamSynchronize(stream)
    emulator.host_access(ptr, SIZE, write=False, what="the host's loop")
    cuda.cuMemFreeHost(ptr)

    assert len(early) == 1
    assert emulator.reports() == []


def test_without_waits_an_ordered_program_is_reported(emulator, cuda, streams, memory):
    """A program that is correct with its waits is reported if they are dropped."""
    first, second = streams
    emulator.annotate(first, memory, SIZE, write=True)
    cuda.order(first, second)
    emulator.annotate(second, memory, SIZE, write=False)
    with_waits = emulator.reports()
    cuda.cuCtxSynchronize()
    emulator.annotate(first, memory, SIZE, write=True)
    with emulator.without_waits():
        cuda.order(first, second)
    emulator.annotate(second, memory, SIZE, write=False)

    assert with_waits == []
    emulator.expect_reports(1)


def test_the_waits_are_back_after_the_block(emulator, cuda, streams, memory):
    """The waits are restored, also if the block raises."""
    first, second = streams
    with pytest.raises(KeyError), emulator.without_waits():
        raise KeyError
    emulator.annotate(first, memory, SIZE, write=True)
    cuda.order(first, second)
    emulator.annotate(second, memory, SIZE, write=False)

    assert emulator.reports() == []


def test_a_reset_forgets_reports_and_accesses(emulator, streams, memory):
    """Operations after a reset do not race with those before it."""
    for stream in streams:
        emulator.annotate(stream, memory, SIZE, write=True)
    many = len(emulator.reports())
    emulator.reset()
    emulator.annotate(streams[0], memory, SIZE, write=True)

    assert many == 1
    assert emulator.reports() == []


def test_reports_are_expected_once(emulator, streams, memory):
    """The first expectation does not cover the second race of a test."""
    first, second = streams
    emulator.annotate(first, memory, SIZE, write=True)
    emulator.annotate(second, memory, SIZE, write=True, what="one")
    emulator.expect_reports(1, match="one")
    emulator.annotate(first, memory, SIZE, write=True, what="two")

    assert len(emulator.reports()) == 2
    assert len(emulator.unexpected_reports()) == 1
    emulator.expect_reports(1, match="two")
    assert emulator.unexpected_reports() == []


def test_an_expectation_that_is_not_met_takes_nothing(emulator, streams, memory):
    """An expectation with another count or other words does not consume the reports."""
    first, second = streams
    emulator.annotate(first, memory, SIZE, write=True)
    emulator.annotate(second, memory, SIZE, write=True, what="the kernel")

    with pytest.raises(AssertionError, match="expected 2 reports, the detector has 1"):
        emulator.expect_reports(2)
    with pytest.raises(AssertionError, match="with 'no such words'"):
        emulator.expect_reports(match="no such words")
    assert len(emulator.expect_reports(1)) == 1


# ---------------------------------------------------------------- traces and counts


def test_a_trace_has_the_calls_with_their_arguments(emulator, cuda, streams):
    """A trace has one record and one wait, with the streams that were named and the same event."""
    first, second = streams
    with emulator.trace() as trace:
        cuda.order(first, second)

    assert trace.names == ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy"]
    record, wait = trace.calls[1:3]
    assert record.args["stream"] == int(first)
    assert wait.args["stream"] == int(second)
    assert record.args["event"] == wait.args["event"]


def test_the_null_stream_is_zero_in_a_trace(emulator, cuda, memory):
    """The null stream is 0 in a trace, however C prints it."""
    with emulator.trace() as trace:
        cuda.cuMemsetD8Async(memory, 7, SIZE, 0)

    (call,) = trace.calls
    assert call.args["stream"] == 0


def test_a_trace_can_be_read_while_it_runs_and_ends_with_its_block(emulator, cuda, streams):
    """Later calls are not in the trace, and do not prevent the next trace."""
    stream, _ = streams
    with emulator.trace() as first:
        cuda.cuStreamSynchronize(stream)
        meanwhile = first.names
    cuda.cuStreamQuery(stream)
    with emulator.trace() as second:
        pass

    assert meanwhile == first.names == ["cuStreamSynchronize"]
    assert second.names == []


def test_of_the_control_interface_a_trace_has_what_stands_for_kernels(emulator, streams, memory):
    """The other calls of the control interface are not part of the program."""
    stream, _ = streams
    with emulator.trace() as trace:
        emulator.pending(stream)
        emulator.fill(stream, memory, 1, 1)
        emulator.annotate(stream, memory, 1, write=False)
        emulator.live()

    assert trace.names == ["emu_fill", "emu_annotate"]
    assert trace.calls[0].args == {"ptr": memory, "size": 1, "stream": int(stream)}


def test_there_is_one_trace_at_a_time(emulator):
    """A second trace would clear the log of the first, which is still in progress."""
    with emulator.trace(), pytest.raises(RuntimeError, match="only one log"):
        emulator.trace().__enter__()
    with emulator.trace() as again:
        pass

    assert again.calls == []


def test_everything_that_is_to_be_given_back_is_counted(emulator, cuda):
    """Each kind of resource is counted when it is created and when it is freed."""
    before = emulator.live()
    event = cuda.cuEventCreate(0)
    stream = cuda.cuStreamCreate(NON_BLOCKING)
    device = cuda.cuMemAlloc(SIZE)
    pinned = cuda.cuMemHostAlloc(SIZE, 0)
    managed = cuda.cuMemAllocManaged(SIZE, 1)
    between = emulator.live()
    cuda.cuMemFree(managed)
    cuda.cuMemFreeHost(pinned)
    cuda.cuMemFree(device)
    cuda.cuStreamDestroy(stream)
    cuda.cuEventDestroy(event)
    grown = Live(*(b - a for a, b in zip(before, between, strict=True)))

    assert grown._replace(device_bytes=0) == Live(1, 1, 1, 1, 1, 0, 0)
    assert grown.device_bytes >= SIZE
    assert emulator.live() == before


def test_an_address_within_an_allocation_has_its_own_alias(emulator, memory):
    """Reading from the middle of an allocation returns the bytes there."""
    assert emulator.alias(memory + 100) - emulator.alias(memory) == 100
    assert emulator.read(memory, 0) == b""


@pytest.mark.parametrize(
    ("offset", "nbytes"),
    [(0, SIZE + 1), (SIZE - 1, 2), (SIZE, 0), (SIZE, 1), (-1, 1), (-1, SIZE), (0, 2**63)],
)
def test_bytes_that_are_not_all_in_one_allocation_are_not_read(emulator, memory, offset, nbytes):
    """The bytes belong to another allocation or to none, and reading them could crash."""
    with pytest.raises(ValueError, match="allocation"):
        emulator.read(memory + offset, nbytes)


@pytest.mark.parametrize("address", [0, 1, 2**40, 2**64 - 1])
@pytest.mark.usefixtures("cuda")
def test_an_address_without_an_allocation_is_not_read(emulator, address):
    """Reading such an address raises an error and does not crash."""
    with pytest.raises(ValueError, match="no allocation is there"):
        emulator.read(address, 4)


def test_an_allocation_is_read_to_its_last_byte(emulator, cuda, memory):
    """An allocation can be read from any offset; so can host memory."""
    pinned = int(cuda.cuMemHostAlloc(SIZE, 0))
    ends = [(memory, SIZE), (memory + SIZE - 1, 1), (memory + 5, 0), (pinned, SIZE)]

    assert [len(emulator.read(*end)) for end in ends] == [SIZE, 1, 0, SIZE]
