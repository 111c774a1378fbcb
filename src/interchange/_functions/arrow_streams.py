"""Export of iterators as Arrow streams, whose batches are made when a consumer asks for them.

Source: The Arrow C stream interface; The Arrow PyCapsule interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.arrow.representations import extension_of, field_in, negotiate
from interchange._protocols.protocol_attributes import is_mapping
from interchange._types.errors import (
    ArgumentError,
    NoProtocolError,
    ViewError,
    show,
)
from interchange.abi.arrow import ARROW_FLAG_NULLABLE
from interchange.abi.arrow_formats import parse_format

from .arrow_out import ArrowExport, refuse_without_native, to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import CapsuleType

    from interchange.abi.arrow import ArrowColumn, ArrowField

_CALL: Final = "to_arrow_stream()"
_CONSUMED: Final = "create a new iterator, or pass an object that can be iterated several times"


class ArrowStreamExport:
    """Batches with the methods of Arrow for streams; made by `to_arrow_stream`."""

    __slots__ = ("_batches", "_is_consumed", "_once", "_schema", "_started", "_type")

    def __init__(self, batches: Iterable[Any], schema: ArrowField | None, *, once: bool) -> None:
        self._batches = batches
        self._schema = schema
        self._once = once  # whether it can be iterated once
        self._is_consumed = False
        self._started: _Started | None = None  # by a call that asked for the type
        self._type = schema  # None if it is not known yet

    def __repr__(self) -> str:
        """Return a description."""
        return f"ArrowStreamExport(batches of {type(self._batches).__name__})"

    def __arrow_c_schema__(self) -> CapsuleType:
        """Return a capsule of the type, for which the first batch may be made."""
        field = self._type
        if field is None:
            self._started = self._start()
            field = self._started.field
        found: CapsuleType = _core.make_arrow_schema(field)
        return found

    def __arrow_c_stream__(self, requested_schema: Any = None) -> CapsuleType:
        """Return a capsule of a stream, which iterates when a consumer asks for batches.

        Raises
        ------
        NoProtocolError
            The batches are an iterator, and were exported before (ARROW-OUT-8).
        ArgumentError
            There is no batch, and no schema was passed (ARROW-OUT-9).
        """
        wanted = self._schema
        if requested_schema is not None:
            wanted = field_in(requested_schema, "requested_schema", _CALL)
        started = self._start()
        self._started, self._is_consumed = None, self._once
        try:
            reader = _Reader(started, wanted, is_fixed=wanted is self._schema is not None)
            found: CapsuleType = _core.make_arrow_batches(reader.field, reader)
        except BaseException:
            started.close()
            raise
        return found

    def _start(self) -> _Started:
        """Return the iterator, and the first batch unless a schema was passed."""
        if self._started is not None:
            return self._started
        if self._is_consumed:
            what = f"{type(self._batches).__name__} was exported before"
            raise NoProtocolError(_CALL, what, "ARROW-OUT-8", _CONSUMED)
        started = _Started(iter(self._batches), self._schema)
        self._type = started.field
        return started


ArrowStreamExport.__module__ = "interchange"


class _Started:
    """An iterator, and its first batch if it was needed for the type."""

    __slots__ = ("field", "first", "iterator")

    def __init__(self, iterator: Iterator[Any], schema: ArrowField | None) -> None:
        self.iterator = iterator
        self.first: ArrowExport | None = None
        if schema is None:
            try:
                self.first = _batch(next(iterator, _NOTHING))
            except BaseException:
                self.close()
                raise
            if self.first is None:
                what, hint = "there is no batch", "pass a schema"
                raise ArgumentError(_CALL, what, "ARROW-OUT-9", hint)
            schema = self.first._target
        self.field = schema

    def close(self) -> None:
        """Close the iterator, if it can be closed."""
        close = getattr(self.iterator, "close", None)
        if close is not None:
            close()


_NOTHING: Final = object()


def _batch(x: Any) -> ArrowExport | None:
    """Return the export of a batch, or None at the end."""
    if x is _NOTHING:
        return None
    return x if isinstance(x, ArrowExport) else to_arrow(x)


class _Reader:
    """Makes the batches of a stream, one per call; the core calls it, and closes it once.

    `field`: the type of all batches.
    """

    __slots__ = ("count", "field", "pending", "started")

    def __init__(self, started: _Started, wanted: ArrowField | None, *, is_fixed: bool) -> None:
        self.started = started
        self.count = 0
        self.pending: tuple[ArrowField, ArrowColumn, Any] | None = None
        self.field = started.field
        if started.first is not None:
            first, started.first = started.first, None
            target = None if wanted is None else negotiate(first._field, wanted, first._bools)
            self.pending = _exported(first, target)
            self.field = self.pending[0]
        elif wanted is not None and not is_fixed:
            self.field = negotiate(started.field, wanted, None)

    def __call__(self) -> tuple[ArrowField, ArrowColumn, Any] | None:
        """Return type, memory and owner of the next batch, or None at the end."""
        found, self.pending = self.pending, None
        if found is None:
            batch = _batch(next(self.started.iterator, _NOTHING))
            if batch is None:
                return None
            target = negotiate(batch._field, self.field, batch._bools)
            found = _exported(batch, target)
        field, memory = _ordered(*found[:2], self.field)
        differs = _difference(field, memory, self.field)
        if differs:
            raise ViewError(_CALL, f"batch {self.count} {differs}", "ARROW-OUT-9")
        self.count += 1
        return field, memory, found[2]

    def close(self) -> None:
        """Drop the batch that was not taken, and close the iterator."""
        self.pending = None
        self.started.close()


def _exported(batch: ArrowExport, target: ArrowField | None) -> tuple[ArrowField, ArrowColumn, Any]:
    """Return type, memory and owner of a batch, in a negotiated type."""
    return batch._converted(target or batch._target, batch._ready_on_host(_CALL))


# ---------------------------------------------------------------- types


def _ordered(
    field: ArrowField, memory: ArrowColumn, wanted: ArrowField
) -> tuple[ArrowField, ArrowColumn]:
    """Return a table with its columns in the order of the stream's type, if it has the same."""
    names = [child.name for child in field.children]
    order = [child.name for child in wanted.children]
    if field.format != "+s" or names == order or sorted(names) != sorted(order):
        return field, memory
    places = [names.index(name) for name in order]
    return (
        field._replace(children=tuple(field.children[place] for place in places)),
        memory._replace(children=tuple(memory.children[place] for place in places)),
    )


def _difference(field: ArrowField, memory: ArrowColumn, wanted: ArrowField, of: str = "") -> str:
    """Return how a batch differs from the stream's type; empty if it does not."""
    if field.format != wanted.format or extension_of(field) != extension_of(wanted):
        return f"has {_name_of(field)}{of}, and the stream has {_name_of(wanted)}"
    if memory.null_count and not wanted.flags & ARROW_FLAG_NULLABLE:
        return f"has nulls{of}, and the stream has a field that is not nullable"
    if (field.dictionary is None) is not (wanted.dictionary is None):
        return f"has another encoding of dictionaries{of}"
    is_struct = field.format == "+s"
    if is_struct:
        names, known = ([child.name for child in one.children] for one in (field, wanted))
        if names != known:
            return f"has the columns {_listed(names)}, and the stream has {_listed(known)}"
    nodes = zip(field.children, memory.children, wanted.children, strict=True)
    for child, below, expected in nodes:
        found = _difference(child, below, expected, f" in {show(child.name)}" if is_struct else of)
        if found:
            return found
    return ""


def _listed(names: list[str]) -> str:
    """Return some names in a message."""
    return ", ".join(map(show, names[:5])) or "none"


def _name_of(field: ArrowField) -> str:
    """Return the name of a type in a message."""
    extension = extension_of(field)
    name = parse_format(field.format).name
    return name if extension is None else f"{extension.decode('utf-8', 'replace')} of {name}"


# ---------------------------------------------------------------- the function


def to_arrow_stream(batches: Iterable[Any], /, schema: Any = None) -> ArrowStreamExport:
    """Export an iterable of batches as an Arrow stream, which a consumer reads batch by batch.

    Parameters
    ----------
    batches : iterable
        Of dicts of arrays, or of arrays; or of what `to_arrow` returns, for other options.  All
        batches have the same columns and element types; the order of columns may differ.
    schema : object, optional
        The type: an object with ``__arrow_c_schema__``, such as ``pyarrow.Schema``, or a capsule.
        Batches are exported in its representation, if it is one of the same data.  By default the
        type is that of the first batch, which is made when the stream is exported.

    Returns
    -------
    ArrowStreamExport
        An object with ``__arrow_c_stream__``: pass it to DuckDB, ``polars.DataFrame``,
        ``pyarrow.RecordBatchReader.from_stream``...  An iterator can be exported once, other
        iterables several times.

    Raises
    ------
    BackendUnavailableError
        The ctypes core is in use (ARROW-CORE-1).
    ArgumentError
        `batches` is not such an iterable (IX-ARGUMENT-1), or `schema` is no schema (ARROW-CAP-1).

    Notes
    -----
    Source: The Arrow C stream interface.  Batches are made on the consumer's thread, which may be
    another one, one batch at a time.  An exception of the iterator is an error of the stream, with
    its text; a batch of another type is such an error, too (ARROW-OUT-9).  A generator is closed at
    the end, after an error, and when the consumer releases the stream.  Memory on devices must be
    accessible to the host.

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> from interchange import asarray, from_arrow
        >>> batches = ({"x": asarray(bytes([step, step]))} for step in range(3))
        >>> from_arrow(to_arrow_stream(batches), copy=True).tolist()
        [0, 0, 1, 1, 2, 2]
    """
    refuse_without_native()
    if is_mapping(batches) or isinstance(batches, (str, bytes)):
        what = f"{show(batches)} is one batch"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass `[x]`")
    try:
        iterator = iter(batches)
    except TypeError:
        what, hint = f"{show(batches)} is not iterable", "pass an iterable of dicts of arrays"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint) from None
    field = None
    if schema is not None:
        method = getattr(schema, "__arrow_c_schema__", None)
        field = field_in(schema if method is None else method(), "schema", _CALL)
    return ArrowStreamExport(batches, field, once=iterator is batches)
