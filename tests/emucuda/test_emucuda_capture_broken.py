"""Calls that invalidate a capture of the emulated driver, and the capture modes."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2
GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
UNSAFE, SAFE = "STREAM_CAPTURE_UNSUPPORTED", "SUCCESS"


# ---------------------------------------------------------------- invalidated captures


def outside_event(cuda, stream):
    """Wait for an event that was recorded outside."""
    event = cuda.event()
    cuda.cuEventRecord(event, cuda.stream())
    return cuda.code("cuStreamWaitEvent", stream, event, 0)


def captured_event(cuda, stream, call):
    """Query an event of the capture, or wait for it."""
    event = cuda.event()
    cuda.cuEventRecord(event, stream)
    return cuda.code(call, event)


BREAKS = {
    "wait for an event from outside": (outside_event, "STREAM_CAPTURE_ISOLATION"),
    "synchronise": (lambda cuda, stream: cuda.code("cuStreamSynchronize", stream), UNSAFE),
    "query": (lambda cuda, stream: cuda.code("cuStreamQuery", stream), UNSAFE),
    "synchronise the context": (lambda cuda, _: cuda.code("cuCtxSynchronize"), UNSAFE),
    "query an event of it": (partial(captured_event, call="cuEventQuery"), "CAPTURED_EVENT"),
    "synchronise an event of it": (
        partial(captured_event, call="cuEventSynchronize"),
        "CAPTURED_EVENT",
    ),
    "allocate": (lambda cuda, _: cuda.code("cuMemAlloc", 64), UNSAFE),
    "allocate pinned memory": (lambda cuda, _: cuda.code("cuMemHostAlloc", 64, 0), UNSAFE),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_a_capture(cuda, streams, memory, name):
    """The call fails, and so do all later calls until the capture is ended, without a graph."""
    stream, _ = streams
    action, error = BREAKS[name]
    cuda.begin(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    code = action(cuda, stream)
    after = cuda.status(stream), cuda.code("cuMemsetD8Async", memory, 7, SIZE, stream)

    assert code == error
    assert after == (INVALIDATED, "STREAM_CAPTURE_INVALIDATED")
    assert cuda.end(stream) == ("STREAM_CAPTURE_INVALIDATED", False)
    assert cuda.code("cuMemsetD8Async", memory, 7, SIZE, stream) == "SUCCESS"


def test_freeing_is_unsafe_too(cuda, streams, memory):
    """The call frees nothing."""
    stream, _ = streams
    cuda.begin(stream)
    code = cuda.code("cuMemFree", memory)

    assert code == "STREAM_CAPTURE_UNSUPPORTED"
    assert cuda.end(stream) == ("STREAM_CAPTURE_INVALIDATED", False)
    assert cuda.code("cuMemFree", memory) == "SUCCESS"


LEGACY_USES = {
    "record": lambda cuda, _: cuda.code("cuEventRecord", cuda.event(), LEGACY),
    "wait": lambda cuda, _: cuda.code("cuStreamWaitEvent", LEGACY, cuda.event(), 0),
    "copy": lambda cuda, memory: cuda.code("cuMemcpyDtoDAsync", memory, memory + 64, 64, LEGACY),
    "fill": lambda cuda, memory: cuda.code("cuMemsetD8Async", memory, 1, 64, 0),
    "allocate": lambda cuda, _: cuda.code("cuMemAllocAsync", 64, 0),
    "synchronise": lambda cuda, _: cuda.code("cuStreamSynchronize", LEGACY),
    "query": lambda cuda, _: cuda.code("cuStreamQuery", 0),
}


@pytest.mark.parametrize("name", LEGACY_USES)
def test_the_legacy_stream_is_unusable_while_a_blocking_stream_captures(cuda, memory, name):
    """Each use would depend on the capture, and invalidates it."""
    stream = cuda.stream(blocking=True)
    cuda.begin(stream, RELAXED)
    code = LEGACY_USES[name](cuda, memory)

    assert code == "STREAM_CAPTURE_IMPLICIT"
    assert cuda.end(stream) == ("STREAM_CAPTURE_INVALIDATED", False)


@pytest.mark.parametrize("call", ["cuStreamIsCapturing", "cuStreamGetCaptureInfo"])
def test_asking_the_legacy_stream_spoils_nothing(cuda, call):
    """The error is that the legacy stream would depend on a capture."""
    stream = cuda.stream(blocking=True)
    cuda.begin(stream)
    code = cuda.code(call, LEGACY)

    assert code == "STREAM_CAPTURE_IMPLICIT"
    assert cuda.end(stream) == ("SUCCESS", True)


@pytest.mark.parametrize("name", LEGACY_USES)
def test_the_legacy_stream_is_usable_while_a_non_blocking_stream_captures(
    cuda, streams, memory, name
):
    """The two streams do not depend on each other."""
    cuda.begin(streams[0], RELAXED)
    code = LEGACY_USES[name](cuda, memory)

    assert code in {"SUCCESS", "NOT_READY"}
    assert cuda.end(streams[0]) == ("SUCCESS", True)


def test_the_legacy_stream_of_another_context_is_usable(cuda):
    """Blocking streams depend on the legacy stream of their own context."""
    stream = cuda.stream(blocking=True)
    cuda.begin(stream, RELAXED)
    with cuda.device(1):
        code = cuda.code("cuStreamSynchronize", LEGACY)

    assert code == "SUCCESS"
    assert cuda.end(stream) == ("SUCCESS", True)


def test_the_per_thread_stream_can_capture_and_the_legacy_stream_cannot(cuda):
    """The CUDA documentation states this."""
    code = cuda.code("cuStreamBeginCapture", LEGACY, cuda.driver.CUstreamCaptureMode(GLOBAL))
    cuda.begin(PER_THREAD)

    assert code == "STREAM_CAPTURE_UNSUPPORTED"
    assert cuda.end(PER_THREAD) == ("SUCCESS", True)


def test_a_capture_cannot_begin_twice_nor_end_without_beginning(cuda, streams):
    """The error is CUDA_ERROR_ILLEGAL_STATE, and the capture continues."""
    stream, _ = streams
    mode = cuda.driver.CUstreamCaptureMode(GLOBAL)
    ended = cuda.end(stream)
    cuda.begin(stream)
    begun = cuda.code("cuStreamBeginCapture", stream, mode)

    assert (ended, begun) == (("ILLEGAL_STATE", False), "ILLEGAL_STATE")
    assert cuda.end(stream) == ("SUCCESS", True)


def test_a_stream_that_is_destroyed_ends_its_capture(cuda, streams, memory):
    """No capture is left that could restrict other calls."""
    stream, _ = streams
    cuda.begin(stream)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.cuStreamDestroy(stream)

    assert cuda.code("cuMemFree", memory) == "SUCCESS"


# ---------------------------------------------------------------- modes


@contextlib.contextmanager
def thread_mode(cuda, mode):
    """Exchange the capture mode of the calling thread while the block runs."""
    kind = cuda.driver.CUstreamCaptureMode
    previous = cuda.cuThreadExchangeStreamCaptureMode(kind(mode))
    try:
        yield
    finally:
        assert int(cuda.cuThreadExchangeStreamCaptureMode(kind(previous))) == mode


def allocation(cuda, mode):
    """Return the error of an allocation by a thread in a mode."""
    with thread_mode(cuda, mode):
        return cuda.code("cuMemAlloc", 64)


MODES = {  # of the capture and of the thread: whether the capturing thread may, and another
    (GLOBAL, GLOBAL): (UNSAFE, UNSAFE),
    (GLOBAL, THREAD_LOCAL): (UNSAFE, SAFE),
    (GLOBAL, RELAXED): (SAFE, SAFE),
    (THREAD_LOCAL, GLOBAL): (UNSAFE, SAFE),
    (THREAD_LOCAL, THREAD_LOCAL): (UNSAFE, SAFE),
    (THREAD_LOCAL, RELAXED): (SAFE, SAFE),
    (RELAXED, GLOBAL): (SAFE, SAFE),
    (RELAXED, THREAD_LOCAL): (SAFE, SAFE),
    (RELAXED, RELAXED): (SAFE, SAFE),
}


@pytest.mark.parametrize("modes", MODES, ids=str)
@pytest.mark.parametrize("another", [False, True], ids=["capturing thread", "another"])
def test_modes_say_who_may_make_unsafe_calls(cuda, streams, modes, another):
    """Modes follow the table of cuThreadExchangeStreamCaptureMode; a forbidden call invalidates."""
    stream, _ = streams
    of_capture, of_thread = modes
    expected = MODES[modes][another]
    cuda.begin(stream, of_capture)
    if another:
        found = cuda.in_thread(lambda: allocation(cuda, of_thread))
    else:
        found = allocation(cuda, of_thread)
    spoilt = cuda.end(stream)[0] != "SUCCESS"

    assert (found, spoilt) == (expected, expected == UNSAFE)


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        (GLOBAL, "STREAM_CAPTURE_WRONG_THREAD"),
        (THREAD_LOCAL, "STREAM_CAPTURE_WRONG_THREAD"),
        (RELAXED, "SUCCESS"),
    ],
)
def test_another_thread_ends_relaxed_captures_only(cuda, streams, mode, code):
    """Captures in other modes are ended by the thread that began them."""
    stream, _ = streams
    cuda.begin(stream, mode)
    found = cuda.in_thread(lambda: cuda.end(stream)[0])
    status_after = cuda.status(stream)
    cuda.end(stream)

    assert (found, status_after) == (code, NONE if code == "SUCCESS" else ACTIVE)


# ---------------------------------------------------------------- cuda.core


@pytest.mark.clients
def test_graph_builder_of_cuda_core(cuda, emulator, need):
    """GraphBuilder builds, completes and launches a graph, and frees its resources."""
    need("cuda.core")
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    allocations = emulator.live().device
    stream = device.create_stream()
    buffer = device.allocate(64, stream=stream)
    stream.sync()
    builder = device.create_graph_builder()
    builder.begin_building("relaxed")
    buffer.fill(9, stream=builder)
    graph = builder.end_building().complete()
    before = emulator.read(int(buffer.handle), 1)
    graph.launch(stream)
    stream.sync()
    after = emulator.read(int(buffer.handle), 1)
    graph.close()
    builder.close()
    buffer.close(stream)

    assert (before, after) == (b"\xcb", b"\x09")
    assert cuda.soon(lambda: emulator.live().device == allocations)
