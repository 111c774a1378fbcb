"""Bitmaps and blocks of memory in each core: bits spread, counted and applied, blocks joined."""

from __future__ import annotations

import importlib
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import _core
from interchange._core import _bits

CORES = [_bits, _core.chosen] if _core.core_name == "native" else [_bits]
ITEMS = st.sampled_from([b"\0", b"\1\2", b"\0\0\0\0", b"abcd", b"abcdefgh", b"abc"])
REST = 99  # the bytes before and after the result


in_each_core = pytest.mark.parametrize(
    "core", CORES, ids=lambda core: core.__name__.rpartition(".")[2]
)


@st.composite
def bitmaps(draw, most=700):
    """Return a bitmap, the first bit and the number of bits of a range, and its bits."""
    first, count = draw(st.integers(0, 70)), draw(st.integers(0, most))
    seed, share = draw(st.integers(0, 2**32)), draw(st.sampled_from([0, 0.01, 0.5, 1]))
    bits = np.random.default_rng(seed).random(first + count) < share
    end = -(-(first + count) // 8)
    bitmap = np.packbits(bits, bitorder="little")[:end]
    return bitmap, first, count, bits[first:].astype("u1")


def room(count):
    """Return bytes, and the part of them that is to be written."""
    block = np.full(count + 32, REST, "u1")
    return block, block[16 : 16 + count]


def is_kept(block, count):
    """Whether the bytes around the part were not written."""
    return (block[:16] == REST).all() and (block[16 + count :] == REST).all()


@in_each_core
@given(given=bitmaps())
def test_bits_are_spread_and_counted_from_any_place_on(core, given):
    """Bits before and after the range are ignored, and nothing around the bytes is written."""
    bitmap, first, count, bits = given
    block, part = room(count)

    core.spread_bits(bitmap.ctypes.data, first, count, part.ctypes.data)

    assert part.tolist() == bits.tolist()
    assert is_kept(block, count)
    assert core.count_bits(bitmap.ctypes.data, first, count) == bits.sum()


@in_each_core
@given(given=bitmaps(200), each=st.integers(0, 9), item=ITEMS)
def test_items_are_written_for_zeros_only(core, given, each, item):
    """All items of a bit that is 0 are written, and those of others are kept."""
    bitmap, first, count, bits = given
    size = each * len(item)
    block, part = room(count * size)
    due = np.full((count, size), REST, "u1")
    due[bits == 0] = np.frombuffer(item * each, "u1")

    core.fill_zeros(bitmap.ctypes.data, first, count, part.ctypes.data, each, item)

    assert part.tolist() == due.reshape(-1).tolist()
    assert is_kept(block, count * size)


@in_each_core
@given(sizes=st.lists(st.integers(0, 40), max_size=8))
def test_blocks_are_joined_in_their_order(core, sizes):
    """Blocks of no bytes may be at any address."""
    blocks = [np.arange(size, dtype="u1") + place for place, size in enumerate(sizes)]
    pairs = [(block.ctypes.data if block.size else 12345, block.size) for block in blocks]
    block, part = room(sum(sizes))

    core.join_blocks(b"".join(struct.pack("=QQ", *pair) for pair in pairs), part.ctypes.data)

    assert bytes(part) == b"".join(map(bytes, blocks))
    assert is_kept(block, sum(sizes))


@in_each_core
def test_long_ranges(core):
    """What takes long, and releases the GIL, has the same result."""
    rng = np.random.default_rng(0)
    bitmap = rng.integers(0, 256, 150_001, "u1")
    bits = np.unpackbits(bitmap, bitorder="little")[3 : 3 + 1_200_000]
    found, filled = np.empty(bits.size, "u1"), np.zeros((bits.size, 2), "u1")

    core.spread_bits(bitmap.ctypes.data, 3, bits.size, found.ctypes.data)
    core.fill_zeros(bitmap.ctypes.data, 3, bits.size, filled.ctypes.data, 1, b"ab")

    assert (found == bits).all()
    assert core.count_bits(bitmap.ctypes.data, 3, bits.size) == bits.sum()
    assert (filled == np.where(bits[:, None], 0, np.frombuffer(b"ab", "u1"))).all()


@in_each_core
def test_nothing_is_read_for_no_bits(core):
    """For no bits nothing is read or written, not even at NULL."""
    core.spread_bits(0, 12345, 0, 0)
    core.fill_zeros(0, 12345, 0, 0, 3, b"ab")
    core.join_blocks(b"", 0)

    assert core.count_bits(0, 12345, 0) == 0


def test_the_ctypes_core_has_these_functions():
    """Its functions are those tested above."""
    ctypes_core = importlib.import_module("interchange._core._ctypes")

    for name in ("spread_bits", "count_bits", "fill_zeros", "join_blocks"):
        assert getattr(ctypes_core, name) is getattr(_bits, name)
