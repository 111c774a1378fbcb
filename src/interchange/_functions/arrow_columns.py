"""Validates the chunks of a column, and joins them into one Array, and their masks into another.

Source: The Arrow C data, stream and device interfaces; Arrow columnar format.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.host_copies import copy_elements, fresh_memory
from interchange._protocols import dlpack, host
from interchange._protocols.arrow import chunk_views, nulls
from interchange._protocols.arrow.bits import bits_at, bytes_of_bits
from interchange._protocols.arrow.elements import BOOL8, read_elements
from interchange._protocols.arrow.producers import take
from interchange._streams.events import wait_for_foreign_event
from interchange._streams.handles import stream_handle
from interchange._streams.rules import streams_of
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    UnsupportedDeviceError,
    error_for,
    show,
)
from interchange._types.layout import Layout
from interchange.abi import BrokenRule

if TYPE_CHECKING:
    from interchange._core import ArrowOwner
    from interchange._protocols.arrow.buffers import Validity
    from interchange._protocols.arrow.chunk_views import Chunk
    from interchange._protocols.arrow.elements import Elements
    from interchange._protocols.arrow.producers import Taken


_SEVERAL: Final = 2  # columns


class _Import:
    """An import in progress: the data taken, and the caller's request.

    `taken`: the structs taken from it.
    `elements`: the element type of the column.
    `stream`: the stream on which GPU memory will be used.
    """

    def __init__(self, x: Any, taken: Taken, elements: Elements, stream: Any, call: str) -> None:
        self.x = x
        self.taken = taken
        self.elements = elements
        self.stream = stream
        self.handle = stream_handle(stream, call)
        self.call = call
        self.bools: dict[ArrowOwner, bytearray] = {}  # for bytes that are not 0 and 1
        self.is_in_use = False  # by work on a stream

    # ------------------------------------------------------------ host memory

    def on_host(self, chunk: Chunk, address: int, start: int, stop: int) -> tuple[int, Any]:
        """Return a host address of some bytes of a buffer, and the owner of that memory."""
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

    def bits(self, chunk: Chunk, validity: Validity) -> int:
        """Return the bits of a bitmap."""
        first, end = validity.first, validity.first + validity.length
        address, _keep = self.on_host(chunk, validity.address, first >> 3, (end + 7) >> 3)
        return bits_at(address, first, validity.length)

    # ------------------------------------------------------------ checks

    def check(self, chunks: list[Chunk], copy: bool | None) -> None:
        """Refuse an import that needs a copy which was not requested."""
        call = self.call
        if len(chunks) > 1 and copy is not True:
            what = f"the column has {len(chunks)} chunks or more"
            copying = "pass `copy=True`" if self.taken.is_read_once else None
            raise CopyNeededError(call, what, "ARROW-CHUNK-1", copying)
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
                hint = "export without an offset"
                raise UnsupportedDeviceError(call, what, "ARROW-DEVICE-1", hint)
            self.check_bools(chunk, copy)

    def check_bools(self, chunk: Chunk, copy: bool | None) -> None:
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
        if others and copy is not True:
            raise BrokenRule("ARROW-BOOL-1", f"a byte of {BOOL8} is {others[0]}")
        if others:
            self.bools[chunk.owner] = bytearray(found.translate(_BOOLS))

    def read_nulls(self, chunks: list[Chunk], *, separate: bool) -> list[nulls.Bits]:
        """Return the bitmaps that have nulls, by chunk; refuse nulls unless they were requested."""
        found = [nulls.count_nulls(chunk, partial(self.bits, chunk)) for chunk in chunks]
        total = sum(number for number, _ in found)
        if total and not separate:
            rows = sum(chunk.leaf.rows for chunk in chunks)
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
            return transfers.move_back(array, chunk.device, self.stream, call), True
        array = chunk_views.share(chunk, elements, self.x, Array, call)
        if chunk.device is not CPU or chunk.event:
            self.wait(array, chunk)
        self.is_in_use = self.is_in_use or streams_of(chunk.device) is not None
        return array, False

    def copied(self, chunk: Chunk) -> bytearray | None:
        """Return the values of a chunk that cannot be shared as they are, on the host."""
        leaf = chunk.leaf
        if self.elements.is_bits:
            stop = (leaf.first + leaf.length + 7) >> 3
            address, _keep = self.on_host(chunk, leaf.ptr, leaf.first >> 3, stop)
            return bytearray(bytes_of_bits(bits_at(address, leaf.first, leaf.length), leaf.length))
        if chunk.owner in self.bools:
            return self.bools[chunk.owner]
        if chunk_views.is_aligned(chunk, self.elements):
            return None
        size = self.elements.dtype.itemsize
        start, stop = leaf.first * size, (leaf.first + leaf.length) * size
        address, _keep = self.on_host(chunk, leaf.ptr, start, stop)
        return bytearray(ctypes.string_at(address + start, stop - start))

    def wait(self, array: Array, chunk: Chunk) -> None:
        """Let the user's stream wait for a chunk's event, or release data that can be had again."""
        try:
            wait_for_foreign_event(array, chunk.event, self.handle, self.stream, self.call)
        except BaseException:
            if not self.taken.is_read_once:
                chunk.owner.release()  # it is not in use yet
            raise

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
        return transfers.move_back(fresh, device, self.stream, self.call)


_BOOL = DType.of("bool")
_BOOLS: Final = bytes([0]) + bytes([1]) * 255  # the value of a byte of arrow.bool8


def import_arrow(
    x: Any,
    *,
    separate: bool = False,
    storage: bool = False,
    tables: bool = True,
    device: Any = None,
    copy: bool | None = None,
    stream: Any = None,
    call: str,
) -> Any:
    """Return an Array of a column; with `separate` a tuple of data and mask.

    `x`, `storage`, `device`, `copy`, `stream`: as for `interchange.from_arrow`.
    `separate`: whether nulls are returned as a mask.
    `tables`: whether a table of one column is accepted as that column, or refused.
    """
    dlpack.check_copy(copy, call)
    target = None if device is None else Device.of(device, call)
    stream_handle(stream, call)
    taken = cause = None
    told: InterchangeError | None
    try:
        taken = take(x, call)
        return _import(
            x,
            taken,
            separate=separate,
            storage=storage,
            tables=tables,
            target=target,
            copy=copy,
            stream=stream,
            call=call,
        )
    except BrokenRule as broken:
        told = _owning(error_for(call, broken.what, broken.rule), getattr(broken, "taken", None))
    except InterchangeError as error:
        told = _of_table(error, x)
        if error.taken is None and told is None:
            raise
        told, cause = _owning(told or error, error.taken), error.__cause__
    try:
        raise told from cause  # here, so that no traceback keeps the refused data alive
    finally:
        told = taken = None  # the error refers to this frame, and can release its data


def _of_table(error: InterchangeError, x: Any) -> InterchangeError | None:
    """Return the error for a table of several columns; None if `x` is no such table."""
    from interchange._protocols.conversion_hints import names_of  # for an error only

    names = names_of(x) if error.rule == "ARROW-TYPE-1" and not isinstance(x, tuple) else []
    if len(names) < _SEVERAL:
        return None
    what = f"a table of {len(names)} columns: {', '.join(map(show, names))}"
    hint = f"pass one column, such as `x[{names[0]!r}]`"
    return type(error)(error.call, what, error.rule, hint)


def _owning(error: InterchangeError, taken: Any) -> InterchangeError:
    """Return an error that owns the imported data, if there is any."""
    return error if taken is None else cast("Taken", taken).tell(error)


def _import(
    x: Any,
    taken: Taken,
    *,
    separate: bool,
    storage: bool,
    tables: bool,
    target: Device | None,
    copy: bool | None,
    stream: Any,
    call: str,
) -> Any:
    """Return the result of `import_arrow`; on an error, release the data, or keep it.

    The error keeps it, as ``taken``, if it cannot be exported again.
    """
    job = None
    try:
        elements = taken.read(
            lambda column: read_elements(column, storage=storage, tables=tables, call=call)
        )
        job = _Import(x, taken, elements, stream, call)
        taken.fill(None if copy is True else 1)
        chunks = [chunk_views.read_chunk(one, taken.name, elements) for one in taken.chunks]
        job.check(chunks, copy)
        bits = job.read_nulls(chunks, separate=separate)
        found, copied = _arrays(job, chunks)
        if (log := _core.log) is not None:
            made = "copied into one" if copied else "not copied"
            log(call, f"imported by Arrow's interface: {len(chunks)} chunks, {made}", found)
        needs_copy = copy is True and not copied
        array = transfers.place(
            found, target, copy=copy, needs_copy=needs_copy, stream=stream, call=call
        )
        result = (array, _mask(job, chunks, bits, array.device)) if separate else array
    except BaseException as error:
        is_in_use = job is not None and job.is_in_use  # released with its last reference
        if not taken.keep_for(error) and not is_in_use:
            taken.release()
        raise
    taken.close()
    return result


def _mask(job: _Import, chunks: list[Chunk], bits: list[nulls.Bits], device: Device) -> Array:
    """Return one mask of all chunks, on the device of the data."""
    masks = [job.mask(*pair) for pair in zip(chunks, bits, strict=True)]
    mask = masks[0] if len(masks) == 1 else job.joined(masks, CPU) if masks else _none(job, _BOOL)
    return transfers.move_back(mask, device, job.stream, job.call)


def _arrays(job: _Import, chunks: list[Chunk]) -> tuple[Array, bool]:
    """Return one Array of all chunks, and whether it is a copy."""
    if not chunks:
        return _none(job, job.elements.dtype), True
    parts = [job.data(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    return job.joined([array for array, _ in parts], chunks[0].device), True


def _none(job: _Import, dtype: DType) -> Array:
    """Return an array without elements, with the shape that the elements would have."""
    layout = chunk_views.layout_of(0, job.elements)
    return chunk_views.own_bytes(bytearray(), layout, dtype, Array, job.call)
