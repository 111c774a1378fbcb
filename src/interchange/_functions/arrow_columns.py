"""Validates the chunks of a column, and imports them as one Array: shared, or a copy.

Source: The Arrow C data, stream and device interfaces; Arrow columnar format.
"""

from __future__ import annotations

import ctypes
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.copy_into import copy_into_part
from interchange._protocols import host
from interchange._protocols.arrow import chunk_views, nulls
from interchange._protocols.arrow.buffers import own_validity, referenced
from interchange._protocols.arrow.elements import BOOL8, RAGGED
from interchange._protocols.arrow.offsets import read_lists
from interchange._streams.events import wait_for_foreign_event
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import wait_on_host
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

from .arrow_copies import Values, check_out, item_of, step_of_others, with_gaps

if TYPE_CHECKING:
    from interchange._core import ArrowOwner
    from interchange._protocols.arrow.buffers import Level, Lists, Node, Validity
    from interchange._protocols.arrow.chunk_views import Chunk
    from interchange._protocols.arrow.elements import Elements
    from interchange._protocols.arrow.producers import Taken
    from interchange._protocols.arrow.types import ColumnType
    from interchange._types.devices import Device


IF_NEEDED: Final = "if_needed"


class Request(NamedTuple):
    """The options of an import, as for `interchange.from_arrow`, after their checks."""

    separate: bool = False  # whether nulls are returned as a mask
    storage: bool = False
    tables: bool = True  # whether a table of one column is accepted as that column, or refused
    device: Device | None = None
    copy: bool | str | None = None  # `IF_NEEDED`: several chunks are joined, and one is shared
    stream: Any = None
    columns: tuple[str, ...] | bool = False  # the fields of a table; True for all, False for none
    is_single: bool = False  # whether the value of the only field is returned, and not a dict
    axis: int | None = None  # along which the fields are stacked into one array
    meaning: bool = False  # whether the type is returned, too
    ragged: bool | str = False  # whether lists and text are values and offsets, or "arrays"
    fill: Any = None  # the number that replaces nulls
    out: tuple[Array, bool] | None = None  # the Array of `out`, and whether that is `out` itself

    @property
    def refuses_nulls(self) -> bool:
        """Whether a column with nulls is refused."""
        return not self.separate and self.fill is None

    @property
    def joins(self) -> bool:
        """Whether several chunks may be joined by a copy, and elements converted."""
        return self.copy is True or self.copy == IF_NEEDED or self.out is not None


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

    def bitmap(self, chunk: Chunk | Node, validity: Validity) -> tuple[int, Any]:
        """Return the address of a bitmap on the host, and the owner of that memory."""
        start, stop = validity.first >> 3, (validity.first + validity.length + 7) >> 3
        return self.on_host(chunk, validity.address, start, stop)

    def wait(self, array: Array, chunk: Chunk | Node) -> None:
        """Let the user's stream wait for a chunk's event, or release data that can be had again."""
        stream = self.request.stream
        try:
            wait_for_foreign_event(array, chunk.event, self.handle, stream, self.call)
        except BaseException:
            if not self.taken.is_read_once and chunk.owner not in self.in_use:
                chunk.owner.release()
            raise


class Column(Values):
    """A column of an import: the chunks of its values, of one type.

    `elements`: its element type.
    `nodes`: its outermost struct in each chunk.
    """

    def __init__(self, job: Import, elements: Elements, nodes: list[Node]) -> None:
        self.job = job
        self.call = job.call
        chunks = [chunk_views.read_chunk(node, elements, self.measure) for node in nodes]
        super().__init__(elements, chunks, job.on_host, job.call)
        self.elements = self.with_steps()
        self.chunks = [self.without_gaps(chunk) if chunk.leaf.gaps else chunk for chunk in chunks]

    # ------------------------------------------------------------ lists

    def measure(self, level: Level, column: ColumnType) -> Lists:
        """Return the lists of a level of a chunk; refuse them if their lengths differ."""
        lists = read_lists(level, column, self.job.on_host)
        if lists.step > 0:
            return lists
        bitmap, step, zeros, request = own_validity(level), None, 0, self.job.request
        if bitmap is not None and bitmap.nulls != 0 and column.format.kind == "list":
            address, _keep = self.job.bitmap(level.node, bitmap)
            step = step_of_others(lists, bitmap, address)
            zeros = nulls.count_zeros(bitmap, address)
        if lists.step == 0:
            is_open = bitmap is not None and zeros == bitmap.length and not request.refuses_nulls
            return lists._replace(gaps=bitmap) if is_open else lists
        if bitmap is None or step is None:
            raise self.uneven(f"lists of different lengths, of type {column.title}")
        if request.refuses_nulls:
            what = f"the column has nulls: {zeros} in {bitmap.length} elements of {column.title}"
            raise ExchangeError(self.call, what, "ARROW-NULL-2")
        if request.copy is False:
            what = "the column has null lists, whose elements are added in a copy"
            raise CopyNeededError(self.call, what, "ARROW-NULL-3", "pass `copy=None`")
        return lists._replace(step=step, gaps=bitmap)

    def without_gaps(self, chunk: Chunk) -> Chunk:
        """Return a chunk with values of its null lists, which are 0; others are copied."""
        leaf, size = chunk.leaf, self.elements.dtype.itemsize
        total = leaf.rows * prod(self.elements.shape)
        if not total or self.job.request.copy is False:
            return chunk
        if len(leaf.gaps) > 1:
            raise self.uneven("lists of different lengths, of which some are null at two levels")
        place = [one.address for one in leaf.validities].index(leaf.gaps[0].address)
        above = tuple(
            one._replace(each=total // one.length) for one in leaf.validities[: place + 1]
        )
        own, below = above[-1], leaf.validities[place + 1 :]
        has_nulls = any(
            one.nulls != 0 and nulls.count_zeros(one, self.job.bitmap(chunk, one)[0])
            for one in below
        )
        if self.elements.is_bits or self.elements.dtype is _BOOL or has_nulls:
            what = "bools" if not has_nulls else "elements that are null"
            raise self.uneven(f"lists of {what}, beside null lists without elements")
        start, stop = leaf.first * size, (leaf.first + leaf.length) * size
        address, _keep = self.on_host(chunk, leaf.ptr, start, stop)
        bitmap, _owner = self.job.bitmap(chunk, own)
        self.bools[chunk.owner] = with_gaps(address + start, own, bitmap, size)
        whole = leaf._replace(ptr=0, first=0, length=total, validities=above)
        return chunk._replace(leaf=whole)

    def with_steps(self) -> Elements:
        """Return the element type with the lengths of lists, which all chunks have in common."""
        found = {chunk.leaf.steps for chunk in self.chunks if chunk.leaf.rows}
        if len(found) > 1:  # lists of which all are null have the length of others
            found = {one.leaf.steps for one in self.chunks if one.leaf.length or not one.leaf.gaps}
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
        call, chunks, request = self.call, self.chunks, self.job.request
        if len(chunks) > 1 and not request.joins:
            what = f"the column has {len(chunks)} chunks or more"
            copying = "pass `copy=True`" if self.job.taken.is_read_once else None
            raise CopyNeededError(call, what, "ARROW-CHUNK-1", copying)
        self.check_dictionaries()
        if self.elements.is_bits and request.copy is False:
            raise CopyNeededError(call, "the elements are bits", "ARROW-BOOL-1")
        if len({chunk.device for chunk in chunks}) > 1:
            raise BrokenRule("ARROW-DEVICE-1", "the chunks are on several devices")
        for chunk in chunks:
            if not chunk_views.is_aligned(chunk, self.elements) and not request.joins:
                size = self.elements.dtype.itemsize
                what = f"elements of {size} bytes are at {chunk.leaf.ptr:#x}"
                raise ExchangeError(call, what, "ARROW-BUFFER-2")
            if chunk.device.has_handles and chunk.leaf.first:
                what = f"element {chunk.leaf.first} is the first, behind a handle of {chunk.device}"
                raise UnsupportedDeviceError(call, what, "ARROW-DEVICE-1", _NO_OFFSET)
            self.check_bools(chunk)

    def check_dictionaries(self) -> None:
        """Refuse chunks that would be joined, and whose indices have different values."""
        if len(self.chunks) > 1 and self.chunks[0].leaf.dictionary:
            from interchange._protocols.arrow.meaning import categories_of  # rarely needed

            first, *others = (categories_of(self.elements, chunk) for chunk in self.chunks)
            if any(other != first for other in others):
                what = "the chunks have different dictionaries"
                raise ExchangeError(self.call, what, "ARROW-TYPE-3")

    def check_bools(self, chunk: Chunk) -> None:
        """Refuse bytes of ``arrow.bool8`` other than 0 and 1, unless they become 1 in a copy.

        All bytes but 0 are true there, but array libraries do not accept them as bools.
        """
        elements, leaf = self.elements, chunk.leaf
        if elements.is_bits or elements.dtype is not _BOOL or not leaf.length:
            return
        stop = leaf.first + leaf.length
        address, _keep = self.on_host(chunk, leaf.ptr, leaf.first, stop)
        found = ctypes.string_at(address + leaf.first, leaf.length)
        others = found.translate(None, b"\0\1")
        if others and not self.job.request.joins:
            raise BrokenRule("ARROW-BOOL-1", f"a byte of {BOOL8} is {others[0]}")
        if others:
            self.bools[chunk.owner] = bytearray(found.translate(_BOOLS))

    def read_nulls(self) -> list[nulls.Bits]:
        """Return the bitmaps that have nulls, by chunk; refuse nulls unless they were requested."""
        found = [nulls.count_nulls(chunk, partial(self.job.bitmap, chunk)) for chunk in self.chunks]
        total, request = sum(number for number, _ in found), self.job.request
        if total and request.fill is not None and request.copy is False:
            what = f"the column has nulls: {total}, which are filled in a copy"
            raise CopyNeededError(self.call, what, "ARROW-NULL-3", "pass `copy=None`")
        if total and request.refuses_nulls:
            rows = sum(chunk.leaf.rows for chunk in self.chunks)
            what = f"the column has nulls: {total} in {rows} elements"
            if total > rows or any(len(bits) > 1 for _, bits in found):
                what += ", counted at each level"
            raise ExchangeError(self.call, what, "ARROW-NULL-2")
        return [bits for _, bits in found]

    # ------------------------------------------------------------ arrays

    def data(self, chunk: Chunk) -> Array:
        """Return an Array that shares the memory of a chunk."""
        array = chunk_views.share(chunk, self.elements, self.job.x, Array, self.call)
        if chunk.device is not CPU or chunk.event:
            self.job.wait(array, chunk)
        if streams_of(chunk.device) is not None:
            self.job.in_use.add(chunk.owner)
        return array

    def move_back(self, array: Array, device: Device) -> Array:
        """Return an array of the host on the device of its column."""
        return transfers.move_back(array, device, self.job.request.stream, self.call)

    def write_out(
        self, bits: list[nulls.Bits], item: bytes | None, out: Array, *, is_ours: bool
    ) -> None:
        """Write the values of all chunks to an Array, without an intermediate copy if possible.

        `bits`, `item`: as in `write`.
        `is_ours`: whether the caller passed an Array, on which the copy is pending afterwards.

        Raises ArgumentError: its shape or dtype is another one (IX-OUT-1).
        """
        if check_out(out, self.layout, self.elements.dtype, self.call):
            wait_on_host(out, self.call)
            self.write(bits, item, out.ptr)
            return
        if self.blocks or item is not None or any(map(self.is_converted, self.chunks)):
            parts = [self.copy(bits, item)]
        else:
            parts = [self.data(chunk) for chunk in self.chunks]
        start = 0
        for part in parts:
            stop = start + part.shape[0]
            copy_into_part(out, slice(start, stop), part, self.job.request.stream, self.call)
            start = stop
        if not is_ours:
            wait_on_host(out, self.call)


_NO_OFFSET: Final = "export without an offset"
_BOOL = DType.of("bool")
_BOOLS: Final = bytes([0]) + bytes([1]) * 255  # the value of a byte of arrow.bool8


def import_column(job: Import, elements: Elements, nodes: list[Node]) -> Any:
    """Return an Array of a column; with `separate` a tuple of data and mask.

    `elements`: its element type.
    `nodes`: its outermost struct in each chunk.
    """
    column = Column(job, elements, nodes)
    used = column
    if any(node.skip for node in nodes) and job.request.refuses_nulls:
        used = Column(job, elements, [referenced(node) for node in nodes])
    return finish(column, used, len(nodes))


def import_joined(job: Import, elements: Elements, chunks: list[ArrowOwner]) -> Any:
    """Return a column whose chunks are plain and joined, without reading each of them here.

    `chunks`: the structs, one for each chunk.

    Returns None if they are not joined, or if `import_column` has to convert them or refuse one.
    """
    levels, dtype = elements.levels, elements.dtype
    if len(chunks) < _SEVERAL or not job.request.joins or elements.is_bits or dtype is _BOOL:
        return None
    if levels[-1].has_dictionary or any(extent < 0 for extent in elements.shape):
        return None
    each = tuple(level.format.each for level in levels)
    found = _core.plain_blocks(chunks, each, dtype.itemsize)
    if found is None:
        return None
    column = Column(job, elements, [])
    column.rows, column.blocks = found
    return finish(column, column, len(chunks))


_SEVERAL: Final = 2


def finish(column: Column, used: Column, count: int) -> Any:
    """Return the result of `import_column` for a column.

    `used`: the elements in which nulls are refused.
    `count`: number of chunks.
    """
    job, request, elements = column.job, column.job.request, column.elements
    item = None
    if request.fill is not None:
        item = item_of(request.fill, elements.dtype, column.call)
    column.check()
    bits = used.read_nulls()
    item = item if any(bits) else None
    found, copied = _array(column, bits, item)
    array = placed(job, found, count, copied=copied)
    mask = column.move_back(column.mask(bits), array.device) if request.separate else None
    meaning = None
    if request.meaning:
        from interchange._protocols.arrow.meaning import read_meaning  # rarely needed

        meaning = read_meaning(elements, column.chunks)
    return packed(array, mask, meaning, request)


def packed(value: Any, mask: Any, meaning: Any, request: Request) -> Any:
    """Return a value, in a tuple with what else the request has: mask and meaning."""
    found = [value]
    if request.separate:
        found.append(mask)
    if request.meaning:
        found.append(meaning)
    return tuple(found) if len(found) > 1 else value


def placed(job: Import, found: Array, chunks: int, *, copied: bool) -> Array:
    """Return an Array of a number of chunks on the requested device, or a copy if requested."""
    request, call = job.request, job.call
    if (log := _core.log) is not None:
        made = "copied into one" if copied else "not copied"
        log(call, f"imported by Arrow's interface: {chunks} chunks, {made}", found)
    copy = request.copy if isinstance(request.copy, bool) else None
    needs_copy, stream = copy is True and not copied, request.stream
    return transfers.place(
        found, request.device, copy=copy, needs_copy=needs_copy, stream=stream, call=call
    )


def _array(column: Column, bits: list[nulls.Bits], item: bytes | None) -> tuple[Array, bool]:
    """Return one Array of all chunks, and whether it is a copy.

    `bits`: the bitmaps that have nulls, by chunk.
    `item`: the bytes of the number that replaces nulls; None if there are none.
    """
    chunks, request = column.chunks, column.job.request
    if request.out is not None:
        out, is_ours = request.out
        column.write_out(bits, item, out, is_ours=is_ours)
        return out, True
    if len(chunks) == 1 and item is None and not column.is_converted(chunks[0]):
        return column.data(chunks[0]), False
    found = column.copy(bits, item)
    return column.move_back(found, chunks[0].device) if chunks else found, True
