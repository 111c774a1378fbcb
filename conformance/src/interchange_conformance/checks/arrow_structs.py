"""The fields of Arrow structs: formats, children, buffers, lengths, nulls, and the elements.

Source: the Arrow C data interface, Data type description; Structure definitions; the columnar
format.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import struct
from typing import TYPE_CHECKING, Final

from interchange.abi import BrokenRule
from interchange.abi.arrow import ARROW_FLAG_NULLABLE
from interchange.abi.arrow_formats import (
    ANY,
    EXTENSION_NAME,
    NUMBERS,
    decode_metadata,
    parse_format,
)
from interchange_conformance.findings import Found, expect
from interchange_conformance.probes.arrow_structs import below_array, below_type, bit_at, pairs
from interchange_conformance.registry import area

from ._arrow import COLUMNS, DATA, exports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.probes.under_test import ArrowProducerUnderTest
    from interchange_conformance.registry import Decorator

    from ._arrow import Column

    Columns = tuple[Column, ...]

check: Decorator = area("arrow")

_FORMATS: Final = {
    **{name: {text} for text, name in NUMBERS.items()},
    "bool": {"b"},
    "string": {"u", "U", "vu"},
    "timestamp_us": {"tsu:"},
    "timestamp_us_utc": {"tsu:UTC", "tsu:Etc/UTC", "tsu:+00:00"},
    "date32": {"tdD"},
    "duration_us": {"tDu"},
}
"""Requested element type -> its format strings."""
_SIZED: Final = re.compile(r"\[([0-9]+)\]")
_LISTS: Final = {"+l": "i", "+L": "q", "+vl": "i", "+vL": "q"}
"""Format of lists of any length, and of their views -> format character of their offsets."""
_BYTES: Final = {
    **dict.fromkeys("cC", 1),
    **dict.fromkeys("sSe", 2),
    **dict.fromkeys("iIf", 4),
    **dict.fromkeys("lLg", 8),
}


@check("ARROW-FORMAT-1", source=f"{DATA}, Data type description", cases=COLUMNS)
def formats_are_of_the_grammar(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """Each format string is in the grammar, and is that of the requested type.

    Write the format of the type as the table of the C data interface has it, and the sizes of lists
    behind ``+w:``.
    """
    for column, opened in exports(arrow_producer, case):
        for one in below_type(opened.type):
            _expect_format(opened.kind, one)
        _expect_type(opened.column_type, column.dtype)


def _expect_format(kind: str, one: Type) -> None:
    """Raise `Found` unless a format is valid."""
    try:
        parse_format((one.format or b"").decode())
    except (BrokenRule, UnicodeError) as error:
        raise Found(f"by its {kind} method, the format is {one.format!r}") from error


def _expect_type(kind: Type, dtype: str) -> None:
    """Raise `Found` unless a type is that of an element type with its lists."""
    name, sizes = dtype.partition("[")[0], [int(size) for size in _SIZED.findall(dtype)]
    one: Type | None = kind
    for size in sizes:
        text = one.text if one is not None else ""
        expect(text == f"+w:{size}", f"lists of {size} are of the format {text!r}")
        one = one.children[0] if one is not None and one.children else None
    text = one.text if one is not None else ""
    if name.startswith("list("):
        expect(text in _LISTS, f"{name} is of the format {text!r}")
        below = one.children[0] if one is not None and one.children else None
        text, name = below.text if below is not None else "", name[5:-1]
    is_bytes_of_bool = name == "bool" and text == "c"
    expect(text in _FORMATS[name] or is_bytes_of_bool, f"{name} is of the format {text!r}")
    if is_bytes_of_bool and one is not None:
        extension = decode_metadata(one.metadata or 0).get(EXTENSION_NAME)
        words = f"bools are bytes, and the extension is {extension!r}, due: b'arrow.bool8'"
        expect(extension == b"arrow.bool8", words)


@check("ARROW-FORMAT-1", source=f"{DATA}, Structure definitions", cases=COLUMNS)
def columns_hold_their_values(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """The values that the structs of a column describe are those of the column.

    Make format, offset, validity and buffers agree.
    """
    for column, opened in exports(arrow_producer, case):
        found = opened.column()
        words = f"by its {opened.kind} method, {column.dtype} {column.due} is {found}"
        expect(found == column.due, words)


@check("ARROW-FORMAT-2", source=f"{DATA}, Structure definitions", cases=COLUMNS)
def structs_have_what_their_format_says(
    arrow_producer: ArrowProducerUnderTest, case: Columns
) -> None:
    """Schema and array have the children, buffers and dictionary that the format requires.

    Set n_children and n_buffers to the numbers of the type's layout in both structs, and point to
    as many.
    """
    for _, opened in exports(arrow_producer, case):
        for one in below_type(opened.type):
            _expect_children(one.text, one)
        for node in opened.nodes:
            for kind, array in pairs(opened.type, node):
                _expect_children(kind.text, array)
                _expect_buffers(kind.text, array)
                both = (kind.dictionary is None) == (array.dictionary is None)
                expect(both, f"of schema and array of format {kind.text!r} one has a dictionary")
            _expect_as_many(opened.type, node)


def _expect_children(text: str, one: Type | Node) -> None:
    """Raise `Found` unless a struct has the children that its format requires."""
    due = parse_format(text).children
    what = f"{type(one).__name__.lower()} of format {text!r} has {one.n_children} children"
    expect(one.n_children >= 0, what)
    expect(due in (ANY, one.n_children), f"{what}, due: {due}")
    there = len(one.children) == one.n_children and None not in one.children
    expect(there, f"{what}, and does not point at all of them")


def _expect_buffers(text: str, one: Node) -> None:
    """Raise `Found` unless an array has the number of buffers that its format requires."""
    due = parse_format(text).buffers
    what = f"an array of format {text!r} has {one.n_buffers} buffers"
    expect(due in (ANY, one.n_buffers), f"{what}, due: {due}")
    expect(len(one.buffers) == one.n_buffers, f"{what}, and does not point at them")


def _expect_as_many(kind: Type, node: Node) -> None:
    """Raise `Found` unless schema and array have the same number of children."""
    for one, two in pairs(kind, node):
        what = f"a schema of {one.n_children} children has an array of {two.n_children}"
        expect(one.n_children == two.n_children, what)


@check("ARROW-FORMAT-3", source=f"{DATA}, ArrowSchema.metadata", cases=COLUMNS)
def metadata_are_pairs_of_bytes(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """Metadata is NULL, or a number of key and value pairs, each preceded by its length.

    Write 32-bit integers in native byte order: the number of pairs, and the length before each key
    and value.
    """
    for _, opened in exports(arrow_producer, case):
        for one in below_type(opened.type):
            _expect_metadata(one)


def _expect_metadata(one: Type) -> None:
    """Raise `Found` unless metadata are valid key-value pairs."""
    try:
        decode_metadata(one.metadata or 0)
    except BrokenRule as error:
        raise Found(f"the metadata of format {one.text!r}: {error}") from error


# ---------------------------------------------------------------- lengths and buffers


@check("ARROW-LENGTH-1", source=f"{DATA}, ArrowArray.length, ArrowArray.offset", cases=COLUMNS)
def lengths_and_offsets_are_not_negative(
    arrow_producer: ArrowProducerUnderTest, case: Columns
) -> None:
    """Length and offset of every array are not negative, and the lengths are those of the column.

    Count elements from the start of the buffers on: offset, and then length of them.
    """
    for column, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for one in below_array(node):
                what = f"an array has length {one.length} and offset {one.offset}"
                expect(one.length >= 0 and one.offset >= 0, what)
                expect(one.length + one.offset < 2**63, what)
        found = sum(node.length for node in opened.nodes)
        expect(found == len(column.due), f"{len(column.due)} elements are in arrays of {found}")


@check("ARROW-LENGTH-2", source="Arrow columnar format, Fixed-Size List Layout; Struct Layout",
       cases=COLUMNS)  # fmt: skip
def children_have_what_their_parents_refer_to(
    arrow_producer: ArrowProducerUnderTest, case: Columns
) -> None:
    """A child has all elements that its parent refers to, the parent's offset included.

    Slice a parent by its offset and leave the child whole, or slice both.
    """
    for _, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                due = _referred_to(kind, one)
                short = [child.length for child in one.children if child and child.length < due]
                words = f"a parent of format {kind.text!r} refers to {due} elements"
                expect(not short, f"{words}, and its children have {short}")


def _referred_to(kind: Type, node: Node) -> int:
    """Return the number of elements of its children to which an array refers."""
    said = parse_format(kind.text)
    if said.kind == "struct":
        return node.length + node.offset
    return (node.length + node.offset) * said.size if said.kind == "fixed_size_list" else 0


@check("ARROW-OFFSET-1", source="Arrow columnar format, Variable-size List Layout; ListView Layout",
       cases=COLUMNS)  # fmt: skip
def offsets_are_not_negative(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """The offsets of lists, and the sizes of their views, are not negative.

    Begin at 0, or at the elements before a slice.
    """
    for kind, one, vectors in _offsets(arrow_producer, case):
        least = min((number for vector in vectors for number in vector), default=0)
        words = f"of an array of format {kind.text!r} and {one.length} lists"
        expect(least >= 0, f"{words}, an offset or a size is {least}")


@check("ARROW-OFFSET-2", source="Arrow columnar format, Variable-size List Layout", cases=COLUMNS)
def offsets_do_not_decrease(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """Each list ends at its start or after it, and the last within the child.

    Write one offset more than lists: the ends of all lists so far, in elements and not in bytes.
    """
    for kind, one, vectors in _offsets(arrow_producer, case):
        words = f"an array of format {kind.text!r}"
        count = one.children[0].length if one.children and one.children[0] is not None else 0
        if len(vectors) == 1:
            pairs_of = list(itertools.pairwise(vectors[0]))
            expect(all(a <= b for a, b in pairs_of), f"{words} has the offsets {vectors[0]}")
            last = max(vectors[0], default=0)
        else:
            last = max((start + size for start, size in zip(*vectors, strict=True)), default=0)
        expect(last <= count, f"{words} refers to {last} elements of a child of {count}")


def _offsets(
    producer: ArrowProducerUnderTest, columns: Columns
) -> Iterator[tuple[Type, Node, list[tuple[int, ...]]]]:
    """Yield each array of lists of any length, and its offsets, with sizes for views."""
    for _, opened in exports(producer, columns):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                letter = _LISTS.get(kind.text)
                if letter is None or not one.length:
                    continue
                is_view = "v" in kind.text
                count = one.length + (not is_view)
                yield kind, one, [
                    _integers(address, letter, one.offset, count)
                    for address in one.buffers[1 : 3 if is_view else 2]
                    if address is not None
                ]  # fmt: skip


def _integers(address: int, letter: str, first: int, count: int) -> tuple[int, ...]:
    """Return some integers at an address."""
    size = struct.calcsize(f"={letter}")
    data = ctypes.string_at(address + first * size, count * size)
    return struct.unpack(f"={count}{letter}", data)


@check("ARROW-BUFFER-1", source=f"{DATA}, ArrowArray.buffers", cases=COLUMNS)
def buffers_are_there(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """Buffers with content are not NULL, and there is a validity buffer if there are nulls.

    Use NULL for buffers of zero bytes, and for the validity if null_count is 0.
    """
    for _, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                what = f"an array of format {kind.text!r}, of {one.length} elements"
                if one.length and (kind.text in _BYTES or kind.text == "b"):
                    elements = one.buffers[1:2]
                    expect(elements and elements[0], f"{what}, has no buffer of them")
                if one.null_count > 0 and kind.text != "n":
                    validity = one.buffers[:1]
                    expect(
                        validity and validity[0],
                        f"{what}, has {one.null_count} nulls, and no validity",
                    )


@check("ARROW-BUFFER-2", source="Arrow columnar format, Buffer Alignment and Padding",
       cases=COLUMNS)  # fmt: skip
def elements_lie_at_multiples_of_their_size(
    arrow_producer: ArrowProducerUnderTest, case: Columns
) -> None:
    """The buffer of numbers begins at a multiple of their size.

    Allocate at multiples of 64 bytes, and let offsets say where a slice begins.
    """
    for _, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                address = one.buffers[1] if len(one.buffers) > 1 else None
                size = _BYTES.get(kind.text, 1)
                what = f"numbers of format {kind.text!r} begin at {address or 0:#x}"
                expect((address or 0) % size == 0, what)


@check("ARROW-NULL-1", source=f"{DATA}, ArrowArray.null_count", cases=COLUMNS)
def null_counts_are_right(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """null_count is -1, or the number of nulls in the validity bitmap.

    Recount when you slice, or set -1.
    """
    for _, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                due = _nulls(kind, one)
                words = f"an array of format {kind.text!r} says {one.null_count} nulls of {due}"
                expect(one.null_count in (-1, due), words)


@check("ARROW-NULL-1", source=f"{DATA}, ArrowSchema.flags", cases=COLUMNS)
def fields_with_nulls_are_nullable(arrow_producer: ArrowProducerUnderTest, case: Columns) -> None:
    """A field with null elements has the flag ARROW_FLAG_NULLABLE.

    Set the flag if any element may be null: without it consumers may ignore the validity, and read
    nulls as values.
    """
    for _, opened in exports(arrow_producer, case):
        for node in opened.nodes:
            for kind, one in pairs(opened.type, node):
                nulls = 0 if kind.flags & ARROW_FLAG_NULLABLE else _nulls(kind, one)
                words = f"by its {opened.kind} method, a field of format {kind.text!r} is not"
                expect(not nulls, f"{words} nullable, and has {nulls} nulls")


def _nulls(kind: Type, node: Node) -> int:
    """Return the number of nulls of an array."""
    if kind.text == "n":
        return node.length
    validity = node.buffers[0] if node.buffers else None
    if validity is None:
        return 0
    return sum(not bit_at(validity, node.offset + place) for place in range(node.length))
