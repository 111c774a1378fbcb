"""Lists of any length in a chunk: their offsets are checked before the elements are read.

Source: Arrow columnar format, Variable-size List Layout; ListView Layout; Variable-size Binary
Layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._types.layout import problem
from interchange.abi import BrokenRule

from .buffers import Lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from .buffers import Level, Node
    from .types import ColumnType

    OnHost = Callable[[Node, int, int, int], tuple[int, Any]]
    """``f(node, address, start, stop)``: a host address of these bytes of a buffer, and its owner;
    the address is that of byte 0."""


def read_lists(level: Level, column: ColumnType, on_host: OnHost) -> Lists:
    """Return the lists of a level, after their offsets are checked.

    Raises BrokenRule: the offsets are NULL (ARROW-BUFFER-1), negative (ARROW-OFFSET-1), decrease
        (ARROW-OFFSET-2) or are too large (ARROW-OFFSET-3, DLP-SHAPE-4).
    """
    width, count, name = column.format.width, len(level.elements), column.format.name
    is_view = column.format.kind == "list_view"
    offsets, sizes = level.array.buffers[1] or 0, (level.array.buffers[2] or 0) if is_view else 0
    if not count:  # the buffer of no lists may be empty
        return Lists(level, width, offsets, sizes, 0, 0, 0)
    too_many = problem((level.elements.stop + 1,), None, width)
    if too_many is not None:
        raise BrokenRule(too_many[1], too_many[0])
    if not offsets or (is_view and not sizes):
        raise BrokenRule("ARROW-BUFFER-1", f"the offsets or sizes of {count} {name} are at NULL")
    first = level.elements.start * width
    stop = level.elements.stop * width
    at, keep = on_host(level.node, offsets, first, stop if is_view else stop + width)
    size_at, keep_sizes = 0, None
    if is_view:
        size_at, keep_sizes = on_host(level.node, sizes, first, stop)
        found = _core.scan_views(at + first, size_at + first, count, width)
    else:
        found = _core.scan_offsets(at + first, count, width)
    if found[-1] >= 0:
        raise _broken(found, name, is_view=is_view)
    return Lists(level, width, offsets, sizes, *found[:3], at, size_at, (keep, keep_sizes))


def _broken(found: tuple[int, int, int, int], name: str, *, is_view: bool) -> BrokenRule:
    """Return the error of invalid offsets: `found` has the numbers of a list, and its index."""
    first, second, _, place = found
    words = f"offset {first} and size {second}" if is_view else f"the offsets {first} and {second}"
    what = f"element {place} of {name} has {words}"
    if min(first, second) < 0:
        return BrokenRule("ARROW-OFFSET-1", what)
    return BrokenRule("ARROW-OFFSET-3" if is_view else "ARROW-OFFSET-2", what)
