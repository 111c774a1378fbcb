"""Nulls of a chunk: counted, compared with null_count, and written as a mask.

Source: Arrow columnar format, Validity bitmaps; The Arrow C data interface,
``ArrowArray.null_count``.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange.abi import BrokenRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from .buffers import Validity
    from .chunk_views import Chunk

Bits = dict["Validity", tuple[int, Any]]
"""Bitmap with nulls -> its address on the host, and the owner of that memory."""


def count_nulls(chunk: Chunk, on_host: Callable[[Validity], tuple[int, Any]]) -> tuple[int, Bits]:
    """Return how many elements of a chunk are null, at all levels, and the bitmaps with nulls.

    The bitmap of a level without nulls, as its producer counted, is not read: it need not exist.

    Raises BrokenRule: the producer's count differs (ARROW-NULL-1).
    """
    found: Bits = {}
    nulls = 0
    for validity in chunk.leaf.validities:
        if not validity.length or validity.nulls == 0:
            continue
        place = on_host(validity)
        zeros = count_zeros(validity, place[0])
        if validity.nulls is not None and validity.nulls != zeros:
            what = f"null_count is {validity.nulls}, and {zeros} bits of the validity are 0"
            raise BrokenRule("ARROW-NULL-1", what)
        nulls += zeros
        if zeros:
            found[validity] = place
    return nulls, found


def count_zeros(validity: Validity, address: int) -> int:
    """Return how many bits of a bitmap at a host address are 0."""
    return validity.length - _core.count_bits(address, validity.first, validity.length)


def write_mask(bits: Bits, count: int, each: int, address: int) -> None:
    """Write a byte for each group of values of a chunk: 1, or 0 where a level is null.

    `bits`: the bitmaps of its levels that have nulls.
    `count`: number of groups.
    `each`: number of values in a group; that of each bitmap is a multiple [elements].
    `address`: of the bytes, on the host.
    """
    levels = sorted(bits.items(), key=lambda level: level[0].each)
    if levels and levels[0][0].each == each:
        validity, (bitmap, _owner) = levels.pop(0)
        _core.spread_bits(bitmap, validity.first, validity.length, address)
    else:
        ctypes.memset(address, 1, count)
    for validity, (bitmap, _owner) in levels:
        times = validity.each // each
        _core.fill_zeros(bitmap, validity.first, validity.length, address, times, b"\0")
