"""Text of string and binary views, joined to one block of bytes with offsets.

Source: Arrow columnar format, Variable-size Binary View Layout; The Arrow C data interface, Binary
view arrays.
"""

from __future__ import annotations

import ctypes
from struct import pack
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array
from interchange._array.empty_arrays import empty_array
from interchange._protocols.arrow.buffers import own_validity
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import CopyNeededError
from interchange._types.layout import problem
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from interchange._protocols.arrow.buffers import Level

    from .arrow_columns import Import

_VIEW: Final = 16  # size of a view [bytes]
_FIXED: Final = 3  # buffers besides those of text: validity, views, sizes


class _Views(NamedTuple):
    """The views of a chunk, on the host."""

    address: int  # of the first view
    rows: int
    bitmap: tuple[int, int]  # address of the validity or 0, and the bit of the first view
    sizes: list[int]  # sizes of the buffers of text [bytes]
    buffers: list[int]  # their addresses
    keep: list[Any]  # keeps the memory alive


def join_text(job: Import, levels: list[Level]) -> tuple[Array, Array]:
    """Return the text of views in new host memory, one after the other, and offsets of 64 bits.

    `levels`: the views of each chunk.

    Raises CopyNeededError: `copy` is False (ARROW-VIEW-1).
    Raises BrokenRule: a buffer is missing (ARROW-BUFFER-1, ARROW-FORMAT-2), or a view is not within
        its buffer (ARROW-OFFSET-4).
    """
    if job.request.copy is False:
        raise CopyNeededError(job.call, "the text is in views", "ARROW-VIEW-1")
    chunks = [_read_views(job, level) for level in levels if level.elements]
    offsets = _new(sum(one.rows for one in chunks) + 1, "int64", job.call)
    ctypes.memset(offsets.ptr, 0, 8)
    at = offsets.ptr
    for one in chunks:
        _measure(one, at)
        at += 8 * one.rows
    text = _new(ctypes.c_int64.from_address(at).value, "uint8", job.call)
    at = offsets.ptr
    for one in chunks:
        buffers = pack(f"={len(one.buffers)}Q", *one.buffers)
        _core.join_views(one.address, one.rows, buffers, at, text.ptr)
        at += 8 * one.rows
    return text, offsets


def _new(count: int, dtype: str, call: str) -> Array:
    """Return new host memory."""
    return empty_array((count,), DType.of(dtype), CPU, Array, call)


def _measure(views: _Views, at: int) -> None:
    """Write the offsets of a chunk behind those of the chunks before, whose last is at `at`."""
    base = ctypes.c_int64.from_address(at).value
    sizes = pack(f"={len(views.sizes)}q", *views.sizes)
    bad = _core.measure_views(views.address, views.rows, *views.bitmap, sizes, at)
    if bad >= 0:
        raise BrokenRule("ARROW-OFFSET-4", f"element {bad} is outside of the buffers of text")
    _core.shift_offsets(at, at, views.rows + 1, 8, base)


def _read_views(job: Import, level: Level) -> _Views:
    """Return the views of a chunk, after the sizes of their buffers are checked."""
    array, node, rows = level.array, level.node, level.elements
    count = array.n_buffers - _FIXED
    too_many = problem((rows.stop,), None, _VIEW)
    if too_many is not None:
        raise BrokenRule(too_many[1], too_many[0])
    if count < 0:
        raise BrokenRule("ARROW-FORMAT-2", f"an array of views has {array.n_buffers} buffers")
    if not array.buffers[1] or (count and not array.buffers[count + 2]):
        raise BrokenRule("ARROW-BUFFER-1", f"the views of {len(rows)} texts or sizes are at NULL")
    views, *keep = job.on_host(node, array.buffers[1], rows.start * _VIEW, rows.stop * _VIEW)
    sizes, addresses = [], []
    if count:
        sizes_at, owner = job.on_host(node, array.buffers[count + 2], 0, 8 * count)
        sizes = (ctypes.c_int64 * count).from_address(sizes_at)[:]
        keep.append(owner)
    for place, size in enumerate(sizes):
        address = array.buffers[place + 2] or 0
        if size < 0:
            raise BrokenRule("ARROW-OFFSET-4", f"buffer {place} of text has {size} bytes")
        if size and not address:
            raise BrokenRule("ARROW-BUFFER-1", f"{size} bytes of text are at NULL")
        address, owner = job.on_host(node, address, 0, size)
        addresses.append(address)
        keep.append(owner)
    bitmap, validity = (0, 0), own_validity(level)
    if validity is not None and validity.nulls != 0:
        start, owner = job.bitmap(node, validity)
        bitmap = start, validity.first
        keep.append(owner)
    first = views + rows.start * _VIEW
    return _Views(first, len(rows), bitmap, sizes, addresses, keep)
