"""Addresses of the values and bitmaps of a chunk: `ArrowArray` read level by level.

Source: The Arrow C data interface, ``ArrowArray``; Arrow columnar format, Physical memory layout.
Only the structs are read here, which are on the host wherever the memory is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange._types.layout import INT64_MAX
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ArrowArray

from .types import addresses_of

if TYPE_CHECKING:
    from .types import ColumnType


class Validity(NamedTuple):
    """The validity bitmap of one level."""

    address: int  # address of the bitmap
    # first, length: range of bits for the chunk [bits]
    first: int
    length: int
    each: int  # number of values per bit [elements]
    nulls: int | None  # how many of these bits are 0; None if the producer did not count them


class Leaf(NamedTuple):
    """The values of a chunk, and the bitmaps of all levels above them."""

    rows: int  # number of elements of the column
    ptr: int  # address of the buffer of values; 0 if there are none
    # first, length: range of values for the chunk [elements]
    first: int
    length: int
    # From the outermost level inwards; levels without a bitmap are left out.
    validities: tuple[Validity, ...]


def read_leaf(address: int, levels: tuple[ColumnType, ...]) -> Leaf:
    """Return the location of the values of a chunk.

    `address`: address of its `ArrowArray`.
    `levels`: its type, from the outermost level inwards.

    Raises BrokenRule: the struct is released (ARROW-RELEASE-3), is of another type
        (ARROW-FORMAT-2), has invalid lengths (ARROW-LENGTH-1, ARROW-LENGTH-2, ARROW-NULL-1), or
        lacks a buffer (ARROW-BUFFER-1).
    """
    validities: list[Validity] = []
    rows = None
    within: range | None = None  # the elements that a parent refers to, at most [elements]
    for level in levels:
        node = ArrowArray.from_address(address)
        children = check_node(node, level)
        within = range(node.length) if within is None else within
        if within.stop > node.length:
            what = f"a child has {node.length} elements, and its parent refers to {within.stop}"
            raise BrokenRule("ARROW-LENGTH-2", what)
        rows = len(within) if rows is None else rows
        validities += _validity(node, within)
        size = level.format.size if level.format.kind in {"fixed_size_list", "bytes"} else 1
        validities = [bitmap._replace(each=bitmap.each * size) for bitmap in validities]
        start, stop = ((node.offset + place) * size for place in (within.start, within.stop))
        if stop > INT64_MAX and not children:  # for a list, the child is found to be too short
            raise BrokenRule("ARROW-LENGTH-1", f"{level.title} of {stop} elements")
        within = range(start, stop)
        if children:
            address = children[0]
        else:
            ptr = _numbers(node, level, len(within))
            return Leaf(rows, ptr, start, len(within), tuple(validities))
    raise BrokenRule("ARROW-FORMAT-2", "a list has no child")  # impossible: `read_type` checked it


def check_node(node: ArrowArray, level: ColumnType) -> tuple[int, ...]:
    """Refuse a struct that does not match its type, and return the addresses of its children."""
    form = level.format
    if not node.release:
        raise BrokenRule("ARROW-RELEASE-3", f"an array of {form.name} has release NULL")
    if node.length < 0 or node.offset < 0 or node.length + node.offset > INT64_MAX:
        what = f"an array of {form.name} has length {node.length} and offset {node.offset}"
        raise BrokenRule("ARROW-LENGTH-1", what)
    if not -1 <= node.null_count <= node.length:
        what = f"null_count is {node.null_count} for {node.length} elements"
        raise BrokenRule("ARROW-NULL-1", what)
    if form.buffers not in {node.n_buffers, -1}:
        what = f"an array of {form.name} has {node.n_buffers} buffers"
        raise BrokenRule("ARROW-FORMAT-2", what)
    if form.buffers and not node.buffers:
        raise BrokenRule("ARROW-BUFFER-1", f"an array of {form.name} has NULL for its buffers")
    if bool(node.dictionary) is not level.has_dictionary:
        has = "has a dictionary" if node.dictionary else "has no dictionary"
        raise BrokenRule("ARROW-FORMAT-2", f"an array of {level.title} {has}")
    what = f"an array of {form.name}"
    return addresses_of(node.n_children, node.children, len(level.children), what)


def _validity(node: ArrowArray, within: range) -> tuple[Validity, ...]:
    """Return the bitmap of a level, or None if it has none."""
    address = node.buffers[0] or 0
    if not address:
        if node.null_count > 0:
            what = f"null_count is {node.null_count}, and the buffer of the validity is NULL"
            raise BrokenRule("ARROW-BUFFER-1", what)
        return ()
    is_all = within == range(node.length)
    nulls = node.null_count if node.null_count == 0 or is_all else -1
    said = None if nulls < 0 else nulls
    return (Validity(address, node.offset + within.start, len(within), 1, said),)


def _numbers(node: ArrowArray, level: ColumnType, count: int) -> int:
    """Return the address of the buffer of values, which is required unless there are none."""
    ptr: int = node.buffers[1] or 0
    if count and not ptr:
        raise BrokenRule("ARROW-BUFFER-1", f"{count} elements of {level.format.name} are at NULL")
    return ptr
