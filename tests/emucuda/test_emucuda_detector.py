"""What the race detector reports.

Every case is a small program.  A seeded bug must be reported whatever its timing; a correct
program must not be, otherwise the reports could not be trusted.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2


# ---------------------------------------------------------------- bugs that must be reported


def read_without_wait(cuda, a, b, memory):
    """A consumer reads what a producer may not have written."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def write_without_wait_for_the_reader(cuda, a, b, memory):
    """A producer continues to write while a consumer may still read."""
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, a)
    cuda.cuMemsetD8Async(memory, 7, SIZE, b)


def two_writers(cuda, a, b, memory):
    """Two streams write the same bytes."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def one_shared_byte(cuda, a, b, memory):
    """Two halves overlap by one byte."""
    cuda.cuMemsetD8Async(memory, 7, SIZE // 2 + 1, a)
    cuda.cuMemsetD8Async(memory + SIZE // 2, 8, SIZE // 2, b)


def event_recorded_too_early(cuda, a, b, memory):
    """The wait is for an event that was recorded before the write."""
    event = cuda.event()
    cuda.cuEventRecord(event, a)
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuStreamWaitEvent(b, event, 0)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def wait_in_the_wrong_stream(cuda, a, b, memory):
    """The producer waits for the consumer."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.order(b, a)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def event_recorded_again_elsewhere(cuda, a, b, memory):
    """Between record and wait, the event was recorded again in another stream."""
    event = cuda.event()
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuEventRecord(event, a)
    cuda.cuEventRecord(event, cuda.stream())
    cuda.cuStreamWaitEvent(b, event, 0)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def non_blocking_and_legacy(cuda, a, _b, memory):
    """A non-blocking stream is not ordered with the legacy stream."""
    two_writers(cuda, a, LEGACY, memory)


def blocking_and_per_thread(cuda, _a, _b, memory):
    """Two blocking streams are not ordered with each other."""
    two_writers(cuda, cuda.stream(blocking=True), PER_THREAD, memory)


def per_thread_streams_of_two_threads(cuda, _a, _b, memory):
    """Handle 2 is a different stream in every thread."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, PER_THREAD)
    cuda.in_thread(lambda: cuda.cuMemsetD8Async(memory, 8, SIZE, PER_THREAD))


def write_of_a_destroyed_stream(cuda, _a, b, memory):
    """Destroying a stream does not wait for its work."""
    gone = cuda.stream()
    cuda.cuMemsetD8Async(memory, 7, SIZE, gone)
    cuda.cuStreamDestroy(gone)
    cuda.cuMemsetD8Async(memory, 8, SIZE, b)


def slot_of_a_destroyed_stream(cuda, _a, _b, memory):
    """A new stream does not inherit the order of one that was destroyed."""
    gone = cuda.stream()
    cuda.cuMemsetD8Async(memory, 7, SIZE, gone)
    cuda.cuStreamDestroy(gone)
    cuda.soon(lambda: cuda.emulator.read(memory, 1) == b"\7")
    cuda.cuMemsetD8Async(memory, 8, SIZE, cuda.stream())


def query_of_the_wrong_stream(cuda, a, b, memory):
    """What the host knows of one stream does not apply to another."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    cuda.cuStreamQuery(b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def columns_that_share_one(cuda, a, b, memory):
    """The columns of two strided copies overlap by one byte."""
    source = cuda.memory()
    cuda.columns(memory, source, first=0, width=9, stream=a)
    cuda.columns(memory, source, first=8, width=8, stream=b)


def planes_that_share_a_row(cuda, a, b, memory):
    """Two three-dimensional copies share one row."""
    source = cuda.memory()
    cuda.planes(memory, source, plane=0, rows=(0, 5), stream=a)
    cuda.planes(memory, source, plane=0, rows=(4, 8), stream=b)


def peer_copy_without_wait(cuda, a, _b, memory):
    """Another device copies bytes that may not have been written."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, a)
    with cuda.device(1):
        theirs = cuda.cuMemAlloc(SIZE)
        peer = cuda.cuCtxGetCurrent()
        cuda.cuMemcpyPeerAsync(theirs, peer, memory, cuda.context, SIZE, cuda.stream())


def kernel_without_wait(cuda, a, b, memory):
    """An annotated kernel counts as an operation."""
    cuda.emulator.annotate(a, memory, SIZE, write=True, what="axpy")
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def host_reads_too_early(cuda, a, _b, memory):
    """The host reads pinned memory before the copy has ended."""
    pinned = cuda.host_buffer()
    cuda.cuMemcpyDtoHAsync(pinned, memory, SIZE, a)
    cuda.emulator.host_access(pinned, SIZE, write=False)


def host_overwrites_a_source(cuda, a, _b, memory):
    """The host changes pinned memory while it is being copied."""
    pinned = cuda.host_buffer()
    cuda.cuMemcpyHtoDAsync(memory, pinned, SIZE, a)
    cuda.emulator.host_access(pinned, SIZE, write=True)


def branches_of_a_graph(cuda, _a, _b, memory):
    """Two branches of a captured graph write the same bytes."""
    cuda.captured(lambda origin, branch: two_writers(cuda, origin, branch, memory))


def graph_against_a_stream(cuda, a, b, memory):
    """A launched graph counts as the operations in it."""
    graph = cuda.captured(lambda origin, _: cuda.cuMemsetD8Async(memory, 7, SIZE, origin))
    cuda.cuGraphLaunch(graph, a)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory, SIZE, b)


def freed_while_it_is_read(cuda, a, b, _memory):
    """A stream-ordered free does not wait for a reader in another stream."""
    pool = int(cuda.cuMemAllocAsync(SIZE, a))
    cuda.order(a, b)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), pool, SIZE, b)
    cuda.cuMemFreeAsync(pool, a)


def freed_at_once_while_it_is_used(cuda, a, _b, _memory):
    """cuMemFree does not wait if the memory belongs to a pool."""
    pool = int(cuda.cuMemAllocAsync(SIZE, a))
    cuda.cuMemsetD8Async(pool, 7, SIZE, a)
    cuda.cuMemFree(pool)


def used_after_free(cuda, a, _b, _memory):
    """A copy into freed memory is reported, and the driver refuses the call as well."""
    gone = int(cuda.cuMemAlloc(SIZE))
    cuda.cuMemFree(gone)
    assert cuda.code("cuMemsetD8Async", gone, 7, SIZE, a) == "INVALID_VALUE"


def used_after_a_stream_ordered_free(cuda, a, _b, _memory):
    """Later work in the same stream runs after the free."""
    pool = int(cuda.cuMemAllocAsync(SIZE, a))
    cuda.cuMemFreeAsync(pool, a)
    cuda.emulator.annotate(a, pool, SIZE, write=False)


def used_before_its_allocation(cuda, a, b, _memory):
    """Stream-ordered memory is used in a stream that does not wait for its allocation."""
    pool = int(cuda.cuMemAllocAsync(SIZE, a))
    cuda.cuMemsetD8Async(pool, 7, SIZE, b)


def past_the_end(cuda, a, _b, memory):
    """A kernel writes one byte past the end."""
    cuda.emulator.annotate(a, memory, SIZE + 1, write=True)


def no_allocation(cuda, a, _b, memory):
    """A kernel reads between allocations."""
    cuda.emulator.annotate(a, memory + SIZE + 1, 1, write=False)


BUGS = {
    read_without_wait: r"^read after write \(RAW\)",
    write_without_wait_for_the_reader: r"^write after read \(WAR\)",
    two_writers: r"^write after write \(WAW\)",
    one_shared_byte: r"\(WAW\)",
    event_recorded_too_early: r"\(RAW\)",
    wait_in_the_wrong_stream: r"\(RAW\)",
    event_recorded_again_elsewhere: r"\(RAW\)",
    non_blocking_and_legacy: r"\(WAW\).* on the legacy stream ",
    blocking_and_per_thread: r"\(WAW\).* on a per-thread stream ",
    per_thread_streams_of_two_threads: r"\(WAW\)(.* a per-thread stream ){2}",
    write_of_a_destroyed_stream: r"\(WAW\)",
    slot_of_a_destroyed_stream: r"\(WAW\)",
    query_of_the_wrong_stream: r"\(RAW\)",
    columns_that_share_one: r"\(WAW\).*cuMemcpy2DAsync.* rows of 8 bytes",
    planes_that_share_a_row: r"\(WAW\).*cuMemcpy3DAsync",
    peer_copy_without_wait: r"\(RAW\): cuMemcpyPeerAsync",
    kernel_without_wait: r"\(RAW\).* after axpy ",
    host_reads_too_early: r"\(RAW\): host access on the host ",
    host_overwrites_a_source: r"\(WAR\): host access on the host ",
    branches_of_a_graph: r"\(WAW\)",
    graph_against_a_stream: r"\(RAW\)",
    freed_while_it_is_read: r"^free while in use: cuMemFreeAsync .* that reads ",
    freed_at_once_while_it_is_used: r"^free while in use: cuMemFree .* that writes ",
    used_after_free: r"^use after free: .* after cuMemFree ",
    used_after_a_stream_ordered_free: r"^use after free: .* after cuMemFreeAsync ",
    used_before_its_allocation: r"^use before allocation: .* cuMemAllocAsync ",
    past_the_end: r"^out of bounds: .* of 4096 bytes ",
    no_allocation: r"^out of bounds: .* no allocation",
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_is_reported(cuda, emulator, streams, memory, bug):
    """A bug is reported once, with its kind."""
    bug(cuda, *map(int, streams), memory)

    emulator.expect_reports(1, BUGS[bug])


@pytest.mark.parametrize("bug", [read_without_wait, two_writers, freed_while_it_is_read])
@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_a_bug_is_reported_whatever_its_timing(cuda, emulator, streams, memory, bug, seconds):
    """A bug is reported even if the result was correct by chance."""
    emulator.delay(streams[0], seconds)
    bug(cuda, *map(int, streams), memory)

    emulator.expect_reports(1)


def test_a_report_names_all_there_is(cuda, emulator, streams, memory):
    """A report has the hazard, both operations, both streams, both ranges, and the allocation."""
    writer, reader = streams
    cuda.cuMemsetD8Async(memory, 7, 100, writer)
    cuda.cuMemcpyDtoHAsync(cuda.host_buffer(), memory + 8, 8, reader)

    (report,) = emulator.expect_reports(1)
    assert report == (
        f"read after write (RAW): cuMemcpyDtoHAsync on stream {int(reader):#x} reads "
        f"[{memory + 8:#x}, {memory + 16:#x}), not ordered after cuMemsetD8Async on stream "
        f"{int(writer):#x} that writes [{memory:#x}, {memory + 100:#x}); allocation {memory:#x} "
        "of 4096 bytes (device memory of device 0, by cuMemAlloc)"
    )
