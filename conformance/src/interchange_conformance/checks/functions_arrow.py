"""The function of interchange that takes columns of Arrow: those with nulls, and several chunks.

Source: the rules ARROW-NULL-2 and ARROW-CHUNK-1; the Arrow C data interface.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._columns import cases_of, expect_refused, listed, need_columns, taken, taking

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

    Make = Callable[[], arrow.Source]
    Case = tuple[Make, dict[str, Any]]

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"
_COPY: Final = (BufferError, ValueError)


# ---------------------------------------------------------------- nulls

NULLS: Final[dict[str, tuple[Make, int]]] = {
    "counted": (lambda: arrow.numbers(nulls=[1, 4]), 2),
    "not-counted": (lambda: arrow.numbers(nulls=[1, 4]).but(null_count=-1), 2),
    "behind-an-offset": (lambda: arrow.numbers(offset=3, nulls=[0, 1, 5]), 3),
    "all": (lambda: arrow.numbers(length=4, nulls=range(4)), 4),
    "bools": (lambda: arrow.bools(nulls=[2]), 1),
    "lists": (lambda: arrow.lists(nulls=[2]), 1),
    "numbers-in-lists": (lambda: arrow.lists(offset=1, child_nulls=[5, 6]), 2),
    "stream": (lambda: arrow.numbers(nulls=[1, 4]).as_stream(), 2),
    "on-a-device": (lambda: arrow.numbers(nulls=[1, 4]).as_device_array(), 2),
}
"""Name -> what makes a column with nulls, and how many there are."""


@check("ARROW-NULL-2", source=_SOURCE, cases=NULLS)
def columns_with_nulls_are_refused(functions: FunctionsUnderTest, case: tuple[Make, int]) -> None:
    """from_arrow() refuses a column in which something is null.

    Raise ExchangeError with ARROW-NULL-2: count the nulls where the producer has not.
    """
    expect_refused(functions, "ARROW-NULL-2", taking(case[0]))


@check("ARROW-NULL-2", source=_SOURCE, cases=NULLS)
def nulls_that_are_refused_are_counted(
    functions: FunctionsUnderTest, case: tuple[Make, int]
) -> None:
    """The error of a column with nulls says how many there are.

    Put their number into the text.
    """
    need_columns()
    make, count = case
    try:
        functions.namespace.from_arrow(make())
    except functions.namespace.ExchangeError as error:
        said = str(error)
    else:
        said = ""

    expect(re.search(rf"\b{count}\b", said), f"{count} nulls are not in the error: {said:.300}")


LIES: Final = cases_of("ARROW-NULL-1")


@check("ARROW-NULL-1", source="Arrow C data interface, ArrowArray.null_count", cases=LIES)
def null_counts_that_lie_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses a null_count that is not the number of nulls.

    Count the bits, and raise ExchangeError with ARROW-NULL-1.
    """
    expect_refused(functions, "ARROW-NULL-1", case)


MASKED: Final[dict[str, Case]] = {
    **{name: (make, {}) for name, (make, _) in NULLS.items()},
    "none": (arrow.numbers, {}),
    "chunks": (
        lambda: arrow.chunked(arrow.numbers(nulls=[5]), arrow.numbers(), arrow.numbers(nulls=[0])),
        {"copy": True},
    ),
}  # fmt: skip


@check("ARROW-NULL-2", source=_SOURCE, cases=MASKED)
def masks_say_where_values_are(functions: FunctionsUnderTest, case: Case) -> None:
    """With nulls="separate", from_arrow() gives the data, and bools that are True at values.

    Spread the bits of the validity, those of lists to all of their elements.
    """
    need_columns()
    make, keywords = case
    source = make()
    source = source.as_stream() if len(source.chunks) > 1 else source
    found = taken(functions, source, nulls="separate", **keywords)
    what = f"a tuple of data and mask is due, not {found!r:.200}"
    expect(isinstance(found, tuple) and len(found) == 2, what)
    data, mask = found
    said = (mask.dtype.name, mask.shape)
    expect(said == ("bool", data.shape), f"the mask is {said}, the data have shape {data.shape}")
    values, due = _masked(data.tolist(), mask.tolist()), _spread(source.values, data.shape)

    expect(values == due, f"data and mask say {values}, due: {due}")


def _masked(data: Any, mask: Any) -> Any:
    """Return nested lists with None where a mask is False."""
    if isinstance(data, list):
        return [_masked(*pair) for pair in zip(data, mask, strict=True)]
    return data if mask else None


def _spread(values: Any, shape: tuple[int, ...]) -> Any:
    """Return nested lists, with as many None as a null list has elements."""
    if not shape:
        return values
    inner = [None] * shape[0] if values is None else values
    return [_spread(one, shape[1:]) for one in inner]


# ---------------------------------------------------------------- chunks


def _two() -> arrow.Source:
    """Return a column of two chunks."""
    return arrow.chunked(arrow.numbers(), arrow.numbers(length=2)).as_stream()


CHUNKS: Final = {
    "default": taking(_two, *_COPY),
    "not-to-be-copied": taking(_two, *_COPY, copy=False),
    "on-the-host": taking(lambda: _two().as_device_stream(), *_COPY),
    "masked": taking(_two, *_COPY, nulls="separate"),
}


@check("ARROW-CHUNK-1", source=_SOURCE, cases=CHUNKS)
def several_chunks_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses a column of several chunks, unless copy=True.

    Raise CopyNeededError with ARROW-CHUNK-1.
    """
    expect_refused(functions, "ARROW-CHUNK-1", case)


JOINED: Final[dict[str, Make]] = {
    "numbers": lambda: arrow.chunked(
        arrow.numbers("int64", offset=2), arrow.numbers("int64", 1), arrow.numbers("int64", 3)
    ),
    "lists": lambda: arrow.chunked(arrow.lists(offset=1), arrow.lists(shape=(2, 3))),
    "bools": lambda: arrow.chunked(arrow.bools(offset=3), arrow.bools([0, 1, 1])),
    "with-empty-ones": lambda: arrow.chunked(
        arrow.numbers(length=0), arrow.numbers(), arrow.numbers(length=0), arrow.numbers(length=2)
    ),
}


@check("ARROW-CHUNK-1", source=_SOURCE, cases=JOINED)
def chunks_are_joined_on_request(functions: FunctionsUnderTest, case: Make) -> None:
    """With copy=True, from_arrow() gives the elements of all chunks in turn, in memory of its own.

    Copy chunk after chunk, and release each.
    """
    need_columns()
    source = case().as_stream()
    array = taken(functions, source, copy=True)
    found, due = array.tolist(), listed(source.values)

    expect(found == due, f"{len(source.chunks)} chunks came in as {found}, due: {due}")
    expect(not array.readonly, "a copy is read-only")
    expect(source.counts == source.due, f"releases: {source.counts}, due: {source.due}")
