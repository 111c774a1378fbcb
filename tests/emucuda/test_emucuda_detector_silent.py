"""Correct programs, for which the detector reports nothing, whatever their timing."""

from __future__ import annotations

import ctypes
from types import FunctionType

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2


# ---------------------------------------------------------------- correct programs


def ordered_by_event(cuda, a, b, memory):
    """A consumer waits for the producer's event."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.order(a, b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def ordered_both_ways(cuda, a, b, memory):
    """The producer also waits for the consumer before it writes again."""
    ordered_by_event(cuda, a, b, memory)
    cuda.order(b, a)
    cuda.cuMemsetD8Async(memory, 8, SIZE, a)


def ordered_through_a_third(cuda, a, b, memory):
    """Order is transitive."""
    third = cuda.stream()
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.order(a, third)
    cuda.order(third, b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def one_event_many_times(cuda, a, b, memory):
    """An event is recorded again and again; each wait is for the record before it."""
    event = cuda.event()
    for value in range(10):
        cuda.cuMemsetD8Async(memory, value, SIZE, a)
        cuda.cuEventRecord(event, a)
        cuda.cuStreamWaitEvent(b, event, 0)
        cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)
        cuda.cuEventRecord(event, b)
        cuda.cuStreamWaitEvent(a, event, 0)


def wait_kept_after_the_event_is_recorded_again(cuda, a, b, memory):
    """A wait refers to the record at the time of the call."""
    event = cuda.event()
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuEventRecord(event, a)
    cuda.cuStreamWaitEvent(b, event, 0)
    cuda.cuEventRecord(event, cuda.stream())
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def event_destroyed_after_the_wait(cuda, a, b, memory):
    """A wait remains after its event is destroyed while the producer is held."""
    with cuda.emulator.held(a):
        cuda.cuMemsetD8Async(memory, 7, SIZE, a)
        cuda.order(a, b)
        cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def halves(cuda, a, b, memory):
    """Two streams write different bytes."""
    cuda.cuMemsetD8Async(memory, 7, SIZE // 2, a)
    cuda.cuMemsetD8Async(memory + SIZE // 2, 8, SIZE // 2, b)


def two_readers(cuda, a, b, memory):
    """Two streams read the same bytes."""
    for stream in (a, b):
        cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, stream)


def interleaved_columns(cuda, a, b, memory):
    """The columns of two strided copies alternate in every row."""
    source = cuda.memory()
    for first in range(0, 64, 16):
        cuda.columns(memory, source, first=first, stream=a)
        cuda.columns(memory, source, first=first + 8, stream=b)


def columns_of_other_pitch(cuda, a, b, memory):
    """Columns of rows of 64 bytes and columns of rows of 128 bytes that lie between them."""
    source = cuda.memory()
    cuda.columns(memory, source, first=0, stream=a)
    cuda.columns(memory, source, first=72, pitch=128, rows=32, stream=b)


def a_line_between_columns(cuda, a, b, memory):
    """A contiguous write covers bytes that the strided write leaves out."""
    source = cuda.memory()
    cuda.columns(memory, source, first=0, stream=a)
    cuda.cuMemsetD8Async(memory + 64 + 8, 7, 56, b)


def interleaved_planes(cuda, a, b, memory):
    """Three-dimensional copies use alternating rows, or different planes."""
    source = cuda.memory()
    cuda.planes(memory, source, plane=0, rows=(0, 4), stream=a)
    cuda.planes(memory, source, plane=0, rows=(4, 8), stream=b)
    cuda.planes(memory, source, plane=2, rows=(0, 8), stream=b)


def blocking_and_legacy(cuda, _a, _b, memory):
    """The legacy stream waits for blocking streams, and they wait for it."""
    blocking = cuda.stream(blocking=True)
    for value, stream in enumerate((blocking, LEGACY, PER_THREAD, 0, blocking)):
        cuda.cuMemsetD8Async(memory, value, SIZE, stream)


def per_thread_streams_through_legacy(cuda, _a, _b, memory):
    """A synchronous call in the legacy stream orders the per-thread streams of two threads."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, PER_THREAD)
    cuda.cuMemsetD8(memory, 8, SIZE)
    cuda.in_thread(lambda: cuda.cuMemsetD8Async(memory, 9, SIZE, PER_THREAD))


def destroyed_blocking_stream_and_legacy(cuda, _a, _b, memory):
    """The legacy stream also waits for the work of a destroyed blocking stream."""
    gone = cuda.stream(blocking=True)
    cuda.cuMemsetD8Async(memory, 7, SIZE, gone)
    cuda.cuStreamDestroy(gone)
    cuda.cuMemsetD8Async(memory, 8, SIZE, LEGACY)


def host_waits_for_the_stream(cuda, a, b, memory):
    """The host synchronises with the stream in between."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuStreamSynchronize(a)
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def host_waits_for_the_event(cuda, a, b, memory):
    """The host synchronises with an event in between."""
    event = cuda.event()
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuEventRecord(event, a)
    cuda.cuEventSynchronize(event)
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def host_polls(cuda, a, b, memory):
    """The host polls until the stream is done."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    assert cuda.soon(lambda: cuda.code("cuStreamQuery", a) == "SUCCESS")
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def host_reads_after_the_copy(cuda, a, _b, memory):
    """The host reads pinned memory after the copy has ended, and then changes it."""
    pinned = cuda.host_buffer()
    cuda.cuMemcpyDtoHAsync(pinned, memory, SIZE, a)
    cuda.cuStreamSynchronize(a)
    cuda.emulator.host_access(pinned, SIZE, write=False)
    cuda.emulator.host_access(pinned, SIZE, write=True)
    cuda.cuMemcpyHtoDAsync(memory, pinned, SIZE, a)


def pageable_source_changed_at_once(cuda, a, b, memory):
    """Pageable memory is staged at the call, and the write to the target is ordered after it."""
    source = ctypes.create_string_buffer(SIZE)
    cuda.cuMemcpyHtoDAsync(memory, ctypes.addressof(source), SIZE, a)
    source.raw = bytes(range(256)) * (SIZE // 256)
    cuda.order(a, b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def peer_copy_with_wait(cuda, a, _b, memory):
    """An event of one device orders a stream of another."""
    event = cuda.event()
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuEventRecord(event, a)
    with cuda.device(1):
        theirs, stream, peer = cuda.cuMemAlloc(SIZE), cuda.stream(), cuda.cuCtxGetCurrent()
        cuda.cuStreamWaitEvent(stream, event, 0)
        cuda.cuMemcpyPeerAsync(theirs, peer, memory, cuda.context, SIZE, stream)


def freed_after_its_readers(cuda, a, b, _memory):
    """A stream-ordered free waits for the reader in another stream."""
    pool = int(cuda.cuMemAllocAsync(SIZE, a))
    cuda.order(a, b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), pool, SIZE, b)
    cuda.order(b, a)
    cuda.cuMemFreeAsync(pool, a)


def freed_by_a_call_that_waits(cuda, a, _b, _memory):
    """cuMemFree waits for work that uses memory of cuMemAlloc."""
    address = int(cuda.cuMemAlloc(SIZE))
    cuda.cuMemsetD8Async(address, 7, SIZE, a)
    cuda.cuMemFree(address)


def joined_branches_of_a_graph(cuda, a, _b, memory):
    """Branches access different bytes, and the graph is launched twice in one stream."""
    graph = cuda.captured(lambda origin, branch: halves(cuda, origin, branch, memory))
    cuda.cuGraphLaunch(graph, a)
    cuda.cuGraphLaunch(graph, a)


def one_graph_launched_in_two_streams(cuda, a, b, memory):
    """A launch runs after every earlier launch of the same executable graph."""
    graph = cuda.captured(lambda origin, branch: halves(cuda, origin, branch, memory))
    cuda.cuGraphLaunch(graph, a)
    cuda.cuGraphLaunch(graph, b)
    cuda.cuGraphLaunch(graph, a)


def work_after_a_launch_that_followed_another(cuda, a, b, memory):
    """Work after the second launch runs after the first launch as well."""
    graph = cuda.captured(lambda origin, branch: halves(cuda, origin, branch, memory))
    cuda.cuGraphLaunch(graph, a)
    cuda.cuGraphLaunch(graph, b)
    cuda.cuGraphExecDestroy(graph)
    cuda.cuMemsetD8Async(memory, 9, SIZE, b)


CORRECT = [value for value in globals().values() if isinstance(value, FunctionType)]
"""Every function above."""


@pytest.mark.parametrize("program", CORRECT, ids=lambda program: program.__name__)
def test_a_correct_program_is_not_reported(cuda, emulator, streams, memory, program):
    """A correct program is not reported, neither while it runs nor when it has ended."""
    program(cuda, *map(int, streams), memory)
    cuda.cuCtxSynchronize()

    assert emulator.reports() == []


WAITING = [
    ordered_by_event,
    ordered_both_ways,
    ordered_through_a_third,
    one_event_many_times,
    event_destroyed_after_the_wait,
    peer_copy_with_wait,
    freed_after_its_readers,
]


@pytest.mark.parametrize("program", WAITING, ids=lambda program: program.__name__)
def test_a_program_without_its_waits_is_reported(cuda, emulator, streams, memory, program):
    """A program that is correct because of its waits is reported without them."""
    with emulator.without_waits():
        program(cuda, *map(int, streams), memory)

    emulator.expect_reports()
