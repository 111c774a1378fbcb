"""Copies between GPUs without peer access: pieces through page-locked memory, in order."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest

import interchange as ix
from interchange._array import peer_copies
from interchange._streams.cuda import CudaDriver
from interchange._streams.driver import driver_of

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

PIECE = 1024
SIZE = 4 * PIECE + 100
CONTENT = np.arange(SIZE, dtype=np.uint32).astype(np.uint8)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Let pieces be small, and buffers go with the test."""
    monkeypatch.setattr(peer_copies, "PIECE", PIECE)
    monkeypatch.setattr(peer_copies, "_relays", {})


def lasting(ordinal):
    """Return the private stream of a device."""
    return driver_of(ix.Device("cuda", ordinal), "test").lasting_stream(ordinal, "test")


def described(machine, device=0, stream=None, content=CONTENT):
    """Return an Array over memory of a device."""
    with machine.current(device):
        ptr = machine.memory(content)
    return ix.from_pointer(ptr, content.shape, "uint8", device=f"cuda:{device}", stream=stream)


@pytest.mark.parametrize("nbytes", [PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE, SIZE])
@pytest.mark.parametrize("there", [0, 1])
def test_every_length_arrives(machine, emulator, there, nbytes):
    """In pieces, if there is more than one, through one pair of buffers."""
    source = described(machine, there, machine.stream(there), CONTENT[:nbytes])
    before = emulator.live().pinned
    for _ in range(2):
        target = source.to_device(f"cuda:{1 - there}")
        assert machine.read(target.ptr, nbytes) == CONTENT[:nbytes].tobytes()
    assert emulator.live().pinned - before == (nbytes > PIECE)


@pytest.mark.parametrize("of_stream", [0, 1])
def test_the_host_does_not_wait(machine, emulator, of_stream):
    """The copy runs after the producer, on the stream that was named, whichever device has it."""
    producer, stream = machine.stream(), machine.stream(of_stream)
    source = described(machine, 0, producer)
    with emulator.held(producer):
        emulator.fill(producer, source.ptr, SIZE, 7)
        target = source.to_device("cuda:1", stream=stream)
        assert emulator.pending(stream)
    assert machine.read(target.ptr, SIZE) == bytes([7]) * SIZE


def test_pieces_overlap(machine, emulator, monkeypatch):
    """Two pieces are fetched though none is delivered, and a third is not."""
    source, copy = described(machine, 0, machine.stream()), CudaDriver.copy
    source.to_device("cuda:1")
    machine.synchronize()
    (relay,) = peer_copies._relays.values()
    held, delivering = [], lasting(1)

    def stopping(self, target, *args):
        if target == relay.buffers.ptr and not held:
            held.append(emulator.hold(delivering))
        copy(self, target, *args)

    monkeypatch.setattr(CudaDriver, "copy", stopping)
    emulator.fill(source._pending_work.stream, source.ptr, SIZE, 9)
    target = source.to_device("cuda:1")
    end = time.monotonic() + 10
    while ctypes.string_at(relay.buffers.ptr, 2 * PIECE) != bytes([9]) * 2 * PIECE:
        assert time.monotonic() < end
        time.sleep(0.001)
    assert emulator.pending(lasting(0))
    emulator.release(delivering)

    assert machine.read(target.ptr, SIZE) == bytes([9]) * SIZE


def test_devices_that_reach_each_other_need_no_buffers(machine):
    """Where peer access is enabled, the driver copies directly."""
    source = described(machine)
    stream = machine.stream(1)
    with machine.current(1):
        machine("cuCtxEnablePeerAccess", machine.contexts[0], 0)
    target = source.to_device("cuda:1", stream=stream)
    with machine.current(1):
        machine("cuCtxDisablePeerAccess", machine.contexts[0])

    assert machine.read(target.ptr, SIZE) == CONTENT.tobytes()
    assert peer_copies._relays == {}


def test_copies_into_given_memory_take_the_same_way(machine):
    """Also in both directions at once, and by several threads."""
    sides = [described(machine, one, machine.stream(one)) for one in (0, 1)]
    targets = [described(machine, 1 - one, machine.stream(1 - one)) for one in (0, 1)]

    def copy(number):
        machine("cuCtxSetCurrent", machine.contexts[number])
        for _ in range(5):
            ix.copyto(targets[number], sides[number])

    threads = [threading.Thread(target=copy, args=(one,)) for one in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for target in targets:
        assert machine.read(target.ptr, SIZE) == CONTENT.tobytes()


def test_memory_may_die_under_the_copy(machine, emulator):
    """Memory of interchange is freed after the copy."""
    stream = machine.stream()
    source = ix.asarray(CONTENT).to_device("cuda:0", stream=stream)
    machine.synchronize()
    emulator.delay(stream, 0.02)

    target = source.to_device("cuda:1")
    del source

    assert machine.read(target.ptr, SIZE) == CONTENT.tobytes()


@pytest.mark.parametrize("number", range(1, 5))
def test_a_copy_that_fails_leaves_nothing_running(machine, emulator, monkeypatch, number):
    """The source may be freed as soon as the error arrives."""
    source = described(machine, 0, machine.stream())
    source.to_device("cuda:1")
    machine.synchronize()
    before, calls, copy = emulator.live(), [], CudaDriver.copy

    def failing(self, *args):
        calls.append(args)
        if len(calls) == number:
            raise ix.ExchangeError("test", "refused", "IX-DRIVER-2")
        copy(self, *args)

    monkeypatch.setattr(CudaDriver, "copy", failing)
    emulator.delay(source._pending_work.stream, 0.02)
    with pytest.raises(ix.ExchangeError, match="refused"):
        source.to_device("cuda:1")

    assert emulator.pending(lasting(0)) == emulator.pending(lasting(1)) == 0
    assert emulator.live()._replace(events=before.events) == before


# ---------------------------------------------------------------- each wait


def program(machine, emulator, ptrs, streams):
    """Copy twice between two devices, between writes to both memories."""
    first, second, third = streams
    source, target = (
        ix.from_pointer(ptr, (SIZE,), "uint8", device=f"cuda:{ordinal}", stream=stream)
        for ptr, ordinal, stream in zip(ptrs, (0, 1), (first, second), strict=True)
    )
    for value in (1, 3):
        emulator.fill(first, ptrs[0], SIZE, value)
        emulator.fill(second, ptrs[1], SIZE, value + 1)
        ix.copyto(target, source, stream=third)
    emulator.fill(first, ptrs[0], SIZE, 5)
    emulator.fill(second, ptrs[1], SIZE, 6)
    machine.synchronize()


def test_each_missing_wait_is_reported(machine, emulator, waits):
    """The program has no races; without any one wait of the private streams it has."""
    streams = [machine.stream(0), machine.stream(1), machine.stream(1)]
    ptrs = [described(machine, one).ptr for one in (0, 1)]
    program(machine, emulator, ptrs, streams)
    private = {lasting(0), lasting(1)}
    wanted = [place for place, pair in enumerate(waits.made) if private & set(pair)]
    assert len(wanted) > 2 * SIZE // PIECE

    silent = []
    for omitted in wanted:
        waits.omit(omitted)
        program(machine, emulator, ptrs, streams)
        if not emulator.unexpected_reports():
            silent.append((omitted, waits.made[omitted]))
        else:
            emulator.expect_reports()
    assert not silent
