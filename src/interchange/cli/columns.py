"""Columns of Arrow, handed to arrays of every library, and arrays to columns; and it is checked.

Columns come in by `interchange.from_arrow` and go out by
`interchange.to_arrow`; what `interchange.cli.matrix` says of addresses and elements holds here.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import interchange
from interchange._types.errors import InterchangeError

from .matrix import COPIED, FAILED, REFUSED, SHARED, cell_of
from .subjects import Subject, first_line, silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .matrix import Cell
    from .subjects import Sample

WIDTH: Final = 4
"""Elements of a list."""
NESTED: Final = (2, 5)
"""Elements of a list of lists, and of a tensor as it is in memory."""
START: Final = 16
"""Where slices begin [elements]: enough that they are aligned, as some consumers demand."""
EVERY: Final = 10
"""Of how many elements one is null."""


@dataclass(frozen=True)
class Column(Subject):
    """A kind of column, or of array that becomes one: a row.

    Attributes
    ----------
    options : tuple of (str, object)
        Keywords of `from_arrow` or of `to_arrow`.
    expected : callable
        The elements that were asked for, in memory -> those of the array, in its own order.
    """

    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list


@dataclass(frozen=True)
class Taker(Subject):
    """What takes Arrays, or exports of them: a column.

    Attributes
    ----------
    take : callable
        ``take(module, x, address)`` -> what its library makes of an Array or of an export, whose
        memory begins at an address.
    note : str or None
        What is to be remarked where it shares.
    takes_tables : bool
        Whether it takes tables alone: its column is that of a table of one.
    """

    take: Callable[[Any, Any, int], Any] = lambda _, x, __: x
    note: str | None = None
    takes_tables: bool = False


class Found(NamedTuple):
    """What arrived: a result, its elements, and the elements that it should have."""

    result: Any
    values: list[Any]
    wanted: list[Any]


def hand_in(sample: Sample, consumer: Subject, _stream: int | None = None) -> Cell:
    """Hand a column to an array library: shared if it can be, else copied, else refused."""
    return _hand_over(sample, consumer, _import, ({"copy": False}, {"copy": True}))


def hand_out(sample: Sample, consumer: Subject, _stream: int | None = None) -> Cell:
    """Hand an array to a library of columns: shared if it can be, else copied, else refused."""
    return _hand_over(sample, consumer, _export, ({}, {"copy": True}))


def _import(sample: Sample, consumer: Taker, keywords: dict[str, Any]) -> Found:
    """Hand over a column; of one with nulls, elements that are there are compared, and the mask."""
    row = sample.subject
    options = dict(row.options) if isinstance(row, Column) else {}
    x = interchange.from_arrow(sample.array, **options, **keywords)
    data, mask = x if isinstance(x, tuple) else (x, None)
    result = consumer.take(_module(consumer), data, sample.address)
    values, wanted = consumer.look.values(result), _expected(sample)
    if mask is not None:
        there = [bool(one) for one in mask.tolist()]
        values = [value if one else None for value, one in zip(values, there, strict=True)]
        wanted = without_some(wanted)
    return Found(result, values, wanted)


def _export(sample: Sample, consumer: Taker, keywords: dict[str, Any]) -> Found:
    """Hand over an array."""
    row = sample.subject
    options = dict(row.options) if isinstance(row, Column) else {}
    x = interchange.asarray(sample.array, **keywords)
    address = x.ptr if keywords else sample.address
    export = interchange.to_arrow({"column": x} if consumer.takes_tables else x, **options)
    result = consumer.take(_module(consumer), export, address)
    return Found(result, consumer.look.values(result), _expected(sample))


def without_some(values: Sequence[Any]) -> list[Any]:
    """Return elements of which some are null: None."""
    return [None if place % EVERY == 3 else value for place, value in enumerate(values)]


def _expected(sample: Sample) -> list[Any]:
    """Return the elements that should arrive."""
    row = sample.subject
    return row.expected(sample.values) if isinstance(row, Column) else sample.values


def _module(consumer: Taker) -> Any:
    """Return the module of a consumer, which is imported."""
    return sys.modules[consumer.module]


# ---------------------------------------------------------------- one hand-over


def _hand_over(
    sample: Sample,
    consumer: Subject,
    hand: Callable[[Sample, Taker, dict[str, Any]], Found],
    attempts: Sequence[dict[str, Any]],
) -> Cell:
    """Try to share, and then to copy."""
    if not isinstance(consumer, Taker):
        raise TypeError(f"{consumer.name} takes no columns")
    refusal: InterchangeError | None = None
    try:
        for keywords in attempts:
            shares = not keywords.get("copy")
            with silenced():
                try:
                    found = hand(sample, consumer, keywords)
                except InterchangeError as error:
                    refusal = error
                    continue
                return _check(sample, consumer, found, refusal, shares=shares)
    except Exception as error:  # noqa: BLE001 - a refusal that is none of ours is what is looked for
        what = f"{type(error).__name__} is no refusal with a rule: {first_line(error)}"
        return cell_of(sample, consumer, FAILED, reason=what, error=str(error))
    return cell_of(sample, consumer, REFUSED, refusal)


def _check(
    sample: Sample,
    consumer: Taker,
    found: Found,
    refusal: InterchangeError | None,
    *,
    shares: bool,
) -> Cell:
    """Hold what arrived against what was sent."""
    received = consumer.look.address(found.result)
    dtype = consumer.look.dtype(found.result)
    wrong = None
    if dtype != sample.dtype:
        wrong = f"{sample.dtype} arrived as {dtype}"
    elif found.values != found.wanted:
        wrong = "elements differ from what was sent"
    elif (received == sample.address) is not shares:
        wrong = (
            "a copy was made, and none was asked" if shares else "no copy was made, though asked"
        )
    if wrong is not None:
        return cell_of(sample, consumer, FAILED, reason=wrong, received=received)
    if shares:
        return cell_of(sample, consumer, SHARED, reason=consumer.note, received=received)
    return cell_of(sample, consumer, COPIED, refusal, received=received)


class Scan(NamedTuple):
    """What a library reads that tells no address.

    Attributes
    ----------
    rows : list
        What it read.
    address : int
        Where it was seen to read; 0 where it was not.
    dtype : str
        Name of the element type.
    """

    rows: list[Any]
    address: int
    dtype: str


def scanned(read: Callable[[], list[Any]], address: int, dtype: str) -> Scan:
    """Return what a library reads, and whether it reads what is written to the memory meanwhile.

    Parameters
    ----------
    read : callable
        Reads all elements anew.
    address : int
        Of the first element of the memory that it was given.
    dtype : str
        Name of the element type.
    """
    first = ctypes.c_ubyte.from_address(address + LOW_BYTE.get(dtype, 0))
    before = read()
    kept = first.value
    first.value ^= 1
    try:
        after = read()
    finally:
        first.value = kept
    return Scan(before, address if before != after else 0, dtype)


LOW_BYTE: Final = {"float32": 3, "float64": 7, "float16": 1}
"""Which byte of an element is changed: the highest of a float, that a zero becomes a number."""
