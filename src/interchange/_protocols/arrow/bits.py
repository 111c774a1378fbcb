"""Bitmaps: bits are counted, and expanded to bytes.  Bit 0 is the lowest bit of byte 0.

Source: Arrow columnar format, Validity bitmaps.
"""

from __future__ import annotations

import ctypes
from typing import Final

_ZEROS_AND_ONES: Final = bytes.maketrans(b"01", b"\0\1")


def bits_at(address: int, first: int, count: int) -> int:
    """Return some bits of a bitmap on the host as one int, the first the lowest.

    `address`: address of the bitmap.
    `first`, `count`: range of bits [bits].
    """
    if not count:
        return 0
    start, end = first >> 3, (first + count + 7) >> 3
    raw = ctypes.string_at(address + start, end - start)
    return (int.from_bytes(raw, "little") >> (first & 7)) & ((1 << count) - 1)


def count_zeros(bits: int, count: int) -> int:
    """Return how many of the given number of bits are 0.

    Examples
    --------
    >>> count_zeros(0b0110, 4)
    2
    """
    return count - bits.bit_count()


def bytes_of_bits(bits: int, count: int) -> bytes:
    r"""Return a byte of 0 or 1 for each bit, the lowest bit first.

    Examples
    --------
    >>> bytes_of_bits(0b0110, 4)
    b'\x00\x01\x01\x00'
    """
    if not count:
        return b""
    return f"{bits:0{count}b}"[::-1].encode().translate(_ZEROS_AND_ONES)
