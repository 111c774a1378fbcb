"""Methods by which a consumer imports Arrow data, and the result of importing a column.

Source: the Arrow PyCapsule interface.  A consumer may import columns or tables, as arrays or as
streams: each method is tried with a plain column, and those that read it correctly are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import NotApplicable, note
from interchange_conformance.zoo.arrow import numbers, table

from .under_test import settled

if TYPE_CHECKING:
    from interchange_conformance.zoo.arrow import Source

    from .under_test import ArrowConsumerUnderTest

WAYS: Final = {
    "array": "as_array",
    "stream": "as_stream",
    "device-array": "as_device_array",
    "device-stream": "as_device_stream",
}
"""Kind of an import -> the method of a source that returns a producer of that kind."""
_ENDS: Final = (KeyboardInterrupt, SystemExit)


class Way(NamedTuple):
    """A kind of import, a key of `WAYS`, of a column or of a table with it as the only column."""

    kind: str
    in_table: bool

    def of(self, source: Any) -> Any:
        """Return a producer of a column for this kind of import."""
        if self.in_table and source.field.format != "+s":
            source = in_table(source)
        return getattr(source, WAYS[self.kind])()

    def __str__(self) -> str:
        return f"{self.kind} of a table" if self.in_table else self.kind


def in_table(source: Any) -> Any:
    """Return a table of one column, with the same chunks and other properties."""
    if len(source.chunks) == 1 and source.chunks[0].length >= 0:
        return table(x=source, length=source.chunks[0].length)
    parts = [type(source)(source.field, (one,), source.values) for one in source.chunks]
    tables = [table(x=part, length=max(0, part.chunks[0].length)) for part in parts]
    made = tables[0]
    made.chunks = tuple(one.chunks[0] for one in tables)
    made.flow, made.answers, made.values = source.flow, source.answers, source.values
    return made


def ways(consumer: ArrowConsumerUnderTest, *kinds: str) -> list[Way]:
    """Return the kinds of import with which a consumer reads a plain column correctly.

    Raises `NotApplicable`: the consumer supports none of them.
    """
    found, refusals = [], []
    for kind in kinds or WAYS:
        for is_table in (False, True):
            way = Way(kind, is_table)
            source = way.of(numbers())
            try:
                values = consumer.values(consumer.take(source))
            except _ENDS:
                raise
            except BaseException as error:  # noqa: BLE001 - any exception is a refusal
                refusals.append(f"{way}: {type(error).__name__}: {str(error)[:80]}")
                continue
            if values == list(numbers().values):
                found.append(way)
                break
    if not found:
        raise NotApplicable("no plain column is taken: " + "; ".join(refusals))
    return found


class Import:
    """The import of one column by a consumer, and the elements that it reads.

    Attributes
    ----------
    source : Source
        As in the parameters.
    taken : object or None
        The consumer's object.
    values : list or None
        The elements as the library reads them.
    error : BaseException or None
        The exception raised by the import or by reading.
    """

    def __init__(
        self, consumer: ArrowConsumerUnderTest, source: Source, *, reads: bool = True
    ) -> None:
        self.source: Source = source
        self._consumer = consumer
        self.taken: Any = None
        self.values: list[Any] | None = None
        self.error: BaseException | None = None
        self._refusal = ""
        try:
            note(f"taking {source!r}")
            self.taken = consumer.take(source)
            if reads:
                note(f"reading what came of {source!r}")
                self.values = consumer.values(self.taken)
        except (NotApplicable, *_ENDS):
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic derives from BaseException
            self.error = error.with_traceback(None)
            self.error.__context__ = self.error.__cause__ = None

    def __str__(self) -> str:
        if self._refusal:
            return self._refusal
        if self.error is None:
            return f"was read as {self.values!s:.200}"
        return f"was refused by {type(self.error).__name__}: {str(self.error)[:200]}"

    def counts(self) -> tuple[int, ...]:
        """Delete the consumer's object, and return how often each struct has been released."""
        self._refusal = "" if self.error is None else str(self)
        self.taken = self.error = None  # an error may reference the consumer's object
        source = self.source
        settled(self._consumer.subject, lambda: source.counts == source.due)
        return source.counts
