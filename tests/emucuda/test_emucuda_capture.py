"""Stream capture and graphs on the emulated driver: what is captured, and broken captures."""

from __future__ import annotations

import ctypes

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE = range(2)


def launch(cuda, stream, graph):
    """Launch a graph in a stream and wait for it."""
    cuda.cuGraphLaunch(cuda.cuGraphInstantiate(graph, 0), stream)
    cuda.cuStreamSynchronize(stream)


# ---------------------------------------------------------------- capturing


def test_captured_work_does_not_run(cuda, streams, memory):
    """Captured work runs only when its graph is launched, once for each launch."""
    stream, other = streams
    cuda.begin(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    during = cuda.emulator.read(memory, 1), cuda.emulator.pending(stream)
    graph = cuda.cuStreamEndCapture(stream)
    after = cuda.emulator.read(memory, 1)
    launch(cuda, other, graph)
    first = cuda.emulator.read(memory, 1)
    cuda.cuMemsetD8(memory, 0, SIZE)
    cuda.cuCtxSynchronize()
    launch(cuda, stream, graph)

    assert (during, after) == ((b"\0", 0), b"\0")
    assert (first, cuda.emulator.read(memory, 1)) == (b"\7", b"\7")


def test_a_graph_holds_what_was_captured(cuda, streams, memory):
    """The graph has the captured nodes in order; marks of events are not nodes."""
    stream, _ = streams
    cuda.begin(stream)
    cuda.cuMemsetD8Async(memory, 7, 64, stream)
    cuda.cuEventRecord(cuda.event(), stream)
    cuda.cuMemcpyDtoDAsync(memory + 64, memory, 64, stream)
    graph = cuda.cuStreamEndCapture(stream)
    nodes, count = cuda.cuGraphGetNodes(graph, 9)
    kinds = [cuda.cuGraphNodeGetType(node).name for node in nodes[:count]]

    assert kinds == ["CU_GRAPH_NODE_TYPE_MEMSET", "CU_GRAPH_NODE_TYPE_MEMCPY"]


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_status_before_during_and_after(cuda, streams, mode):
    """The status is none, then active, then none."""
    stream, other = streams
    before = cuda.status(stream)
    cuda.begin(stream, mode)
    during = cuda.status(stream), cuda.status(other)
    cuda.cuStreamEndCapture(stream)

    assert (before, during, cuda.status(stream)) == (NONE, (ACTIVE, NONE), NONE)


def test_events_may_be_made_and_destroyed_during_capture(cuda, streams, memory):
    """Creating and destroying an event does not affect anything that a graph could depend on."""
    stream, _ = streams
    cuda.begin(stream)
    event = cuda.event()
    cuda.cuEventRecord(event, stream)
    cuda.cuEventDestroy(event)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)

    assert cuda.end(stream) == ("SUCCESS", True)


def test_a_graph_outlives_nothing_it_needs(cuda, streams, memory):
    """An executable graph can be launched after its graph and stream are destroyed."""
    stream, other = streams
    cuda.begin(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    graph = cuda.cuStreamEndCapture(stream)
    executable = cuda.cuGraphInstantiate(graph, 0)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy(stream)
    with cuda.emulator.held(other):
        cuda.cuGraphLaunch(executable, other)
        cuda.cuGraphExecDestroy(executable)
    cuda.cuStreamSynchronize(other)

    assert cuda.emulator.read(memory, 1) == b"\7"
    assert cuda.code("cuGraphLaunch", executable, other) == "INVALID_VALUE"
    assert cuda.code("cuGraphInstantiate", graph, 0) == "INVALID_VALUE"


def test_a_graph_can_be_captured_into_another(cuda, streams, memory):
    """The nodes of a launched graph become nodes of the captured graph."""
    stream, other = streams
    inner = cuda.instantiated(stream, lambda: cuda.cuMemsetD8Async(memory, 7, SIZE, stream))
    cuda.begin(stream)
    cuda.cuGraphLaunch(inner, stream)
    before = cuda.emulator.read(memory, 1)
    launch(cuda, other, cuda.cuStreamEndCapture(stream))

    assert (before, cuda.emulator.read(memory, 1)) == (b"\0", b"\7")


def test_a_launch_waits_for_the_launch_before_it(cuda, streams, memory):
    """Only one instance of an executable graph runs at a time, whatever its streams."""
    first, second = streams
    executable = cuda.instantiated(first, lambda: cuda.cuMemsetD8Async(memory, 7, SIZE, first))
    with cuda.emulator.held(first):
        cuda.cuGraphLaunch(executable, first)
        cuda.cuGraphLaunch(executable, second)
        cuda.cuGraphExecDestroy(executable)
        waited = not cuda.soon(lambda: cuda.emulator.pending(second) == 0, seconds=0.05)
        before = cuda.emulator.read(memory, 1)
    cuda.cuStreamSynchronize(second)

    assert (waited, before) == (True, b"\0")
    assert cuda.emulator.pending(first) == 0
    assert cuda.emulator.read(memory, 1) == b"\7"


def test_launches_of_two_executable_graphs_do_not_wait(cuda, streams, memory):
    """Two executable graphs of one graph are not ordered, and the detector reports the race."""
    first, second = streams
    cuda.begin(first)
    cuda.cuMemsetD8Async(memory, 7, SIZE, first)
    graph = cuda.cuStreamEndCapture(first)
    one, other = cuda.cuGraphInstantiate(graph, 0), cuda.cuGraphInstantiate(graph, 0)
    with cuda.emulator.held(first):
        cuda.cuGraphLaunch(one, first)
        cuda.cuGraphLaunch(other, second)
        cuda.cuStreamSynchronize(second)

        assert cuda.emulator.read(memory, 1) == b"\7"
    cuda.emulator.expect_reports(1, match="WAW")


def test_a_captured_launch_does_not_wait(cuda, streams, memory):
    """A captured launch only adds nodes to another graph."""
    first, second = streams
    executable = cuda.instantiated(first, lambda: cuda.cuMemsetD8Async(memory, 7, SIZE, first))
    with cuda.emulator.held(first):
        cuda.cuGraphLaunch(executable, first)
        cuda.begin(second)
        cuda.cuGraphLaunch(executable, second)
        graph = cuda.cuStreamEndCapture(second)
        launch(cuda, second, graph)

        assert cuda.emulator.read(memory, 1) == b"\7"
    cuda.emulator.expect_reports(1, match="WAW")


def test_a_pageable_source_is_read_when_the_graph_runs(cuda, streams, memory):
    """The source is not staged at the call."""
    stream, _ = streams
    source = ctypes.create_string_buffer(b"\7" * 16)
    cuda.begin(stream)
    cuda.cuMemcpyHtoDAsync(memory, ctypes.addressof(source), 16, stream)
    graph = cuda.cuStreamEndCapture(stream)
    source[0] = b"\x08"
    launch(cuda, stream, graph)

    assert cuda.emulator.read(memory, 2) == b"\x08\7"


def test_host_functions_are_captured(cuda, streams, semaphore):
    """A captured host function is called at every launch."""
    stream, _ = streams
    cuda.begin(stream)
    cuda.host_function(stream, semaphore.libc.sem_post, semaphore.address)
    graph = cuda.cuStreamEndCapture(stream)
    before = semaphore.value
    launch(cuda, stream, graph)
    launch(cuda, stream, graph)

    assert (before, semaphore.value) == (0, 2)


def test_capture_information(cuda, streams, memory):
    """The information is the status, a unique id, the graph and the next node's dependencies."""
    stream, other = streams
    idle = cuda.cuStreamGetCaptureInfo(stream)
    cuda.begin(stream)
    early = cuda.cuStreamGetCaptureInfo(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.order(stream, other)
    info, joined = cuda.cuStreamGetCaptureInfo(stream), cuda.cuStreamGetCaptureInfo(other)
    graph = cuda.cuStreamEndCapture(stream)
    cuda.begin(stream)
    again = cuda.cuStreamGetCaptureInfo(stream)
    cuda.cuStreamEndCapture(stream)

    assert (int(idle[0]), int(early[0]), int(info[0])) == (NONE, ACTIVE, ACTIVE)
    assert int(early[1]) == int(info[1]) == int(joined[1]) != int(again[1])
    assert int(info[2]) == int(graph)
    assert (len(early[3]), len(info[3]), len(joined[3])) == (0, 1, 1)
    assert int(info[3][0]) == int(joined[3][0])


# ---------------------------------------------------------------- forks and joins


def test_a_wait_for_a_captured_event_pulls_a_stream_in(cuda, streams, memory):
    """The stream's work is captured until the capture ends, and runs after the work waited for."""
    origin, branch = streams
    cuda.begin(origin)
    cuda.cuMemsetD8Async(memory, 7, 64, origin)
    cuda.order(origin, branch)
    inside = cuda.status(branch)
    cuda.cuMemcpyDtoDAsync(memory + 64, memory, 64, branch)
    cuda.order(branch, origin)
    cuda.cuMemcpyDtoDAsync(memory + 128, memory + 64, 64, origin)
    graph = cuda.cuStreamEndCapture(origin)
    launch(cuda, origin, graph)

    assert (inside, cuda.status(branch)) == (ACTIVE, NONE)
    assert cuda.emulator.read(memory, 192) == b"\7" * 192


def test_a_branch_without_a_way_back_is_unjoined(cuda, streams, memory):
    """The capture ends without a graph."""
    origin, branch = streams
    cuda.begin(origin)
    cuda.order(origin, branch)
    cuda.cuMemsetD8Async(memory, 7, SIZE, branch)

    assert cuda.end(origin) == ("STREAM_CAPTURE_UNJOINED", False)
    assert (cuda.status(origin), cuda.status(branch)) == (NONE, NONE)


def test_a_branch_without_work_needs_no_way_back(cuda, streams, memory):
    """A branch without work does not need to be joined."""
    origin, branch = streams
    cuda.begin(origin)
    cuda.cuMemsetD8Async(memory, 7, SIZE, origin)
    cuda.order(origin, branch)

    assert cuda.end(origin) == ("SUCCESS", True)


def test_a_capture_ends_where_it_began(cuda, streams):
    """Ending a capture on a branch fails and invalidates the capture."""
    origin, branch = streams
    cuda.begin(origin)
    cuda.order(origin, branch)

    assert cuda.end(branch) == ("STREAM_CAPTURE_UNMATCHED", False)
    assert cuda.end(origin) == ("STREAM_CAPTURE_INVALIDATED", False)


def test_two_captures_cannot_merge(cuda, streams):
    """A wait for an event of another capture invalidates both captures."""
    first, second = streams
    event = cuda.event()
    cuda.begin(first)
    cuda.begin(second)
    cuda.cuEventRecord(event, first)

    assert cuda.code("cuStreamWaitEvent", second, event, 0) == "STREAM_CAPTURE_MERGE"
    assert cuda.end(first) == cuda.end(second) == ("STREAM_CAPTURE_INVALIDATED", False)


def test_a_captured_event_is_forgotten_by_a_plain_record(cuda, streams):
    """An event that is recorded outside of a capture is an ordinary event again."""
    stream, other = streams
    event = cuda.event()
    cuda.begin(stream)
    cuda.cuEventRecord(event, stream)
    cuda.cuEventRecord(event, other)
    cuda.cuStreamEndCapture(stream)

    assert cuda.code("cuEventSynchronize", event) == "SUCCESS"
