"""The race detector on memory that two processes share."""

from __future__ import annotations

import pytest

from .peers import content

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
SHARED = 2 | 4  # CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS


class Pair:
    """Memory and an event that this process and another one share."""

    def __init__(self, cuda, peer):
        self.cuda, self.peer, self.emulator = cuda, peer, cuda.emulator
        self.memory = cuda.memory(SIZE)
        self.event = cuda.cuEventCreate(SHARED)
        peer(
            "at = cu.cuIpcOpenMemHandle(memory_handle(h), 1);"
            "event = cu.cuIpcOpenEventHandle(event_handle(e))",
            h=content(cuda.cuIpcGetMemHandle(self.memory)),
            e=content(cuda.cuIpcGetEventHandle(self.event)),
        )
        self.open = True

    def here(self, stream, start=0, size=SIZE, *, write=True):
        """Access the memory in this process."""
        self.emulator.annotate(stream, self.memory + start, size, write=write, what="kernel here")

    def there(self, start=0, size=SIZE, *, write=True):
        """Access the memory in a stream of the other process."""
        self.peer(f"emulator.annotate(stream, at + {start}, {size}, write={write}, what='other')")

    def found_there(self):
        """Return the reports of the other process, and accept them."""
        return self.peer("[emulator.reports(), emulator.reset()][0]")

    def close(self):
        """Close what is open."""
        if self.open:
            self.peer("cu.cuCtxSynchronize(); cu.cuIpcCloseMemHandle(at); cu.cuEventDestroy(event)")
        self.open = False


@pytest.fixture
def pair(cuda, peer):
    """Return memory that both processes have open."""
    made = Pair(cuda, peer)
    yield made
    made.close()


@pytest.mark.parametrize("waits", [True, False], ids=["waits", "without waits"])
def test_a_wait_for_an_event_of_another_process_orders(pair, streams, waits):
    """A consumer that waits is right in both directions; each wait that is missing is reported."""
    stream, _ = streams
    pair.here(stream)
    pair.cuda.cuEventRecord(pair.event, stream)
    drop = "" if waits else "breaking = emulator.without_waits(); breaking.__enter__();"
    pair.peer(f"{drop} cu.cuStreamWaitEvent(stream, event, 0)")
    pair.there(write=False)
    pair.peer("cu.cuEventRecord(event, stream)")
    if not waits:
        pair.peer("breaking.__exit__(None, None, None)")
        with pair.emulator.without_waits():
            pair.cuda.cuStreamWaitEvent(stream, pair.event, 0)
    else:
        pair.cuda.cuStreamWaitEvent(stream, pair.event, 0)
    pair.here(stream)
    there = pair.found_there()

    assert len(there) == (not waits)
    if not waits:
        (here,) = pair.emulator.expect_reports(count=1)
        assert "(RAW): other on" in there[0]
        assert "kernel here of process" in there[0]
        assert "(WAR): kernel here on" in here
        assert f"other of process {pair.peer.process.pid}" in here
    pair.cuda.cuCtxSynchronize()


def test_work_before_the_export_counts(cuda, peer, streams):
    """A write that was pending when the handle was made is known in the other process."""
    memory = cuda.memory(SIZE)
    cuda.cuMemsetD8Async(memory, 1, SIZE, streams[0])
    peer(
        "at = cu.cuIpcOpenMemHandle(memory_handle(h), 1)", h=content(cuda.cuIpcGetMemHandle(memory))
    )
    peer("cu.cuMemsetD8Async(at + 8, 2, 8, stream)")
    found = peer("[emulator.reports(), emulator.reset()][0]")
    peer("cu.cuCtxSynchronize(); cu.cuIpcCloseMemHandle(at)")

    assert len(found) == 1
    assert "(WAW)" in found[0]
    assert "cuMemsetD8Async of process" in found[0]


def test_what_the_host_has_waited_for_is_ordered(pair, streams):
    """Processes tell each other in ways that the driver cannot see."""
    stream, _ = streams
    pair.here(stream)
    pair.cuda.cuStreamSynchronize(stream)
    pair.there()
    pair.peer("cu.cuStreamSynchronize(stream)")
    pair.here(stream)

    assert (pair.emulator.reports(), pair.found_there()) == ([], [])


def test_other_bytes_and_reads_are_no_races(pair, streams):
    """Two reads of the same bytes, and writes of different ones."""
    stream, _ = streams
    pair.here(stream, 0, 64, write=False)
    pair.here(stream, 64, 64)
    pair.there(0, 64, write=False)
    pair.there(128, 64)

    assert (pair.emulator.reports(), pair.found_there()) == ([], [])


def test_an_event_of_another_stream_does_not_order(pair, streams):
    """The record has to come after the work."""
    first, second = streams
    pair.cuda.cuEventRecord(pair.event, second)
    pair.here(first)
    pair.peer("cu.cuStreamWaitEvent(stream, event, 0)")
    pair.there()

    assert len(pair.found_there()) == 1


def test_memory_that_is_freed_while_it_is_open(pair):
    """The free is reported here, and later uses there, which do not see the old bytes."""
    pair.cuda.cuMemFree(pair.memory)
    pair.there()
    there = pair.found_there()
    seen = pair.peer("emulator.read(at, 1)")

    (here,) = pair.emulator.expect_reports(count=1)
    assert "free while shared: cuMemFree on the host, while 1 other process has it open" in here
    assert len(there) == 1
    assert "use after free: other on" in there[0]
    assert seen == b"\xdd"


def test_memory_that_is_freed_while_the_other_process_works(pair):
    """What the host of the other process has not waited for may still run."""
    pair.peer("emulator.hold(stream)")
    pair.there()
    pair.cuda.cuMemFree(pair.memory)
    pair.peer("emulator.release(stream); emulator.reset()")

    (report,) = pair.emulator.expect_reports(count=1)
    assert "free while in use: cuMemFree on the host" in report


def test_memory_that_is_closed_first_is_freed_without_a_report(pair):
    """The right order."""
    pair.there()
    pair.close()
    pair.cuda.cuMemFree(pair.memory)

    assert (pair.emulator.reports(), pair.found_there()) == ([], [])
