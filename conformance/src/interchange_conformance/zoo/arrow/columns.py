"""Correct columns of host memory, whose element number n is the number n.

Source: the Arrow columnar format, Physical memory layout; the C data interface, Data type
description; the canonical extension types.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import struct
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow_formats import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    NUMBERS,
    encode_metadata,
)
from interchange_conformance.zoo.memory import ELEMENTS, Memory

from .description import Chunk, Field
from .source import ArraySource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Ints = tuple[int, ...]

FORMATS: Final = {name: text for text, name in NUMBERS.items()}
"""Name of a numeric type -> its format string."""
_BYTE: Final = ELEMENTS["uint8"]


def _block(data: bytes) -> Memory:
    """Return memory that holds some bytes."""
    memory = Memory(0, _BYTE, lead=len(data))
    memory.view()[:] = data
    return memory


def _bits(flags: Sequence[object]) -> bytes:
    r"""Return a bit buffer, whose first bit is the lowest of the first byte.

    Examples
    --------
    >>> _bits([1, 0, 1])
    b'\x05'
    """
    number = sum(1 << place for place, flag in enumerate(flags) if flag)
    return number.to_bytes(-(-len(flags) // 8), "little")


class _Validity:
    """The validity buffer of a column with nulls, and the related fields."""

    def __init__(self, nulls: Collection[int], length: int, offset: int) -> None:
        self.null_count = len(set(nulls))
        valid = [True] * offset + [place not in nulls for place in range(length)]
        self.memory = (_block(_bits(valid)),) if nulls else ()
        self.buffer = self.memory[0].address if self.memory else None


def _without(values: Sequence[Any], nulls: Collection[int]) -> tuple[Any, ...]:
    """Return values, with None at the indices of nulls."""
    return tuple(None if place in nulls else value for place, value in enumerate(values))


def numbers(
    dtype: str = "float32",
    length: int = 6,
    *,
    offset: int = 0,
    nulls: Collection[int] = (),
    lead: int = 0,
) -> ArraySource:
    """Return a column of numbers.

    Parameters
    ----------
    dtype : str
        A key of `FORMATS`.
    length, offset : int
        Of the array; `offset` elements precede its first.
    nulls : collection of int
        Indices of its nulls.
    lead : int
        Number of bytes before the buffer [bytes]: an odd one makes it unaligned.

    Examples
    --------
    >>> numbers("int32", 3, offset=2, nulls=[1]).values
    (2, None, 4)
    """
    memory = Memory(offset + length, ELEMENTS[dtype], lead)
    first = memory.address + lead
    validity = _Validity(nulls, length, offset)
    chunk = Chunk(
        length, validity.null_count, offset, (validity.buffer, first),
        memory=(memory, *validity.memory),
    )  # fmt: skip
    size = (memory.size - lead) // (offset + length) if offset + length else 0
    found = memory.numbers(first + offset * size, (length,), (1,)) if length else []
    return ArraySource(Field(FORMATS[dtype]), (chunk,), _without(found, nulls))


def bools(
    values: Sequence[object] = (1, 0, 1, 1, 0), *, offset: int = 0, nulls: Collection[int] = ()
) -> ArraySource:
    """Return a column of bools, which are stored as bits."""
    memory = _block(_bits([True] * offset + list(values)))
    validity = _Validity(nulls, len(values), offset)
    buffers = (validity.buffer, memory.address)
    chunk = Chunk(
        len(values), validity.null_count, offset, buffers, memory=(memory, *validity.memory)
    )
    return ArraySource(Field("b"), (chunk,), _without([bool(one) for one in values], nulls))


def nested(values: Sequence[Any], shape: Ints) -> tuple[Any, ...]:
    """Return values in C order as nested tuples.

    Examples
    --------
    >>> nested(range(6), (2, 3))
    ((0, 1, 2), (3, 4, 5))
    """
    if len(shape) < 2:
        return tuple(values)
    step = prod(shape[1:])
    rows = [values[place * step : (place + 1) * step] for place in range(shape[0])]
    return tuple(nested(row, shape[1:]) for row in rows)


def lists(
    dtype: str = "float32",
    shape: Ints = (4, 3),
    *,
    offset: int = 0,
    nulls: Collection[int] = (),
    child_offset: int = 0,
    child_nulls: Collection[int] = (),
) -> ArraySource:
    """Return a column of fixed-size lists, nested if there are more than two axes.

    Parameters
    ----------
    dtype : str
        Element type of the numbers.
    shape : tuple[int, ...]
        Length of the column, and of each level of lists [elements].
    offset : int
        Of the column: number of lists before its first.
    nulls : collection of int
        Indices of the null lists.
    child_offset : int
        Offset of the innermost array [elements].
    child_nulls : collection of int
        Indices of the null numbers, in C order from the first list of the array on.

    Examples
    --------
    >>> lists("int8", (2, 2), offset=1).values
    ((2, 3), (4, 5))
    """
    length, *sizes = shape
    step = prod(sizes)
    below = numbers(
        dtype, (offset + length) * step, offset=child_offset,
        nulls=[offset * step + place for place in child_nulls],
    )  # fmt: skip
    field, (chunk,) = below.field, below.chunks
    for depth in range(len(sizes) - 1, -1, -1):
        field = Field(f"+w:{sizes[depth]}", children=(replace(field, name="item"),))
        count = (offset + length) * prod(sizes[:depth])
        chunk = Chunk(count, 0, 0, (None,), (chunk,))
    validity = _Validity(nulls, length, offset)
    top = Chunk(
        length, validity.null_count, offset, (validity.buffer,), chunk.children,
        memory=validity.memory,
    )  # fmt: skip
    values = nested(below.values[offset * step :], shape)
    return ArraySource(field, (top,), _without(values, nulls))


def texts(values: Sequence[str] = ("a", "bc", "", "def")) -> ArraySource:
    """Return a column of strings, whose elements have different sizes."""
    encoded = [value.encode() for value in values]
    ends = [sum(map(len, encoded[:place])) for place in range(len(encoded) + 1)]
    offsets, data = _block(struct.pack(f"={len(ends)}i", *ends)), _block(b"".join(encoded))
    buffers = (None, offsets.address, data.address)
    chunk = Chunk(len(values), 0, 0, buffers, memory=(offsets, data))
    return ArraySource(Field("u"), (chunk,), tuple(values))


def ragged(
    lengths: Sequence[int] = (2, 0, 3),
    below: ArraySource | None = None,
    *,
    kind: str = "+l",
    offset: int = 0,
    first: int = 0,
    nulls: Collection[int] = (),
) -> ArraySource:
    """Return a column of lists of different lengths.

    Parameters
    ----------
    lengths : sequence of int
        Length of each list, with those before the offset [elements].
    below : ArraySource, optional
        The elements; by default numbers of type int32.
    kind : {"+l", "+L", "+vl", "+vL"}
        Format of the type: lists, lists with offsets of 64 bits, and views of lists.
    offset : int
        Of the column: number of lists before its first.
    first : int
        The first element that a list refers to.
    nulls : collection of int
        Indices of the null lists.

    Examples
    --------
    >>> ragged((2, 0, 3), offset=1).values
    ((), (2, 3, 4))
    """
    ends = [first + sum(lengths[:place]) for place in range(len(lengths) + 1)]
    below = numbers("int32", ends[-1]) if below is None else below
    letter = "q" if kind.endswith("L") else "i"
    buffers = [_block(struct.pack(f"={len(ends)}{letter}", *ends))]
    if "v" in kind:
        buffers.append(_block(struct.pack(f"={len(lengths)}{letter}", *lengths)))
    rows = len(lengths) - offset
    validity = _Validity(nulls, rows, offset)
    chunk = Chunk(
        rows, validity.null_count, offset, (validity.buffer, *(one.address for one in buffers)),
        below.chunks, memory=(*buffers, *validity.memory),
    )  # fmt: skip
    values = [below.values[a:b] for a, b in itertools.pairwise(ends)][offset:]
    field = Field(kind, children=(replace(below.field, name="item"),))
    return ArraySource(field, (chunk,), _without(values, nulls))


def lists_at(
    ends: Sequence[int], count: int, *, kind: str = "+l", sizes: Sequence[int] = ()
) -> ArraySource:
    """Return a column of lists with any offsets, valid or not; it has no ``values``.

    Parameters
    ----------
    ends : sequence of int
        The offsets: one more than lists, or one for each view.
    count : int
        Length of the child.
    kind : str
        As for `ragged`.
    sizes : sequence of int, optional
        For views, the sizes of the lists.
    """
    letter = "q" if kind.endswith("L") else "i"
    vectors = [ends, sizes] if "v" in kind else [ends]
    blocks = [_block(struct.pack(f"={len(vector)}{letter}", *vector)) for vector in vectors]
    buffers = (None, *(block.address for block in blocks))
    rows = len(ends) - (len(vectors) == 1)
    chunk = Chunk(rows, 0, 0, buffers, numbers("int32", count).chunks, memory=tuple(blocks))
    return ArraySource(Field(kind, children=(Field("i", "item"),)), (chunk,), ())


_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of timestamps without a zone
_UTC: Final = _EPOCH.replace(tzinfo=dt.timezone.utc)
_TIMES: Final[dict[str, tuple[str, Callable[[int], Any]]]] = {
    "tdD": ("int32", lambda n: (_EPOCH + dt.timedelta(days=n)).date()),
    "tss:": ("int64", lambda n: _EPOCH + dt.timedelta(seconds=n)),
    "tsu:": ("int64", lambda n: _EPOCH + dt.timedelta(microseconds=n)),
    "tsm:UTC": ("int64", lambda n: _UTC + dt.timedelta(milliseconds=n)),
    "tDu": ("int64", lambda n: dt.timedelta(microseconds=n)),
}
"""Format of times -> the integers that they are stored as, and the value of one."""


def times(kind: str = "tsu:", length: int = 6, *, nulls: Collection[int] = ()) -> ArraySource:
    """Return a column of dates, timestamps or durations: element number n is n units.

    Parameters
    ----------
    kind : {"tdD", "tss:", "tsu:", "tsm:UTC", "tDu"}
        Format string.
    length, nulls : int, collection of int
        As for `numbers`.

    Examples
    --------
    >>> times("tdD", 2).values
    (datetime.date(1970, 1, 1), datetime.date(1970, 1, 2))
    """
    dtype, value = _TIMES[kind]
    values = _without([value(n) for n in range(length)], nulls)
    return numbers(dtype, length, nulls=nulls).but(format=kind, values=values)


def dictionary(
    values: Sequence[str] = ("red", "green"), indices: Sequence[int] = (0, 1, 1, 0)
) -> ArraySource:
    """Return a column of indices into a dictionary of strings."""
    below = texts(values)
    memory = _block(struct.pack(f"={len(indices)}i", *indices))
    chunk = Chunk(
        len(indices), 0, 0, (None, memory.address), dictionary=below.chunks[0], memory=(memory,)
    )
    field = Field("i", dictionary=below.field)
    return ArraySource(field, (chunk,), tuple(values[index] for index in indices))


def extension(name: str, parameters: str = "") -> bytes:
    """Return the metadata of an extension type.

    Parameters
    ----------
    name : str
        Name of the type.
    parameters : str
        Serialised parameters of the type.
    """
    pairs = [(EXTENSION_NAME, name.encode()), (EXTENSION_METADATA, parameters.encode())]
    return encode_metadata(pairs)


def bytes_of_bool(values: Sequence[int] = (1, 0, 1, 1)) -> ArraySource:
    """Return a column of the extension ``arrow.bool8``, whose bools are stored as bytes."""
    memory = _block(bytes(values))
    chunk = Chunk(len(values), 0, 0, (None, memory.address), memory=(memory,))
    field = Field("c", metadata=extension("arrow.bool8"))
    return ArraySource(field, (chunk,), tuple(bool(one) for one in values))


def tensors(
    dtype: str = "float32",
    shape: Ints = (4, 2, 3),
    *,
    permutation: Ints | None = None,
    parameters: str | None = None,
) -> ArraySource:
    """Return a column of the extension ``arrow.fixed_shape_tensor``.

    Parameters
    ----------
    dtype : str
        Element type of the numbers.
    shape : tuple[int, ...]
        Length of the column, and the physical shape of a tensor [elements].
    permutation : tuple[int, ...], optional
        As in the parameters of the type.
    parameters : str, optional
        Used instead of the correct ones.
    """
    said: dict[str, Any] = {"shape": shape[1:]}
    if permutation is not None:
        said["permutation"] = permutation
    made = lists(dtype, (shape[0], prod(shape[1:])))
    metadata = extension("arrow.fixed_shape_tensor", parameters or json.dumps(said))
    return made.but(metadata=metadata)


def table(*, length: int | None = None, offset: int = 0, **columns: ArraySource) -> ArraySource:
    """Return a struct of columns: a record batch.

    Parameters
    ----------
    length : int, optional
        Of the struct; by default that of the first column minus the offset.
    offset : int
        Of the struct, in addition to those of the columns.
    **columns
        By name; each is `offset` elements longer than the struct.
    """
    fields = [replace(one.field, name=name) for name, one in columns.items()]
    chunks = [one.chunks[0] for one in columns.values()]
    count = chunks[0].length - offset if length is None else length
    top = Chunk(count, 0, offset, (None,), tuple(chunks))
    rows = zip(*(one.values[offset:] for one in columns.values()), strict=True)
    values = tuple(dict(zip(columns, row, strict=True)) for row in rows)[:count]
    return ArraySource(Field("+s", children=tuple(fields), flags=0), (top,), values)


def chunked(*parts: ArraySource) -> ArraySource:
    """Return the chunks of several columns of one type; use ``as_stream()`` for a stream."""
    chunks = tuple(chunk for part in parts for chunk in part.chunks)
    values = tuple(value for part in parts for value in part.values)
    return ArraySource(parts[0].field, chunks, values)
