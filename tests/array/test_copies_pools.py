"""Temporaries of copies: of the driver's pool, in the order of the stream, without waits."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange._streams.cuda import CudaDriver
from interchange._streams.driver import driver_of

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

SHAPE = (64, 64)
SIZE = 64 * 64
CONTENT = np.arange(SIZE, dtype=np.uint32).astype(np.uint8).reshape(SHAPE)


def described(machine, device, stream, content=CONTENT):
    """Return an Array over memory of a device."""
    with machine.current(device):
        ptr = machine.memory(content)
    return ix.from_pointer(ptr, content.shape, "uint8", device=f"cuda:{device}", stream=stream)


class Upload:
    """Of host elements into columns of a device."""

    def __init__(self, machine):
        self.streams = [machine.stream(), machine.stream()]
        self.target = described(machine, 0, self.streams[0])

    def run(self):
        """Return what is copied to, and its expected contents."""
        ix.copyto(self.target[:, ::2], CONTENT[:, 1::2], stream=self.streams[1])
        expected = CONTENT.copy()
        expected[:, ::2] = CONTENT[:, 1::2]
        return self.target, expected


class Shift:
    """Of rows within one memory, which overlap."""

    def __init__(self, machine):
        self.streams = [machine.stream(), machine.stream()]
        self.target = described(machine, 0, self.streams[0])

    def run(self):
        """Return what is copied to, and its expected contents."""
        ix.copyto(self.target[::-1], self.target, stream=self.streams[1])
        return self.target, CONTENT[::-1]


class Move:
    """Of columns to another device, on a stream of that one."""

    def __init__(self, machine):
        self.streams = [machine.stream(), machine.stream(1)]
        self.source = described(machine, 0, self.streams[0])

    def run(self):
        """Return what is copied to, and its expected contents."""
        return self.source[:, ::2].to_device("cuda:1", stream=self.streams[1]), CONTENT[:, ::2]


every = pytest.mark.parametrize("program", [Upload, Shift, Move])


@every
def test_temporaries_are_taken_and_freed_without_waits(machine, emulator, program):
    """While the first stream is held, and nothing is left; the last stream frees the memory."""
    copy = program(machine)
    machine.synchronize()
    live = emulator.live().device
    with emulator.held(copy.streams[0]), emulator.trace() as trace:
        target, expected = copy.run()
        calls = trace.calls
    frees = [call for call in calls if call.name == "cuMemFreeAsync"]

    assert machine.read(target.ptr, target.nbytes) == expected.tobytes()
    assert len(frees) == 1
    assert frees[0].args["stream"] == copy.streams[1]
    assert "cuMemAllocFromPoolAsync" in [call.name for call in calls]
    assert not {"cuMemFree", "cuStreamSynchronize"} & {call.name for call in calls}
    assert emulator.live().device - live == (program is Move)


@every
def test_without_pools_memory_is_allocated_and_freed_as_other_memory(
    machine, emulator, monkeypatch, program
):
    """The elements are the same."""
    driver = driver_of(ix.Device("cuda"), "test")
    monkeypatch.setattr(driver, "_pools", dict.fromkeys(range(2), False))
    with emulator.trace() as trace:
        target, expected = program(machine).run()

    assert machine.read(target.ptr, target.nbytes) == expected.tobytes()
    assert "cuMemAllocFromPoolAsync" not in trace.names
    assert "cuMemFreeAsync" not in trace.names


@every
def test_what_fails_frees_its_temporaries(machine, emulator, monkeypatch, program):
    """After the work on them, for which the host waits."""
    copy = program(machine)
    emulator.delay(copy.streams[0], 0.02)
    before = emulator.live()

    def failing(*_):
        raise ix.ExchangeError("test", "refused", "IX-DRIVER-2")

    monkeypatch.setattr(CudaDriver, "copy" if program is Move else "copy_pitched", failing)
    if program is Shift:
        monkeypatch.setattr(CudaDriver, "copy", failing)
    with pytest.raises(ix.ExchangeError, match="refused"):
        copy.run()

    assert emulator.live()._replace(events=before.events) == before


def run_between_writes(machine, emulator, copy):
    """Copy between two writes on the first stream."""
    memory = copy.source if isinstance(copy, Move) else copy.target
    emulator.fill(copy.streams[0], memory.ptr, SIZE, 3)
    copy.run()
    emulator.fill(copy.streams[0], memory.ptr, SIZE, 4)
    machine.synchronize()


@pytest.mark.parametrize(
    ("program", "places"),
    [
        *((program, None) for program in (Upload, Shift, Move)),
        *((program, (0, 1)) for program in (Upload, Shift, Move)),
        *((program, (1, 0)) for program in (Upload, Shift)),
    ],
)
def test_each_missing_wait_is_reported(machine, emulator, waits, program, places):
    """The program has no races; without the waits of one of its streams for the other it has."""
    copy = program(machine)
    omitted = tuple(copy.streams[place] for place in places or ())
    waits.is_omitted = lambda _, pair: pair == omitted
    run_between_writes(machine, emulator, copy)

    if places:
        assert omitted in waits.made
        emulator.expect_reports()
    else:  # what the source's stream does next does not wait for the other device
        there_and_back = {tuple(copy.streams), tuple(copy.streams[::-1])}
        assert len(there_and_back.intersection(waits.made)) == (1 if program is Move else 2)


@every
def test_memory_that_is_freed_on_another_stream_is_reported(
    machine, emulator, monkeypatch, program
):
    """The stream of the copy is the one that frees it."""
    other, free = machine.stream(), CudaDriver.free_in_order
    monkeypatch.setattr(
        CudaDriver, "free_in_order", lambda self, ptr, ordinal, _: free(self, ptr, ordinal, other)
    )
    run_between_writes(machine, emulator, program(machine))

    emulator.expect_reports()


def test_a_temporary_of_foreign_memory_keeps_it_until_it_is_read(machine, emulator):
    """The owner of the source goes when the copy from it is done."""
    stream = machine.stream()
    owner = machine.owner(SIZE, stream)
    gone = weakref.ref(owner)
    emulator.fill(stream, owner.ptr, SIZE, 7)
    array = ix.from_pointer(
        owner.ptr, SHAPE, "uint8", device="cuda", stream=machine.stream(), owner=owner
    )
    del owner
    emulator.delay(stream, 0.02)
    array = ix.from_dlpack(array, stream=stream)

    moved = array[:, ::2].to_device("cuda:1")
    ix.copyto(array[::-1], array)
    del array
    machine.synchronize()
    gc.collect()

    assert gone() is None
    assert set(machine.read(moved.ptr, moved.nbytes)) == {7}


def test_the_pool_of_the_device_is_that_of_its_user(machine, emulator):
    """``cuDeviceSetMemPool`` changes it."""
    copy = Shift(machine)
    with emulator.trace() as trace:
        copy.run()

    assert "cuDeviceGetMemPool" in trace.names
