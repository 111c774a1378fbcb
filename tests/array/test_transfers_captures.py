"""Copies and captures: a capturing stream is refused, and other captures are not invalidated."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

SIZE = 4096
SLOW = 0.02  # [seconds]; duration of an operation on a slow stream


@pytest.fixture
def capture(machine):
    """Return a context manager that captures a stream and returns the number of graph nodes."""

    @contextmanager
    def capturing(stream):
        nodes = []
        machine("cuStreamBeginCapture", stream, machine.api.CUstreamCaptureMode(0))
        yield nodes
        graph = machine("cuStreamEndCapture", stream)
        nodes.append(machine("cuGraphGetNodes", graph)[1])
        machine("cuGraphDestroy", graph)

    return capturing


def described(machine, stream=None):
    """Return an Array over device memory that holds sevens."""
    ptr = machine.memory(np.full(SIZE, 7, np.uint8))
    return ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=stream)


def sevens(machine, array):
    """Whether all elements of an Array are seven."""
    return machine.read(array.ptr, array.nbytes) == bytes([7]) * array.nbytes


WAYS = {
    "copy": lambda array, stream: array.copy(stream=stream),
    "of rows": lambda array, stream: array.reshape((64, 64))[::2].copy(stream=stream),
    "that the host puts in order": lambda array, stream: array[::-1].copy(stream=stream),
    "to another device": lambda array, stream: array.to_device("cuda:1", stream=stream),
    "of rows to another device": lambda array, stream: array.reshape((64, 64))[::2].to_device(
        "cuda:1", stream=stream
    ),
    "to the host": lambda array, stream: array.to_device("cpu", stream=stream),
    "to page-locked memory": lambda array, stream: array.to_device("cuda_host", stream=stream),
    "capsule": lambda array, stream: array.__dlpack__(stream=stream, copy=True),
}
every = pytest.mark.parametrize("way", WAYS)


@every
@pytest.mark.parametrize("captured", ["the producer's", "the copy's", "both"])
def test_a_copy_is_no_part_of_a_capture(machine, emulator, capture, way, captured):
    """A copy on a capturing stream is refused: the event would make the copy a graph node."""
    producer = stream = machine.stream()
    if captured != "both":
        stream = machine.stream()
    array = described(machine, producer)
    before = emulator.live()

    with capture(stream if captured == "the copy's" else producer) as nodes:
        with pytest.raises(ix.StreamError) as caught:
            WAYS[way](array, stream)
        left = emulator.live()

    assert caught.value.rule == "DLP-STREAM-8"
    assert nodes == [0]
    assert left == before


def test_a_default_stream_that_is_not_used_may_have_any_state(machine, capture):
    """Only the two streams of the copy are checked for captures."""
    stream, array = machine.stream(), described(machine, machine.stream())

    with capture(2):
        copied = [array.copy(), array.copy(stream=stream)]

    assert all(sevens(machine, each) for each in copied)


FROM_THE_HOST = {
    "to a device": lambda stream: ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=stream),
    "page-locked": lambda _: ix.asarray(bytes([7]) * SIZE).to_device("cuda_host"),
}


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("way", [*WAYS, *FROM_THE_HOST])
def test_a_copy_does_not_spoil_the_capture_of_another_stream(machine, capture, way, elsewhere):
    """Memory is allocated and freed during a capture of this thread, or of another."""
    stream, array = machine.stream(), described(machine, machine.stream())

    def work():
        machine("cuCtxSetCurrent", machine.contexts[0])
        copied = FROM_THE_HOST[way](stream) if way in FROM_THE_HOST else WAYS[way](array, stream)
        machine("cuStreamSynchronize", stream)
        del copied

    with capture(machine.stream()) as nodes:
        if elsewhere:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        else:
            work()

    assert nodes == [0]


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("dying", ["source", "copy"])
def test_memory_that_two_devices_use_may_die_during_a_capture(machine, capture, dying, device):
    """Freeing memory of two devices waits on the host for pending work, but for no capture."""
    stream = machine.stream()
    source = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=stream)
    copy = source.to_device("cuda:1")
    machine.synchronize()

    with machine.current(device), capture(machine.stream(device)) as nodes:
        if dying == "source":
            del source
        else:
            del copy

    assert nodes == [0]


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("of_device", [0, 1])
def test_memory_under_a_copy_dies_after_it_though_a_stream_captures(
    machine, emulator, capture, device, of_device
):
    """Whichever device captures, and whichever device's stream copies."""
    source = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=machine.stream())
    stream = machine.stream(of_device)
    machine.synchronize()
    emulator.delay(stream, SLOW)

    with machine.current(device), capture(machine.stream(device)):
        copy = source.to_device("cuda:1", stream=stream)
        del source

    assert sevens(machine, copy)


@pytest.mark.parametrize("way", ["copy", "from the host"])
def test_a_copy_by_a_stream_of_another_device_may_be_dropped(machine, emulator, way):
    """The device that frees the memory waits for the stream that fills it."""
    stream, array = machine.stream(1), described(machine)
    emulator.delay(stream, SLOW)

    if way == "copy":
        copied = array.copy(stream=stream)
    else:
        copied = ix.asarray(bytes(SIZE)).to_device("cuda:0", stream=stream)
    del copied

    assert emulator.pending(stream) == 0


def test_default_streams_continue_during_a_copy(machine, emulator):
    """Default streams of the source's device continue while the copy runs on another stream."""
    source = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=machine.stream())
    other, stream = machine.memory(np.zeros(SIZE, np.uint8)), machine.stream(1)
    machine.synchronize()

    with emulator.held(stream):
        copied = source.to_device("cuda:1", stream=stream)
        machine("cuMemsetD8Async", other, 9, SIZE, 1)
        machine("cuStreamSynchronize", 1)

    assert sevens(machine, copied)
