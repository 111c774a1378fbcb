"""Nulls of a chunk: counted, compared with null_count, and broadcast as a mask.

Source: Arrow columnar format, Validity bitmaps; The Arrow C data interface,
``ArrowArray.null_count``.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import and_
from typing import TYPE_CHECKING

from interchange._types.dtypes import DType
from interchange._types.layout import c_strides
from interchange.abi import BrokenRule

from .bits import bytes_of_bits, count_zeros
from .chunk_views import ordered, own_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from interchange._core import Tensor

    from .buffers import Validity
    from .chunk_views import Chunk
    from .elements import Elements

    T = TypeVar("T", bound="Tensor")

Bits = dict["Validity", int]
"""Bitmap -> its bits for the chunk as one int, the first bit the lowest."""


def count_nulls(chunk: Chunk, bits_of: Callable[[Validity], int]) -> tuple[int, Bits]:
    """Return how many elements of a chunk are null, at all levels, and their bits.

    Raises BrokenRule: the producer's count differs (ARROW-NULL-1).
    """
    found: Bits = {}
    nulls = 0
    for validity in chunk.leaf.validities:
        if not validity.length or (validity.nulls == 0 and not chunk.device.is_host_accessible):
            continue  # the producer's count is used if reading the bitmap needs a copy
        bits = bits_of(validity)
        zeros = count_zeros(bits, validity.length)
        if validity.nulls is not None and validity.nulls != zeros:
            what = f"null_count is {validity.nulls}, and {zeros} bits of the validity are 0"
            raise BrokenRule("ARROW-NULL-1", what)
        nulls += zeros
        if zeros:
            found[validity] = bits
    return nulls, found


def spread_mask(chunk: Chunk, elements: Elements, bits: Bits, cls: type[T], call: str) -> T:
    """Return bools on the host: True for the values of the chunk that are not null.

    The mask has a stride of 0 along axes whose elements are null together, and must not be written
    to: several of its elements are one byte.
    """
    extents = (chunk.leaf.rows, *elements.shape)
    bits = bits if chunk.leaf.length else {}  # nulls of a level without values have no element
    each = min((validity.each for validity in bits), default=chunk.leaf.length)
    entries = chunk.leaf.length // each if each else 0
    axes = next(axis for axis in range(len(extents) + 1) if prod(extents[axis:]) == each)
    strides = (*c_strides(extents[:axes]), *([0] * (len(extents) - axes)))
    levels = [_repeated(validity, bits[validity], each) for validity in bits]
    found = reduce(and_, levels).to_bytes(entries, "little") if levels else b"\1"
    block = found if 0 in strides else bytearray(found)
    return own_bytes(block, ordered(extents, strides, elements), DType.of("bool"), cls, call)


def _repeated(validity: Validity, bits: int, each: int) -> int:
    """Return a byte for each entry of the mask as one int; a bit may cover several entries."""
    block = bytes_of_bits(bits, validity.length)
    times = validity.each // each
    if times > 1:
        words = {0: bytes(times), 1: b"\1" * times}
        block = b"".join(words[byte] for byte in block)
    return int.from_bytes(block, "little")
