"""Lists of different lengths as values and offsets, one pair for each level; text as its bytes.

Source: Arrow columnar format, Variable-size List Layout; ListView Layout; Variable-size Binary
Layout.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.empty_arrays import empty_array
from interchange._protocols.arrow import nulls
from interchange._protocols.arrow.buffers import (
    Leaf,
    Lists,
    child_of,
    items_of,
    read_level,
    referenced,
)
from interchange._protocols.arrow.chunk_views import Chunk
from interchange._protocols.arrow.elements import Elements
from interchange._protocols.arrow.offsets import read_lists
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.errors import ExchangeError, error_for
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple

from .arrow_columns import Column, finish, packed, placed
from .arrow_text import join_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from interchange._protocols.arrow.buffers import Level, Node, Validity
    from interchange._protocols.arrow.types import ColumnType

    from .arrow_columns import Import, Request


def _flat(name: str) -> Elements:
    """Return the element type of plain numbers."""
    return Elements(DType.of(name), (), (), (), is_bits=False)


_OFFSETS: Final = {4: _flat("int32"), 8: _flat("int64")}
_BYTES: Final = _flat("uint8")
ARRAYS: Final = "arrays"
"""The value of `Request.ragged` for a list of Arrays."""


class Ragged(NamedTuple):
    """The plan for lists of different lengths, or for text."""

    # The fixed-size lists around the lists, and last the lists themselves.
    levels: tuple[ColumnType, ...]
    items: Any  # the plan for the elements of the lists; None for text

    @property
    def kind(self) -> str:
        """The kind of lists or text."""
        return self.levels[-1].format.kind


class _Part(NamedTuple):
    """The lists of one chunk."""

    level: Level  # of all lists, from the first one that the arrays have
    used: Level  # of those in use
    lists: Lists  # offsets of those in use, or of all if none is; not of text in views


class _Lists(Column):
    """Lists as a column without values, for the bitmaps of the lists."""

    def __init__(self, job: Import, elements: Elements, chunks: list[Chunk]) -> None:
        super().__init__(job, elements, [])
        self.chunks, self.rows = chunks, sum(chunk.leaf.rows for chunk in chunks)


def import_ragged(
    job: Import,
    plan: Ragged,
    nodes: list[Node],
    import_items: Callable[[Import, Any, list[Node]], Any],
) -> Any:
    """Return values and offsets of lists; with `separate` a tuple of these and of their masks.

    The offsets of one chunk are shared, and count elements from the first one that the child has,
    unless a copy is requested.  Those of several chunks are joined, and begin with 0.

    `nodes`: the outermost struct in each chunk.
    `import_items`: returns the value of a plan, of the elements of the lists.
    """
    request = job.request
    parts = [_read(job, plan, node) for node in nodes]
    column = _Lists(job, _BYTES, [_rows(part.level) for part in parts])
    column.check()
    bits = _read_nulls(column, plan, parts)
    is_compact = request.copy is True or len(parts) != 1
    plain = job.but(request._replace(separate=False, meaning=False, fill=None))
    data = mask = meaning = None
    if plan.kind == "binary_view":
        joined = join_text(plain, [part.level for part in parts])
        data, *offsets = _on_device(plain, parts, joined)
    elif is_compact:
        offsets = _joined(plain, plan, parts)
    else:
        offsets = _shared(plain, plan, parts[0])
    if plan.kind == "binary":
        data = _text(plain, parts, is_compact=is_compact)
    elif plan.items is not None:
        below = [_items(part, is_compact=is_compact) for part in parts]
        data, mask, meaning = unpacked(import_items(job, plan.items, below), request)
    own = column.move_back(column.mask(bits), offsets[0].device) if request.separate else None
    mask = own if plan.items is None else (mask, own)
    value: Any = (data, *offsets)
    if request.ragged == ARRAYS:
        value, mask = _cut(job, data, mask, offsets, own)
    return packed(value, mask, meaning, request)


def _cut(job: Import, data: Any, mask: Any, offsets: list[Array], own: Array | None) -> Any:
    """Return a list of the value of each list, None for a null one, and likewise of the masks."""
    rows = bounds_of(offsets, own, job.call)
    if own is not None and mask is not own:
        mask = [_part(mask[0], start, stop) if valid else None for start, stop, valid in rows]
    return [_part(data, start, stop) if valid else None for start, stop, valid in rows], mask


def bounds_of(ends: Iterable[Array], valid: Array | None, call: str) -> list[tuple[int, int, bool]]:
    """Return start and stop of each list, and whether it is not null.

    `ends`: the offsets, and for views the sizes.
    """
    starts, *sizes = (on_host(one, call) for one in ends)
    stops = [a + b for a, b in zip(starts, sizes[0], strict=True)] if sizes else starts[1:]
    flags = [True] * len(stops) if valid is None else on_host(valid, call)
    return list(zip(starts, stops, flags, strict=False))


def _part(value: Any, start: int, stop: int) -> Any:
    """Return some elements: of an Array, of a list, or of each field of a dict."""
    if isinstance(value, dict):
        return {name: _part(one, start, stop) for name, one in value.items()}
    return value[start:stop]


def on_host(array: Array, call: str) -> list[Any]:
    """Return the elements of an Array on any device."""
    return list(transfers.move(array, CPU, None, call).tolist())


def unpacked(value: Any, request: Request) -> tuple[Any, Any, Any]:
    """Return data, mask and meaning of an imported value; dicts of each for a dict."""
    if isinstance(value, dict):
        below = {name: unpacked(one, request) for name, one in value.items()}
        data = {name: one for name, (one, _, _) in below.items()}
        mask = {name: one for name, (_, one, _) in below.items()}
        return data, mask, {name: one for name, (_, _, one) in below.items()}
    parts: Any = value if request.separate or request.meaning else (value,)
    own = parts[1] if request.separate else None
    return parts[0], own, parts[-1] if request.meaning else None


# ---------------------------------------------------------------- reading


def _read(job: Import, plan: Ragged, node: Node) -> _Part:
    """Return the lists of a chunk, whose offsets are checked."""
    level = level_of(node, plan.levels)
    used = level_of(referenced(node), plan.levels) if node.skip else level
    if plan.kind == "binary_view":
        return _Part(level, used, Lists(used, 8, 0, 0, 0, 0, -1))
    lists = read_lists(used if used.elements else level, plan.levels[-1], job.on_host)
    return _Part(level, used, lists)


def level_of(node: Node, levels: tuple[ColumnType, ...]) -> Level:
    """Return the struct of a chunk for the innermost of these levels."""
    for column in levels[:-1]:
        node = child_of(read_level(node, column), 0, column.format.each)
    return read_level(node, levels[-1])


def _items(part: _Part, *, is_compact: bool) -> Node:
    """Return the elements of lists: those in use, and unless compact also those before them."""
    node = items_of(part.lists)
    if is_compact:
        return node
    start, stop = part.lists.start, part.lists.stop
    return node._replace(within=range(stop), skip=start if part.used.elements else stop)


def _rows(level: Level) -> Chunk:
    """Return lists as a chunk of a column without values."""
    return _chunk(level, 0, 0, len(level.elements), level.validities)


def _chunk(
    level: Level, ptr: int, first: int, count: int, validities: tuple[Validity, ...] = ()
) -> Chunk:
    """Return numbers in a buffer of a struct as a chunk of a column."""
    node = level.node
    leaf = Leaf(count, ptr, first, count, validities, 0)
    return Chunk(node.owner, leaf, node.device, node.event)


def _read_nulls(column: Column, plan: Ragged, parts: list[_Part]) -> list[nulls.Bits]:
    """Return the bitmaps of lists that have nulls; refuse null lists that are in use."""
    job = column.job
    if job.request.separate:
        return column.read_nulls()
    chunks = [_rows(part.used) for part in parts]
    found = [nulls.count_nulls(chunk, partial(job.bitmap, chunk)) for chunk in chunks]
    if total := sum(number for number, _ in found):
        rows = sum(chunk.leaf.rows for chunk in chunks)
        what = f"the column has nulls: {total} in {rows} elements of {plan.levels[-1].title}"
        hint = None if job.request.fill is None else "pass `nulls='separate'`: no number is a list"
        raise ExchangeError(column.call, what, "ARROW-NULL-2", hint)
    return [{} for _ in parts]


# ---------------------------------------------------------------- offsets and text


def _shared(job: Import, plan: Ragged, part: _Part) -> list[Array]:
    """Return the offsets of a chunk, and the sizes of views, as they are."""
    level, lists, is_view = part.level, part.lists, plan.kind == "list_view"
    count, first = len(level.elements), level.elements.start
    if not count:
        return _joined(job, plan, [part])
    buffers = [(lists.offsets, count), (lists.sizes, count)]
    if not is_view:
        buffers = [(lists.offsets, count + 1)]
    return [
        _numbers(job, _OFFSETS[lists.width], [_chunk(level, ptr, first, rows)])
        for ptr, rows in buffers
    ]


def _numbers(job: Import, elements: Elements, chunks: list[Chunk]) -> Array:
    """Return numbers in buffers as an Array."""
    column = _Lists(job, elements, chunks)
    return cast("Array", finish(column, column, len(chunks)))


def _joined(job: Import, plan: Ragged, parts: list[_Part]) -> list[Array]:
    """Return the offsets of all chunks in new memory, and the sizes of views.

    Raises ExchangeError: one does not fit its type (ARROW-CHUNK-2).
    """
    width, is_view = plan.levels[-1].format.width, plan.kind == "list_view"
    total = sum(len(part.used.elements) for part in parts)
    offsets, offsets_at = _fresh(job, width, total if is_view else total + 1)
    found, size_at, more = [offsets], 0, 0 if is_view else 1
    if is_view:
        sizes, size_at = _fresh(job, width, total)
        found.append(sizes)
    base = 0
    for part in parts:
        lists, rows = part.lists, part.used.elements
        first, size = rows.start * width, len(rows) * width
        source, by = lists.offsets_at + first, base - lists.start
        if rows and not _core.shift_offsets(source, offsets_at, len(rows) + more, width, by):
            what = f"an offset is {base + lists.stop - lists.start} in chunks of int{8 * width}"
            raise error_for(job.call, what, "ARROW-CHUNK-2")
        if is_view and rows:
            ctypes.memmove(size_at, lists.sizes_at + first, size)
        base += lists.stop - lists.start
        offsets_at, size_at = offsets_at + size, size_at + size
    return _on_device(job, parts, found)


def _on_device(job: Import, parts: list[_Part], found: Iterable[Array]) -> list[Array]:
    """Return copies on the host on the device of the column, or on the requested one."""
    device = parts[0].level.node.device if parts else CPU
    back = (transfers.move_back(one, device, job.request.stream, job.call) for one in found)
    return [placed(job, one, len(parts), copied=True) for one in back]


def _fresh(job: Import, width: int, count: int) -> tuple[Array, int]:
    """Return an Array of zeros in new host memory, and its address."""
    dtype = _OFFSETS[width].dtype
    array = empty_array((count,), dtype, CPU, Array, job.call)
    ctypes.memset(array.ptr, 0, width * count)
    return array, array.ptr


def _text(job: Import, parts: list[_Part], *, is_compact: bool) -> Array:
    """Return the bytes of text; unless compact also those before the first that is in use."""
    chunks = []
    for level, _, lists in parts:
        start, stop = lists.start if is_compact else 0, lists.stop
        ptr = level.array.buffers[2] or 0
        if stop > start and not ptr:
            raise BrokenRule("ARROW-BUFFER-1", f"{stop - start} bytes of text are at NULL")
        chunks.append(_chunk(level, ptr, start, stop - start))
    return _numbers(job, _BYTES, chunks)
