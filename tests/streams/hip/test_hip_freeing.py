"""ROCm, memory: failed allocations, captures, and the waits of freeing."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
SLOW = 0.02  # [seconds]


@pytest.mark.parametrize("pinned", [False, True])
def test_no_room_is_an_error_of_its_own(rocm, pinned):
    """The error is also a MemoryError, and the runtime keeps none."""
    make = rocm.driver.allocate_pinned if pinned else rocm.driver.allocate

    with pytest.raises(ix.OutOfDeviceMemoryError, match="hipErrorOutOfMemory") as caught:
        make(2**50, 0, CALL)

    assert caught.value.rule == "IX-DRIVER-4"
    assert isinstance(caught.value, MemoryError)
    assert rocm.last_error() == 0


def test_there_is_no_managed_memory_to_be_had(rocm):
    """DLPack has no device type for it."""
    with pytest.raises(ix.UnsupportedDeviceError, match="DLP-DEV-6"):
        rocm.driver.allocate_managed(SIZE, 0, CALL)


@pytest.mark.parametrize("pinned", [False, True])
def test_memory_comes_and_goes_beside_a_capture(rocm, pinned):
    """The capture of another stream ends successfully."""
    make = rocm.driver.allocate_pinned if pinned else rocm.driver.allocate
    before = rocm.emulator.live()

    with rocm.capture(rocm.stream()):
        rocm.driver.free(make(SIZE, 0, CALL), 0, pinned)

    assert rocm.emulator.live()._replace(streams=0) == before._replace(streams=0)


@pytest.mark.parametrize("ptr", [0, 1])
def test_freeing_waits_for_the_streams_of_other_devices(rocm, ptr):
    """Freeing waits for the streams of other devices that the driver knows."""
    memory, stream = rocm.driver.allocate(SIZE, 0, CALL), rocm.stream(1)
    source = rocm.memory(1)
    rocm.emulator.delay(stream, SLOW)
    rocm.driver.copy(memory, source, SIZE, stream, 1, CALL)

    rocm.driver.follow(stream, 1, 0, CALL, memory if ptr else 0)
    rocm.driver.free(memory, 0, pinned=False)

    assert rocm.emulator.pending(stream) == 0


def test_a_stream_of_the_same_device_is_waited_for_anyway(rocm):
    """No event is needed, except when no address is given."""
    memory, stream = rocm.memory(1), rocm.stream(1)

    with rocm.calls() as calls:
        rocm.driver.follow(stream, 0, 1, CALL, memory)
        rocm.driver.follow(0, 1, 1, CALL, memory)

    assert calls == []


def test_the_runtime_tells_whether_the_work_is_done(rocm):
    """The runtime's code for pending work is not an error, and is cleared."""
    stream = rocm.stream(1)
    with rocm.emulator.held(stream):
        mark = rocm.driver.mark(stream, 1, CALL)
        early = rocm.driver.is_complete(mark)
    rocm.driver.synchronize_device(1, CALL)

    assert (early, rocm.driver.is_complete(mark)) == (False, True)
    assert rocm.last_error() == 0


def test_the_event_of_a_mark_is_used_again(rocm):
    """The event is reused when the work before it is done."""
    stream = rocm.stream()
    rocm.driver.is_complete(rocm.driver.mark(stream, 0, CALL))
    rocm.driver.synchronize_device(0, CALL)
    before = rocm.events()
    for _ in range(5):
        mark = rocm.driver.mark(stream, 0, CALL)
        rocm.driver.synchronize_device(0, CALL)
        assert rocm.driver.is_complete(mark)

    assert rocm.events() == before
