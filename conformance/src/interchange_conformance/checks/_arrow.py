"""Common code of the Arrow checks: the requested columns, and their exports.

Source: the Arrow PyCapsule interface.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import NotApplicable
from interchange_conformance.probes.opened_arrow import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interchange_conformance.probes.opened_arrow import Opened
    from interchange_conformance.probes.under_test import ArrowProducerUnderTest

DATA: Final = "Arrow C data interface"
STREAM: Final = "Arrow C stream interface"
DEVICE: Final = "Arrow C device data interface"
CAPSULE: Final = "Arrow PyCapsule interface"

KINDS: Final = {name: name for name in METHODS}
"""Cases of checks that run for each method."""
ON_DEVICES: Final = {name: name for name in METHODS if name.startswith("device")}
"""Cases for the methods that export the device."""
STREAMS: Final = {name: name for name in METHODS if name.endswith("stream")}
"""Cases for the methods that return a stream."""


class Column(NamedTuple):
    """A column that a library is asked for.

    Attributes
    ----------
    values : list
        The elements, including those before a slice.
    dtype : str
        In the notation of `Subject.make_arrow`.
    start : int
        Number of elements before the column's first.
    chunks : int
        Number of chunks.
    """

    values: list[Any]
    dtype: str
    start: int = 0
    chunks: int = 1

    @property
    def due(self) -> list[Any]:
        """The elements of the column."""
        return self.values[self.start :]


PLAIN: Final = Column([0, 1, 2, 3, 4, 5], "float32")
_NUMBERS: Final = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip
_MORNING: Final = dt.datetime(2026, 3, 1, 6, 30)  # noqa: DTZ001 - of no zone
_ROWS: Final = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]

COLUMNS: Final = {
    "numbers": tuple(Column([0, 1, 2, 3, 4, 5], name) for name in _NUMBERS),
    "no-elements": (Column([], "float32"),),
    "nulls": (
        Column([0, None, 2, 3, None, 5], "int32"),
        Column([None, None], "float64"),
    ),
    "slices": (
        Column([0, 1, 2, 3, 4, 5], "int16", start=2),
        Column([None, 1, None, 3, 4, None, 6, 7, 8, None], "int32", start=1),
    ),
    "bools": (
        Column([True, False, True, True, False], "bool"),
        Column([i % 3 == 0 for i in range(20)], "bool", start=9),
        Column([True, None, False], "bool"),
    ),
    "strings": (
        Column(["a", "", "a string of more than twelve bytes", "\u00e4"], "string"),
        Column(["a", None, "c"], "string", start=1),
    ),
    "lists": (
        Column(_ROWS, "float32[3]"),
        Column(_ROWS, "float32[3]", start=1),
        Column([[0, 1, 2], None, [3, None, 5]], "int64[3]"),
        Column([_ROWS[:2], _ROWS[2:]], "int16[2][3]"),
    ),
    "lists-of-any-length": (
        Column([[0, 1], [], [2, 3, 4], [5]], "list(int32)"),
        Column([[0, 1], [2], None, [3, 4]], "list(int32)", start=1),
        Column([[0, 1], [2, 3]], "list(float64)"),
    ),
    "times": (
        Column([_MORNING, _MORNING + dt.timedelta(microseconds=1)], "timestamp_us"),
        Column([_MORNING.replace(tzinfo=dt.timezone.utc), None], "timestamp_us_utc"),
        Column([_MORNING.date(), dt.date(1970, 1, 1)], "date32"),
        Column([dt.timedelta(microseconds=1), dt.timedelta(days=-1)], "duration_us"),
    ),
    "chunks": (
        Column([0, 1, 2, 3, 4, 5], "int64", chunks=2),
        Column([0, None, 2, 3, 4, None], "int64", chunks=3),
    ),
}  # fmt: skip
"""Cases of checks on the structs of a column."""


def made(producer: ArrowProducerUnderTest, column: Column) -> Any:
    """Return a column of the library."""
    return producer.make(column.values, column.dtype, start=column.start, chunks=column.chunks)


def exports(
    producer: ArrowProducerUnderTest, columns: Sequence[Column]
) -> Iterator[tuple[Column, Opened]]:
    """Yield the opened result of each method of some columns.

    Raises `NotApplicable`: the library has none of the columns, or these none of the methods.
    """
    reasons = []
    for column in columns:
        try:
            x = made(producer, column)
        except NotApplicable as reason:
            reasons.append(str(reason))
            continue
        kinds = [kind for kind, (method, _) in METHODS.items() if hasattr(x, method)]
        if not kinds:
            raise NotApplicable(f"{type(x).__name__} has no method of Arrow's")
        for kind in kinds:
            if kind.endswith("array") and column.chunks > 1:
                continue  # an array has one chunk: a column of several is not required
            yield column, producer.open(x, kind)
    if len(reasons) == len(columns):
        raise NotApplicable("; ".join(reasons))
