"""Copies of the chunks of a column: joined, bits spread to bytes, nulls filled; and their masks.

Source: Arrow columnar format, Physical memory layout; Validity bitmaps.
"""

from __future__ import annotations

import ctypes
import struct
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array
from interchange._array.host_copies import fresh_memory
from interchange._protocols import host
from interchange._protocols.arrow import chunk_views, nulls
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import ArgumentError, show
from interchange._types.layout import c_strides
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi import buffer_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interchange._core import ArrowOwner
    from interchange._protocols.arrow.buffers import Lists, Validity
    from interchange._protocols.arrow.chunk_views import Chunk
    from interchange._protocols.arrow.elements import Elements
    from interchange._types.layout import Layout

    OnHost = Callable[[Chunk, int, int, int], tuple[int, Any]]

_BOOL: Final = DType.of("bool")


class Values:
    """The values of the chunks of a column, to be copied on the host.

    `elements`: their type.
    `on_host`: returns a host address of some bytes of a buffer, and the owner of that memory.
    `call`: named in errors.
    """

    def __init__(self, elements: Elements, chunks: list[Chunk], on_host: OnHost, call: str) -> None:
        self.elements = elements
        self.chunks = chunks
        self.on_host = on_host
        self.call = call
        self.rows = sum(chunk.leaf.rows for chunk in chunks)
        self.bools: dict[ArrowOwner, bytearray] = {}  # for bytes that are not 0 and 1
        self.blocks: bytes | None = None  # of chunks that are joined without reading each

    @property
    def layout(self) -> Layout:
        """The layout of the values of all chunks, one after the other."""
        return chunk_views.layout_of(self.rows, self.elements)

    def is_converted(self, chunk: Chunk) -> bool:
        """Whether the values of a chunk are no elements as they are: a copy converts them."""
        if self.elements.is_bits or chunk.owner in self.bools:
            return True
        return not chunk_views.is_aligned(chunk, self.elements)

    # ------------------------------------------------------------ copies

    def copy(self, bits: Sequence[nulls.Bits], item: bytes | None) -> Array:
        """Return the values of all chunks in new host memory; for the parameters see `write`."""
        dtype, layout = self.elements.dtype, self.layout
        address, block = fresh_memory(dtype.itemsize * layout.size)
        self.write(bits, item, address)
        return self._over(address, block, dtype, layout)

    def write(self, bits: Sequence[nulls.Bits], item: bytes | None, address: int) -> None:
        """Write the values of all chunks to an address on the host, one chunk after the other.

        `bits`: the bitmaps that have nulls, by chunk.
        `item`: the bytes that replace nulls; None to leave them as they are.
        """
        size = self.elements.dtype.itemsize
        if self.blocks is not None:
            _core.join_blocks(self.blocks, address)
        elif self.elements.is_bits:
            self._spread(address)
        else:
            blocks, _keep = self._blocks(size)
            _core.join_blocks(struct.pack(f"={len(blocks)}Q", *blocks), address)
        if item is None:
            return
        for chunk, found in zip(self.chunks, bits, strict=True):
            for validity, (bitmap, _owner) in found.items():
                first, length, each = validity.first, validity.length, validity.each
                _core.fill_zeros(bitmap, first, length, address, each, item)
            address += chunk.leaf.length * size

    def _spread(self, address: int) -> None:
        """Write a byte for each bit of all chunks."""
        for chunk in self.chunks:
            leaf = chunk.leaf
            stop = (leaf.first + leaf.length + 7) >> 3
            bitmap, _keep = self.on_host(chunk, leaf.ptr, leaf.first >> 3, stop)
            _core.spread_bits(bitmap, leaf.first, leaf.length, address)
            address += leaf.length

    def _blocks(self, size: int) -> tuple[list[int], list[Any]]:
        """Return address and size of the values of each chunk on the host, and their owners."""
        blocks: list[int] = []
        keep: list[Any] = []
        for chunk in self.chunks:
            leaf = chunk.leaf
            start, stop = leaf.first * size, (leaf.first + leaf.length) * size
            if chunk.owner in self.bools:
                block: Any = self.bools[chunk.owner]
                address = buffer_address(memoryview(block))
            else:
                address, block = self.on_host(chunk, leaf.ptr, start, stop)
                address += start
            blocks += address, stop - start
            keep.append(block)
        return blocks, keep

    def mask(self, bits: Sequence[nulls.Bits]) -> Array:
        """Return bools on the host: True for the values of all chunks that are not null.

        The mask has a stride of 0 along axes whose elements are null together, and must not be
        written to: several of its elements are one byte.
        """
        elements, extents = self.elements, (self.rows, *self.elements.shape)
        total = prod(extents)
        each = min((one.each for found in bits for one in found), default=total) if total else 0
        axes = next(axis for axis in range(len(extents) + 1) if prod(extents[axis:]) == each)
        strides = (*c_strides(extents[:axes]), *([0] * (len(extents) - axes)))
        address, block = fresh_memory(total // each if each else 1)
        if total and any(bits):
            self._write_mask(bits, each, address)
        else:
            nulls.write_mask({}, 1, each, address)
        layout = chunk_views.ordered(extents, strides, elements)
        return self._over(address, block, _BOOL, layout, readonly=0 in strides)

    def _write_mask(self, bits: Sequence[nulls.Bits], each: int, address: int) -> None:
        """Write a byte for each group of values of all chunks."""
        for chunk, found in zip(self.chunks, bits, strict=True):
            count = chunk.leaf.length // each
            nulls.write_mask(found, count, each, address)
            address += count

    def _over(
        self, address: int, block: Any, dtype: DType, layout: Layout, *, readonly: bool = False
    ) -> Array:
        """Return an Array of new host memory."""
        return host.describe_memory(
            address,
            dtype,
            layout,
            readonly=readonly,
            owner=block,
            keep=block,
            cls=Array,
            call=self.call,
        )


# ---------------------------------------------------------------- null lists without elements


def step_of_others(lists: Lists, validity: Validity, bitmap: int) -> int | None:
    """Return the length of all lists but null ones, which have none; None if they differ.

    `bitmap`: the address of the bitmap of the lists on the host.
    """
    np = load_numpy()
    first, count = lists.level.elements.start, len(lists.level.elements)
    flags, offsets = bytearray(count), lists.offsets_at + first * lists.width
    _core.spread_bits(bitmap, validity.first, count, buffer_address(memoryview(flags)))
    block = (ctypes.c_char * ((count + 1) * lists.width)).from_address(offsets)
    lengths = np.diff(np.frombuffer(block, f"=i{lists.width}"))
    valid = np.frombuffer(flags, bool)
    step = int(lengths.max(initial=0))
    return step if (lengths == valid * step).all() else None


def with_gaps(address: int, validity: Validity, bitmap: int, size: int) -> bytearray:
    """Return the values of all lists, zeros for null ones, whose values are not in the source.

    `address`: of the values of other lists, one after the other.
    `bitmap`: the address of the bitmap of the lists; all are on the host.
    `size`: of a value [bytes].
    """
    each, count = validity.each * size, validity.length
    flags, found = bytearray(count), bytearray(count * each)
    _core.spread_bits(bitmap, validity.first, count, buffer_address(memoryview(flags)))
    target, start = buffer_address(memoryview(found)), 0
    while (start := flags.find(1, start)) >= 0:
        stop = flags.find(0, start)
        stop = count if stop < 0 else stop
        ctypes.memmove(target + start * each, address, (stop - start) * each)
        address += (stop - start) * each
        start = stop
    return found


# ---------------------------------------------------------------- in memory of the caller


def check_out(out: Array, layout: Layout, dtype: DType, call: str) -> bool:
    """Return whether memory for a result is host memory of the layout that the result has.

    Raises ArgumentError: its shape or dtype is another one (IX-OUT-1).
    """
    if out.shape != layout.shape or out.dtype is not dtype:
        what = f"out has shape {out.shape} and dtype {out.dtype}"
        hint = f"pass `out=np.empty({layout.shape}, '{dtype}')`"
        raise ArgumentError(
            call, f"{what}, the result {layout.shape} and {dtype}", "IX-OUT-1", hint
        )
    axes = zip(out.shape, out.strides, layout.strides, strict=True)
    is_dense = all(extent == 1 or step == expected for extent, step, expected in axes)
    return out.device is CPU and is_dense


# ---------------------------------------------------------------- fills


def item_of(value: Any, dtype: DType, call: str) -> bytes:
    """Return the bytes of a number as an element.

    Floats are rounded to the dtype.  Other numbers that it cannot represent exactly are refused.

    Raises ArgumentError: the dtype does not hold the number (ARROW-NULL-3).
    """
    number = value.item() if hasattr(value, "dtype") else value
    code, item = _CODES.get(dtype.name, ""), b""
    try:
        is_held = isinstance(number, bool) == (dtype is _BOOL)
        if is_held and code in _FLOATS:
            item = struct.pack(f"={code}", number)
            is_held = isinstance(number, float) or struct.unpack(f"={code}", item)[0] == number
        elif is_held:
            item = struct.pack(f"={code}", number)
    except (struct.error, OverflowError):
        is_held = False
    if not is_held:
        raise ArgumentError(call, f"nulls={show(value)} for elements of {dtype}", "ARROW-NULL-3")
    return item


_FLOATS: Final = "efd"
_CODES: Final = {
    "bool": "?",
    **{f"int{8 << place}": code for place, code in enumerate("bhiq")},
    **{f"uint{8 << place}": code for place, code in enumerate("BHIQ")},
    **{f"float{16 << place}": code for place, code in enumerate(_FLOATS)},
}
"""dtype -> code of the module `struct`."""
