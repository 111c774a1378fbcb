"""Bitmaps and blocks of host memory in the ctypes core: spread, counted, applied, and joined.

Source: Arrow columnar format, Validity bitmaps.  NumPy's loops do what C does in the native core.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final

from interchange._types.numpy_dtypes import load_numpy

_BLOCK: Final = struct.Struct("=QQ")


def _bytes_at(address: int, count: int) -> Any:
    """Return an ndarray of the bytes at an address."""
    return load_numpy().frombuffer((ctypes.c_uint8 * count).from_address(address), "u1")


def _bits_at(address: int, first: int, count: int) -> Any:
    """Return an ndarray with a byte of 0 or 1 for each bit of a range."""
    start, end = first >> 3, (first + count + 7) >> 3
    found = load_numpy().unpackbits(_bytes_at(address + start, end - start), bitorder="little")
    return found[first & 7 :][:count]


def spread_bits(address: int, first: int, count: int, into: int) -> None:
    """Write a byte of 0 or 1 for each bit of a range of a bitmap."""
    if count:
        _bytes_at(into, count)[:] = _bits_at(address, first, count)


def pack_bits(source: int, count: int, out: int, /) -> int:
    """Write a bit for each byte, and return how many are 1."""
    if not count:
        return 0
    np = load_numpy()
    ones = _bytes_at(source, count) != 0
    packed = np.packbits(ones, bitorder="little")
    _bytes_at(out, packed.size)[:] = packed
    return int(np.count_nonzero(ones))


def count_bits(address: int, first: int, count: int) -> int:
    """Return how many bits of a range of a bitmap are 1."""
    if not count:
        return 0
    start, end = first >> 3, (first + count + 7) >> 3
    bits = int.from_bytes(ctypes.string_at(address + start, end - start), "little")
    return ((bits >> (first & 7)) & ((1 << count) - 1)).bit_count()


def fill_zeros(address: int, first: int, count: int, into: int, each: int, item: bytes) -> None:
    """Write `each` copies of an item for each bit that is 0; skip as many items for others."""
    size = each * len(item)
    if count and size:
        np = load_numpy()
        rows = _bytes_at(into, count * size).reshape(count, size)
        rows[_bits_at(address, first, count) == 0] = np.frombuffer(item * each, "u1")


def join_blocks(blocks: bytes, into: int) -> None:
    """Copy blocks of memory one after the other."""
    for address, nbytes in _BLOCK.iter_unpack(blocks):
        ctypes.memmove(into, address, nbytes)
        into += nbytes
