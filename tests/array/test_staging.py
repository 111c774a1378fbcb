"""Copies between plain host memory and devices: blocks of page-locked memory, used in turn."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest

import interchange as ix
from interchange._array import staging
from interchange._streams.cuda import CudaDriver
from interchange._types.errors import OutOfDeviceMemoryError

BLOCK = 1024
SHAPE = (6, 32, 40)
CUBE = np.random.default_rng(7).integers(0, 2**31, SHAPE, np.int32)
HOST = {
    "reversed": (slice(None, None, -1),) * 3,
    "columns": (slice(None), slice(None), slice(1, None, 3)),
    "windows": (slice(None, None, 2), slice(3, 20), slice(None, None, -2)),
}
emulated = pytest.mark.emulated


@pytest.fixture
def small(machine, monkeypatch):
    """Let blocks be small, and go with the test."""
    monkeypatch.setattr(staging, "BLOCK", BLOCK)
    monkeypatch.setattr(staging, "LEAST", 64)
    monkeypatch.setattr(staging, "_blocks", {})
    return machine


@pytest.mark.parametrize(
    ("shape", "itemsize"),
    [((7,), 4), ((5, 7), 1), ((3, 1, 700), 4), ((2, 3, 300), 4), ((1, 1, 5000), 1), ((9, 2048), 1)],
)
def test_parts_cover_a_shape_in_order(monkeypatch, shape, itemsize):
    """Each element is in one part, the parts are consecutive, and none is longer than a block."""
    monkeypatch.setattr(staging, "BLOCK", BLOCK)
    numbers, found = np.arange(prod(shape)).reshape(shape), []
    for first, part in staging.split(shape, itemsize):
        key = tuple(slice(i, i + n) for i, n in zip(first, part, strict=True))
        assert numbers[key].shape == part
        assert prod(part) * itemsize <= BLOCK
        found += numbers[key].ravel().tolist()

    assert found == list(range(prod(shape)))


TARGETS = {
    "rows": lambda shape: ix.empty(shape, "int32", device="cuda:0"),
    "columns first": lambda shape: ix.empty(shape[::-1], "int32", device="cuda:0").permute_dims(
        (2, 1, 0)
    ),
    "gaps": lambda shape: ix.empty((*shape[:2], 2 * shape[2]), "int32", device="cuda:0")[..., ::2],
}


@emulated
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("key", HOST)
def test_elements_go_to_a_device_and_back(key, target):
    """Strided on either side, several blocks long."""
    given = CUBE[HOST[key]]
    there = TARGETS[target](given.shape)
    ix.copyto(there, given)
    back = np.zeros((given.shape[0], given.shape[1], 2 * given.shape[2]), np.int32)[..., 1::2]
    ix.copyto(back, there)

    assert np.array_equal(back, given)


@emulated
def test_the_host_does_not_wait_for_the_stream(small, emulator):
    """The elements are taken at the call, also when all blocks are in use: plain memory is."""
    stream, given = small.stream(), CUBE[:, ::-1].copy()
    target = ix.empty(SHAPE, "int32", device="cuda:0")
    with emulator.held(stream):
        ix.copyto(target, given[:, ::-1], stream=stream)
        given[:] = 0
        assert emulator.pending(stream)
    (blocks,) = staging._blocks.values()

    assert small.read(target.ptr, target.nbytes) == CUBE.tobytes()
    assert blocks._count == staging.MOST < CUBE.nbytes // BLOCK


@emulated
@pytest.mark.usefixtures("small")
def test_a_block_that_cannot_be_allocated_is_not_counted(monkeypatch):
    """Plain memory takes its place, and later copies try again."""

    def fail(*_):
        raise OutOfDeviceMemoryError("test", "no pages", "IX-DRIVER-4")

    target = ix.empty(SHAPE, "int32", device="cuda:0")
    with monkeypatch.context() as patch:
        patch.setattr(staging, "allocate_pinned", fail)
        ix.copyto(target, CUBE[:, ::-1])
    (blocks,) = staging._blocks.values()
    assert blocks._count == 0

    assert np.array_equal(target.to_device("cpu"), CUBE[:, ::-1])
    ix.copyto(target, CUBE[:, ::-1])
    assert blocks._count > 0


@emulated
def test_blocks_are_used_again_when_their_copy_is_done(small, emulator, monkeypatch):
    """And not before: the copies would take elements of later ones."""
    stream, other = small.stream(), small.stream()
    given = CUBE[:1, ::-1]
    target = ix.empty(given.shape, "int32", device="cuda:0")
    for _ in range(20):
        ix.copyto(target, given, stream=stream)
        small.synchronize()
    (blocks,) = staging._blocks.values()
    count = blocks._count
    assert count <= len(list(staging.split(given.shape, 4)))
    before = emulator.live().pinned

    def run():
        with emulator.held(stream):
            ix.copyto(target, given, stream=stream)
            there = ix.empty(given.shape, "int32", device="cuda:0")
            for _ in range(blocks._count):  # whichever block is taken first
                ix.copyto(there, (-CUBE[:1])[:, ::-1], stream=other)
        return small.read(target.ptr, target.nbytes) == given.tobytes()

    assert run()
    assert emulator.live().pinned > before
    monkeypatch.setattr(CudaDriver, "is_complete", lambda *_: True)
    assert not run()


@emulated
def test_the_host_waits_for_each_block_that_it_reads(small, emulator, monkeypatch):
    """Without that wait it reads old elements."""
    source = ix.empty((32, 128), "int32", device="cuda:0")
    stream = small.stream()

    def run(value):
        back = np.zeros((32, 100), np.int32)
        emulator.delay(stream, 0.02)
        emulator.fill(stream, source.ptr, source.nbytes, value)
        ix.copyto(back, source[:, :100], stream=stream)
        return set(back.ravel().tolist()) == {value * 0x01010101}

    assert run(1)
    monkeypatch.setattr(CudaDriver, "wait_for_mark", lambda *_: None)
    assert not run(2)


@emulated
@pytest.mark.parametrize("number", range(1, 4))
@pytest.mark.parametrize("way", ["there", "back"])
def test_a_copy_that_fails_leaves_no_block_in_use(small, emulator, monkeypatch, way, number):
    """The blocks go, when what was enqueued has run."""
    stream, count = small.stream(), itertools.count(1)
    device = ix.empty((32, 128), "int32", device="cuda:0")
    host = np.zeros((32, 200), np.int32)
    sides = [device[:, :100], host[:, 100:] if way == "back" else host[:, 99::-1]]
    name = "copy" if way == "there" else "copy_pitched"
    work = getattr(CudaDriver, name)

    def failing(*args):
        if next(count) == number:
            raise ix.ExchangeError("test", "refused", "IX-DRIVER-2")
        work(*args)

    monkeypatch.setattr(CudaDriver, name, failing)
    emulator.delay(stream, 0.02)
    with pytest.raises(ix.ExchangeError, match="refused"):
        ix.copyto(*(sides if way == "there" else sides[::-1]), stream=stream)

    assert emulator.pending(stream) == 0
    blocks = next(iter(staging._blocks.values()))
    assert blocks._count == len(blocks._unused)
