"""Validates the chunks of a column, and joins them into one Array, and their masks into another.

Source: The Arrow C data, stream and device interfaces; Arrow columnar format.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.host_copies import copy_elements, fresh_memory
from interchange._protocols import host
from interchange._protocols.arrow import chunk_views, nulls
from interchange._protocols.arrow.bits import bits_at, bytes_of_bits, count_zeros
from interchange._protocols.arrow.buffers import own_validity
from interchange._protocols.arrow.elements import BOOL8, RAGGED
from interchange._protocols.arrow.offsets import read_lists
from interchange._streams.events import wait_for_foreign_event
from interchange._streams.handles import stream_handle
from interchange._streams.rules import streams_of
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
)
from interchange._types.layout import Layout
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from interchange._core import ArrowOwner
    from interchange._protocols.arrow.buffers import Level, Lists, Node, Validity
    from interchange._protocols.arrow.chunk_views import Chunk
    from interchange._protocols.arrow.elements import Elements
    from interchange._protocols.arrow.producers import Taken
    from interchange._protocols.arrow.types import ColumnType
    from interchange._types.devices import Device


class Request(NamedTuple):
    """The options of an import, as for `interchange.from_arrow`, after their checks."""

    separate: bool = False  # whether nulls are returned as a mask
    storage: bool = False
    tables: bool = True  # whether a table of one column is accepted as that column, or refused
    device: Device | None = None
    copy: bool | None = None
    stream: Any = None
    columns: tuple[str, ...] | bool = False  # the fields of a table; True for all, False for none
    is_single: bool = False  # whether the value of the only field is returned, and not a dict
    axis: int | None = None  # along which the fields are stacked into one array
    meaning: bool = False  # whether the type is returned, too


class Import:
    """An import in progress: the data taken, and the caller's request.

    `taken`: the structs taken from `x`.
    `request`: the options of the call.
    """

    def __init__(self, x: Any, taken: Taken, request: Request, call: str) -> None:
        self.x = x
        self.taken = taken
        self.request = request
        self.handle = stream_handle(request.stream, call)
        self.call = call
        self.in_use: set[ArrowOwner] = set()  # chunks that are in use by work on a stream

    def but(self, request: Request) -> Import:
        """Return the same import with other options."""
        other = Import(self.x, self.taken, request, self.call)
        other.in_use = self.in_use
        return other

    def on_host(self, chunk: Chunk | Node, address: int, start: int, stop: int) -> tuple[int, Any]:
        """Return a host address of some bytes of a buffer, and the owner of that memory.

        The address is that of byte 0, wherever `start` is.
        """
        if chunk.device.has_handles and start:
            what = f"byte {start} is the first, behind a handle of {chunk.device}"
            raise UnsupportedDeviceError(self.call, what, "ARROW-DEVICE-1", _NO_OFFSET)
        if (chunk.device is CPU and not chunk.event) or start == stop:
            return address, None
        block = host.describe_memory(
            address + start,
            DType.of("uint8"),
            Layout((stop - start,), (1,)),
            readonly=True,
            owner=self.x,
            keep=chunk.owner,
            cls=Array,
            call=self.call,
            device=chunk.device,
        )
        self.wait(block, chunk)
        moved = transfers.move(block, CPU, None, self.call)
        return moved.ptr - start, moved

    def bits(self, chunk: Chunk | Node, validity: Validity) -> int:
        """Return the bits of a bitmap."""
        first, end = validity.first, validity.first + validity.length
        address, _keep = self.on_host(chunk, validity.address, first >> 3, (end + 7) >> 3)
        return bits_at(address, first, validity.length)

    def wait(self, array: Array, chunk: Chunk | Node) -> None:
        """Let the user's stream wait for a chunk's event, or release data that can be had again."""
        stream = self.request.stream
        try:
            wait_for_foreign_event(array, chunk.event, self.handle, stream, self.call)
        except BaseException:
            if not self.taken.is_read_once and chunk.owner not in self.in_use:
                chunk.owner.release()
            raise


class _Column:
    """A column of an import: the chunks of its values, of one type.

    `elements`: its element type.
    `nodes`: its outermost struct in each chunk.
    """

    def __init__(self, job: Import, elements: Elements, nodes: list[Node]) -> None:
        self.job = job
        self.elements = elements
        self.call = job.call
        self.chunks = [chunk_views.read_chunk(node, elements, self.measure) for node in nodes]
        self.elements = self.with_steps()
        self.bools: dict[ArrowOwner, bytearray] = {}  # for bytes that are not 0 and 1

    # ------------------------------------------------------------ lists

    def measure(self, level: Level, column: ColumnType) -> Lists:
        """Return the lists of a level of a chunk; refuse them if their lengths differ."""
        lists = read_lists(level, column, self.job.on_host)
        if lists.step < 0:
            self.refuse_nulls_of(level, column)
            raise self.uneven(f"lists of different lengths, of type {column.title}")
        return lists

    def refuse_nulls_of(self, level: Level, column: ColumnType) -> None:
        """Refuse null lists, which are the likely reason for different lengths."""
        bitmap = own_validity(level)
        if bitmap is None or bitmap.nulls == 0 or self.job.request.separate:
            return
        nulls = count_zeros(self.job.bits(level.node, bitmap), bitmap.length)
        if nulls:
            what = f"the column has nulls: {nulls} in {bitmap.length} elements of {column.title}"
            raise ExchangeError(self.call, what, "ARROW-NULL-2")

    def with_steps(self) -> Elements:
        """Return the element type with the lengths of lists, which all chunks have in common."""
        found = {chunk.leaf.steps for chunk in self.chunks if chunk.leaf.rows}
        if len(found) > 1:
            raise self.uneven("lists of different lengths in different chunks")
        unknown = (0,) * sum(extent < 0 for extent in self.elements.shape)
        return self.elements.with_steps(found.pop() if found else unknown)

    def uneven(self, what: str) -> UnsupportedDTypeError:
        """Return the error for lists that are no axes."""
        return UnsupportedDTypeError(self.call, f"the elements are {what}", "ARROW-TYPE-1", RAGGED)

    # ------------------------------------------------------------ checks

    def check(self) -> None:
        """Refuse an import that needs a copy which was not requested."""
        call, chunks, copy = self.call, self.chunks, self.job.request.copy
        if len(chunks) > 1 and copy is not True:
            what = f"the column has {len(chunks)} chunks or more"
            copying = "pass `copy=True`" if self.job.taken.is_read_once else None
            raise CopyNeededError(call, what, "ARROW-CHUNK-1", copying)
        self.check_dictionaries()
        if self.elements.is_bits and copy is False:
            raise CopyNeededError(call, "the elements are bits", "ARROW-BOOL-1")
        if len({chunk.device for chunk in chunks}) > 1:
            raise BrokenRule("ARROW-DEVICE-1", "the chunks are on several devices")
        for chunk in chunks:
            if not chunk_views.is_aligned(chunk, self.elements) and copy is not True:
                size = self.elements.dtype.itemsize
                what = f"elements of {size} bytes are at {chunk.leaf.ptr:#x}"
                raise ExchangeError(call, what, "ARROW-BUFFER-2")
            if chunk.device.has_handles and chunk.leaf.first:
                what = f"element {chunk.leaf.first} is the first, behind a handle of {chunk.device}"
                raise UnsupportedDeviceError(call, what, "ARROW-DEVICE-1", _NO_OFFSET)
            self.check_bools(chunk, copy)

    def check_dictionaries(self) -> None:
        """Refuse chunks that would be joined, and whose indices have different values."""
        if len(self.chunks) > 1 and self.chunks[0].leaf.dictionary:
            from interchange._protocols.arrow.meaning import categories_of  # rarely needed

            first, *others = (categories_of(self.elements, chunk) for chunk in self.chunks)
            if any(other != first for other in others):
                what = "the chunks have different dictionaries"
                raise ExchangeError(self.call, what, "ARROW-TYPE-3")

    def check_bools(self, chunk: Chunk, copy: bool | None) -> None:
        """Refuse bytes of ``arrow.bool8`` other than 0 and 1, unless they become 1 in a copy.

        All bytes but 0 are true there, but array libraries do not accept them as bools.
        """
        elements, leaf = self.elements, chunk.leaf
        if elements.is_bits or elements.dtype is not _BOOL or not leaf.length:
            return
        stop = leaf.first + leaf.length
        address, _keep = self.job.on_host(chunk, leaf.ptr, leaf.first, stop)
        found = ctypes.string_at(address + leaf.first, leaf.length)
        others = found.translate(None, b"\0\1")
        if others and copy is not True:
            raise BrokenRule("ARROW-BOOL-1", f"a byte of {BOOL8} is {others[0]}")
        if others:
            self.bools[chunk.owner] = bytearray(found.translate(_BOOLS))

    def read_nulls(self) -> list[nulls.Bits]:
        """Return the bitmaps that have nulls, by chunk; refuse nulls unless they were requested."""
        found = [nulls.count_nulls(chunk, partial(self.job.bits, chunk)) for chunk in self.chunks]
        total = sum(number for number, _ in found)
        if total and not self.job.request.separate:
            rows = sum(chunk.leaf.rows for chunk in self.chunks)
            what = f"the column has nulls: {total} in {rows} elements"
            if total > rows or any(len(bits) > 1 for _, bits in found):
                what += ", counted at each level"
            raise ExchangeError(self.call, what, "ARROW-NULL-2")
        return [bits for _, bits in found]

    # ------------------------------------------------------------ arrays

    def data(self, chunk: Chunk) -> tuple[Array, bool]:
        """Return an Array of a chunk, and whether it is a copy."""
        elements, call = self.elements, self.call
        block = self.copied(chunk)
        if block is not None:
            layout = chunk_views.layout_of(chunk.leaf.rows, elements)
            array = chunk_views.own_bytes(block, layout, elements.dtype, Array, call)
            return self.move_back(array, chunk.device), True
        array = chunk_views.share(chunk, elements, self.job.x, Array, call)
        if chunk.device is not CPU or chunk.event:
            self.job.wait(array, chunk)
        if streams_of(chunk.device) is not None:
            self.job.in_use.add(chunk.owner)
        return array, False

    def move_back(self, array: Array, device: Device) -> Array:
        """Return an array of the host on the device of its column."""
        return transfers.move_back(array, device, self.job.request.stream, self.call)

    def copied(self, chunk: Chunk) -> bytearray | None:
        """Return the values of a chunk that cannot be shared as they are, on the host."""
        leaf = chunk.leaf
        if self.elements.is_bits:
            stop = (leaf.first + leaf.length + 7) >> 3
            address, _keep = self.job.on_host(chunk, leaf.ptr, leaf.first >> 3, stop)
            return bytearray(bytes_of_bits(bits_at(address, leaf.first, leaf.length), leaf.length))
        if chunk.owner in self.bools:
            return self.bools[chunk.owner]
        if chunk_views.is_aligned(chunk, self.elements):
            return None
        size = self.elements.dtype.itemsize
        start, stop = leaf.first * size, (leaf.first + leaf.length) * size
        address, _keep = self.job.on_host(chunk, leaf.ptr, start, stop)
        return bytearray(ctypes.string_at(address + start, stop - start))

    def mask(self, chunk: Chunk, bits: nulls.Bits) -> Array:
        """Return the mask of a chunk, on the host."""
        return nulls.spread_mask(chunk, self.elements, bits, Array, self.call)

    def joined(self, parts: list[Array], device: Device) -> Array:
        """Return several arrays concatenated along their first axis, as a copy."""
        first = parts[0]
        rows = sum(part.shape[0] for part in parts)
        layout = chunk_views.layout_of(rows, self.elements)
        ptr, block = fresh_memory(first.dtype.itemsize * layout.size)
        fresh = host.describe_memory(
            ptr,
            first.dtype,
            layout,
            readonly=False,
            owner=block,
            keep=block,
            cls=Array,
            call=self.call,
        )
        start = 0
        for part in parts:
            stop = start + part.shape[0]
            copy_elements(fresh[start:stop], transfers.move(part, CPU, None, self.call), self.call)
            start = stop
        return self.move_back(fresh, device)


_NO_OFFSET: Final = "export without an offset"
_BOOL = DType.of("bool")
_BOOLS: Final = bytes([0]) + bytes([1]) * 255  # the value of a byte of arrow.bool8


def import_column(job: Import, elements: Elements, nodes: list[Node]) -> Any:
    """Return an Array of a column; with `separate` a tuple of data and mask.

    `elements`: its element type.
    `nodes`: its outermost struct in each chunk.
    """
    column, request, call = _Column(job, elements, nodes), job.request, job.call
    column.check()
    bits = column.read_nulls()
    found, copied = _arrays(column)
    if (log := _core.log) is not None:
        made = "copied into one" if copied else "not copied"
        log(call, f"imported by Arrow's interface: {len(nodes)} chunks, {made}", found)
    copy, stream = request.copy, request.stream
    needs_copy = copy is True and not copied
    array = transfers.place(
        found, request.device, copy=copy, needs_copy=needs_copy, stream=stream, call=call
    )
    result = (array, _mask(column, bits, array.device)) if request.separate else array
    if not request.meaning:
        return result
    from interchange._protocols.arrow.meaning import read_meaning  # rarely needed

    stands_for = read_meaning(elements, column.chunks)
    return (*result, stands_for) if isinstance(result, tuple) else (result, stands_for)


def _mask(column: _Column, bits: list[nulls.Bits], device: Device) -> Array:
    """Return one mask of all chunks, on the device of the data."""
    masks = [column.mask(*pair) for pair in zip(column.chunks, bits, strict=True)]
    if len(masks) == 1:
        return column.move_back(masks[0], device)
    return column.move_back(column.joined(masks, CPU) if masks else _none(column, _BOOL), device)


def _arrays(column: _Column) -> tuple[Array, bool]:
    """Return one Array of all chunks, and whether it is a copy."""
    if not column.chunks:
        return _none(column, column.elements.dtype), True
    parts = [column.data(chunk) for chunk in column.chunks]
    if len(parts) == 1:
        return parts[0]
    return column.joined([array for array, _ in parts], column.chunks[0].device), True


def _none(column: _Column, dtype: DType) -> Array:
    """Return an array without elements, with the shape that the elements would have."""
    layout = chunk_views.layout_of(0, column.elements)
    return chunk_views.own_bytes(bytearray(), layout, dtype, Array, column.call)
