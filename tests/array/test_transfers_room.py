"""Memory of drivers: out of memory, and contexts that are created and destroyed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import interchange as ix
from interchange._streams.driver import driver_of

pytestmark = pytest.mark.emulated

HUGE = 2**50  # [bytes]
SIZE = 4096
ENQUEUED = {"cuEventRecord", "cuStreamWaitEvent", "cuMemcpyAsync", "cuMemcpy3DAsync"}


@pytest.fixture
def huge(machine):
    """Return a busy Array of whose memory the driver knows the first bytes only."""
    ptr = machine.memory(np.zeros(SIZE, np.uint8))
    return ix.from_pointer(ptr, (HUGE,), "uint8", device="cuda:0", stream=machine.stream())


def turned(array):
    """Return a view that needs many driver copies, few enough to be made by the driver."""
    return array.reshape((2**40, 2**10)).permute_dims((1, 0))


def windows(array):
    """Return a view that the driver would need too many copies for: none as long as a page."""
    return array.reshape((2**5,) * 10).permute_dims((1, 0, 3, 2, 5, 4, 7, 6, 9, 8))


COPIES = {
    "a copy": lambda array, stream: array.copy(stream=stream),
    "rows": lambda array, stream: array.reshape((2**25, 2**25))[::2].copy(stream=stream),
    "in pieces": lambda array, stream: turned(array).copy(stream=stream),
    "by the host": lambda array, stream: windows(array).copy(stream=stream),
    "on another device": lambda array, stream: array.to_device("cuda:1", stream=stream),
    "rows on another device": lambda array, stream: array.reshape((2**25, 2**25))[::2].to_device(
        "cuda:1", stream=stream
    ),
    "on the host": lambda array, stream: array.to_device("cpu", stream=stream),
    "in pieces, on the host": lambda array, stream: turned(array).to_device("cpu", stream=stream),
    "by the host, on the host": lambda array, stream: windows(array).to_device(
        "cpu", stream=stream
    ),
    "a capsule": lambda array, stream: array.__dlpack__(stream=stream, copy=True),
}


@pytest.mark.parametrize("copy", COPIES)
def test_without_room_nothing_is_enqueued(machine, emulator, huge, copy):
    """Memory is allocated before any work is enqueued; the error is also a MemoryError."""
    stream = machine.stream()
    before = emulator.live()

    with emulator.trace() as trace, pytest.raises(ix.OutOfDeviceMemoryError) as caught:
        COPIES[copy](huge, stream)

    assert caught.value.rule == "IX-DRIVER-4"
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, BufferError)
    assert not ENQUEUED & set(trace.names)
    assert emulator.live() == before


@pytest.mark.parametrize("target", ["cuda:0", "cuda_host:0"])
def test_the_hosts_memory_finds_no_room_either(machine, emulator, target):
    """The error names the driver function and the requested size."""
    before = emulator.live()
    array = ix.from_pointer(machine.pinned(SIZE), (HUGE,), "uint8", device="cuda_managed")

    with pytest.raises(ix.OutOfDeviceMemoryError, match=f"Alloc\\({HUGE}\\) failed"):
        array.to_device(target)

    assert emulator.live().device == before.device


def test_an_error_of_the_driver_is_named(machine):
    """A copy from beyond the end of an allocation raises the driver's error (IX-DRIVER-2)."""
    array = ix.from_pointer(machine.memory(np.zeros(SIZE, np.uint8)), (256 * SIZE,), "uint8",
                            device="cuda:0")  # fmt: skip

    with pytest.raises(ix.ExchangeError, match="CUDA_ERROR_") as caught:
        array.to_device("cpu")

    assert caught.value.rule == "IX-DRIVER-2"


# ---------------------------------------------------------------- contexts


@pytest.fixture
def own_context(machine):
    """Return a function that makes a user's context current, on the first device."""
    made = []

    def make():
        context = machine("cuCtxCreate", None, 0, 0)
        machine("cuCtxPopCurrent")
        machine("cuCtxSetCurrent", context)
        made.append(context)
        return context

    yield make
    for context in made:
        machine.api.cuCtxDestroy(context)
    machine("cuCtxSetCurrent", machine.contexts[0])


def test_memory_that_went_with_its_context_is_not_given_back(machine, emulator, own_context):
    """Memory of a destroyed context is not freed, since its address may have been reused."""
    source = ix.from_pointer(
        machine.memory(np.full(SIZE, 7, np.uint8)), (SIZE,), "uint8", device="cuda:0"
    )
    context = own_context()
    copied = source.copy()
    machine("cuCtxSynchronize")
    machine("cuCtxDestroy", context)
    machine("cuCtxSetCurrent", machine.contexts[0])

    with emulator.trace() as trace:
        del copied

    assert "cuMemFree" not in "".join(trace.names)


def test_an_address_that_was_used_again_is_left_alone(machine, emulator):
    """The driver numbers its allocations, and a number is never reused."""
    driver = driver_of(ix.Device(2), "test")
    theirs = machine.memory(np.zeros(SIZE, np.uint8))
    ours = driver.allocate(SIZE, 0, "test")
    driver._made[theirs] = driver._made[ours]  # as if the driver had reused the address

    with emulator.trace() as trace:
        driver.free(theirs, 0, pinned=False)
    driver.free(ours, 0, pinned=False)

    assert "cuMemFree" not in "".join(trace.names)
    assert driver.pointer_attributes(theirs, "test") is not None


def test_memory_of_a_context_is_given_back_from_any_other(machine, emulator, own_context):
    """Memory of a user's context is freed in that context when its work is complete."""
    source = ix.from_pointer(
        machine.memory(np.full(SIZE, 7, np.uint8)), (SIZE,), "uint8", device="cuda:0"
    )
    before, stream = emulator.live(), machine.stream()
    own_context()
    emulator.delay(stream, 0.02)
    copied = source.copy(stream=stream)
    machine("cuCtxSetCurrent", machine.contexts[1])

    del copied

    assert emulator.pending(stream) == 0
    assert emulator.live().device == before.device


def test_the_device_address_is_asked_for_in_a_context(machine, emulator):
    """The address is queried in a context, since a thread may have none."""
    ptr, found = machine.pinned(SIZE), []
    driver = driver_of(ix.Device(2), "test")

    with emulator.trace() as trace:
        thread = threading.Thread(target=lambda: found.append(driver.device_pointer(ptr, "test")))
        thread.start()
        thread.join()

    assert found == [ptr]
    assert trace.names.index("cuCtxPushCurrent") < trace.names.index("cuPointerGetAttribute")
