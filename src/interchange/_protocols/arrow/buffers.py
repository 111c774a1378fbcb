"""Addresses of the values and bitmaps of a chunk: `ArrowArray` read level by level.

Source: The Arrow C data interface, ``ArrowArray``; Arrow columnar format, Physical memory layout.
Only the structs are read here, which are on the host wherever the memory is.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from interchange._types.layout import INT64_MAX
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ArrowArray

from .types import LISTS, addresses_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._core import ArrowOwner
    from interchange._types.devices import Device

    from .types import ColumnType

    Measure = Callable[["Level", ColumnType], "Lists"]
    """Returns the lists of a level, which have one length."""


class Validity(NamedTuple):
    """The validity bitmap of one level."""

    address: int  # address of the bitmap
    # first, length: range of bits for the chunk [bits]
    first: int
    length: int
    each: int  # number of values per bit [elements]
    nulls: int | None  # how many of these bits are 0; None if the producer did not count them


class Node(NamedTuple):
    """One struct of a chunk that was taken, and what its parents say about it."""

    address: int  # address of its `ArrowArray`
    within: range | None  # the elements that its parent refers to; None for all [elements]
    validities: tuple[Validity, ...]  # the bitmaps of the levels above, the outermost first
    owner: ArrowOwner  # of the struct of the chunk
    device: Device  # device of the memory
    event: int  # address of the handle of the event to wait for; 0 for none
    skip: int = 0  # the first elements of `within` that no list refers to [elements]


class Level(NamedTuple):
    """A struct that was read and validated."""

    node: Node
    array: ArrowArray
    elements: range  # the elements of the chunk in each buffer, the offset included [elements]
    validities: tuple[Validity, ...]  # the bitmaps of the levels above, and then its own
    children: tuple[int, ...]  # addresses of the structs below


class Lists(NamedTuple):
    """The lists of one level of a chunk."""

    level: Level
    width: int  # size of an offset [bytes]
    offsets: int  # address of the buffer of offsets
    sizes: int  # address of the buffer of sizes; 0 if lists end where the next one starts
    # start, stop: the elements of the child that the lists refer to [elements]
    start: int
    stop: int
    step: int  # length of each list, which starts where the last one ends; -1 if lengths differ
    # offsets_at, sizes_at: host addresses of byte 0 of the buffers, which `keep` keeps alive
    offsets_at: int = 0
    sizes_at: int = 0
    keep: Any = None
    gaps: Validity | None = None  # the bitmap, if null lists have no elements and others `step`

    @property
    def rows(self) -> int:
        """The number of lists."""
        return len(self.level.elements)


class Leaf(NamedTuple):
    """The values of a chunk, and the bitmaps of all levels above them."""

    rows: int  # number of elements of the column
    ptr: int  # address of the buffer of values; 0 if there are none
    # first, length: range of values for the chunk [elements]
    first: int
    length: int
    # From the outermost level inwards; levels without a bitmap are left out.
    validities: tuple[Validity, ...]
    dictionary: int  # address of the struct of the values that these are indices of; 0 for none
    steps: tuple[int, ...] = ()  # lengths of lists that are not in the type [elements]
    # The bitmaps of lists whose null ones have no values; `length` values are of the others.
    gaps: tuple[Validity, ...] = ()


def read_level(node: Node, column: ColumnType) -> Level:
    """Return the contents of a struct, which must match its type.

    Raises BrokenRule: the struct is released (ARROW-RELEASE-3), is of another type
        (ARROW-FORMAT-2), has invalid lengths (ARROW-LENGTH-1, ARROW-LENGTH-2, ARROW-NULL-1), or
        lacks its validity (ARROW-BUFFER-1).
    """
    array = ArrowArray.from_address(node.address)
    children = check_node(array, column)
    within = range(array.length) if node.within is None else node.within
    if within.stop > array.length:
        what = f"a child has {array.length} elements, and its parent refers to {within.stop}"
        raise BrokenRule("ARROW-LENGTH-2", what)
    validities = node.validities + _validity(array, within)
    elements = range(array.offset + within.start, array.offset + within.stop)
    return Level(node, array, elements, validities, children)


def child_of(level: Level, place: int = 0, size: int = 1) -> Node:
    """Return a child of a struct: a field, or the elements of lists of the given size."""
    within = range(level.elements.start * size, level.elements.stop * size)
    return level.node._replace(
        address=level.children[place],
        within=within,
        validities=widened(level.validities, size),
        skip=level.node.skip * size,
    )


def items_of(lists: Lists) -> Node:
    """Return the child of lists: the elements that they refer to, without bitmaps of lists."""
    within = range(lists.start, lists.stop)
    return lists.level.node._replace(
        address=lists.level.children[0], within=within, validities=(), skip=0
    )


def referenced(node: Node) -> Node:
    """Return a struct without the elements that no list refers to."""
    if node.within is None or not node.skip:
        return node
    return node._replace(within=node.within[node.skip :], skip=0)


def widened(validities: tuple[Validity, ...], size: int) -> tuple[Validity, ...]:
    """Return the bitmaps for elements of which each has the given number of values."""
    if size == 1:
        return validities
    return tuple(bitmap._replace(each=bitmap.each * size) for bitmap in validities)


def read_leaf(node: Node, levels: tuple[ColumnType, ...], measure: Measure) -> Leaf:
    """Return the location of the values of a column in a chunk.

    `node`: its outermost struct.
    `levels`: its type, from the outermost level inwards.

    Raises BrokenRule: as `read_level`; or a buffer of values is missing (ARROW-BUFFER-1).
    """
    rows, steps, gaps = None, [], []
    for column in levels:
        level = read_level(node, column)
        rows = len(level.elements) if rows is None else rows
        size = column.format.each
        if column.format.kind in LISTS:
            lists = measure(level, column)
            steps.append(lists.step)
            gaps += [lists.gaps] if lists.gaps is not None else []
            node = items_of(lists)._replace(validities=widened(level.validities, lists.step))
            continue
        if level.children:
            node = child_of(level, 0, size)
            continue
        start, stop = level.elements.start * size, level.elements.stop * size
        if stop > INT64_MAX:  # for a list, the child is found to be too short
            raise BrokenRule("ARROW-LENGTH-1", f"{column.title} of {stop} elements")
        ptr = _numbers(level.array, column, stop - start)
        values = ctypes.cast(level.array.dictionary, ctypes.c_void_p).value or 0
        bitmaps = widened(level.validities, size)
        return Leaf(rows, ptr, start, stop - start, bitmaps, values, tuple(steps), tuple(gaps))
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


def own_validity(level: Level) -> Validity | None:
    """Return the bitmap of a level itself, if it has one."""
    return level.validities[-1] if level.array.buffers[0] else None


def _numbers(node: ArrowArray, level: ColumnType, count: int) -> int:
    """Return the address of the buffer of values, which is required unless there are none."""
    ptr: int = node.buffers[1] or 0
    if count and not ptr:
        raise BrokenRule("ARROW-BUFFER-1", f"{count} elements of {level.format.name} are at NULL")
    return ptr
