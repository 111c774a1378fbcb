"""Producers of Arrow capsules, which count and log: one class for each method of the protocol.

Source: the Arrow PyCapsule interface, Export Protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_SCHEMA,
)
from interchange_conformance.zoo.source import AS_IS, Call

from .building import StreamLoan, make_array, make_schema
from .description import Chunk, Field, Flow, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from .building import Loan
    from .description import Path


@dataclass(frozen=True)
class Answers:
    """Behaviour of a producer.

    Attributes
    ----------
    schema_name, array_name, stream_name : bytes or None
        Names of its capsules; the correct ones by default, None for NULL.
    destructor : {"destroy", "destroy_always"} or None
        Destructor of its capsules: correct, one that also releases moved structs, or none.
    answer : callable or None
        ``answer(what)`` -> the return value instead of `what`, a capsule or a pair of them.
    raises : BaseException or None
        The exception that its methods raise.
    repeat : bool
        Whether every call returns the capsules of the first.
    """

    schema_name: bytes | None = AS_IS
    array_name: bytes | None = AS_IS
    stream_name: bytes | None = AS_IS
    destructor: str | None = "destroy"
    answer: Callable[[Any], Any] | None = None
    raises: BaseException | None = None
    repeat: bool = False


def _names_of(kind: Any) -> frozenset[str]:
    """Return the names of the attributes of a dataclass."""
    return frozenset(field.name for field in fields(kind))


_ANSWERS: Final = _names_of(Answers)
_FLOW: Final = _names_of(Flow) - {"release", "sets_release"}
_FIELD: Final = _names_of(Field) - _names_of(Chunk)
_CHUNK: Final = _names_of(Chunk) - _names_of(Field)
_BOTH: Final = _names_of(Field) & _names_of(Chunk)


class Source:
    """The base class of all Arrow producers; it supports no protocol itself.

    Parameters
    ----------
    field : Field
        The fields of its schemas.
    chunks : tuple[Chunk, ...]
        The fields of its arrays; a producer of arrays has one chunk.
    values : tuple, optional
        The correct elements: a list is a tuple, a null is None.
    place : Place, optional
        The fields of device structs.
    flow : Flow, optional
        Behaviour of streams.
    answers : Answers, optional
        Behaviour of the producer.

    Attributes
    ----------
    field, chunks, values, place, flow, answers : object
        As in the parameters.
    log : list[Call]
        Every request, in order.
    loans : list[Loan]
        Every struct for which a capsule was made, in order.
    """

    def __init__(
        self,
        field: Field,
        chunks: tuple[Chunk, ...],
        values: tuple[Any, ...] = (),
        place: Place = Place(),  # noqa: B008 - it is frozen
        flow: Flow = Flow(),  # noqa: B008
        answers: Answers = Answers(),
    ) -> None:
        self.field: Field = field
        self.chunks: tuple[Chunk, ...] = chunks
        self.values: tuple[Any, ...] = values
        self.place: Place = place
        self.flow: Flow = flow
        self.answers: Answers = answers
        self.log: list[Call] = []
        self.loans: list[Loan] = []
        self._first: Any = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.field.format!r} of {len(self.values)}>"

    # ------------------------------------------------------------ variants

    def but(self, **changes: Any) -> Self:
        """Return a producer of the same memory with changes.

        Parameters
        ----------
        **changes
            Attributes of `Answers` and `Flow`, and of the top-level `Field` and `Chunk`.  An
            attribute that both of these have, such as ``n_children``, changes in both; use
            ``field=dict(...)`` or ``chunk=dict(...)`` to change one of them, and ``flow=dict(...)``
            for an attribute that a stream shares with them.  ``place=Place(...)`` sets the device.
        """
        return self.at((), **changes)

    def at(self, path: Path, **changes: Any) -> Self:
        """Return a producer of the same memory with changes in a node below the top.

        Parameters
        ----------
        path : tuple of int and "dictionary"
            Path to the node, such as ``(0,)`` for the first child.
        **changes
            As for `but`.
        """
        alone = changes.pop("field", {}), changes.pop("chunk", {})
        place = changes.pop("place", self.place)
        values = changes.pop("values", self.values)
        answers = _taken(changes, _ANSWERS)
        flow = {**changes.pop("flow", {}), **_taken(changes, _FLOW)}
        for name in _taken(dict(changes), _BOTH):
            value = changes.pop(name)
            alone = {**alone[0], name: value}, {**alone[1], name: value}
        in_field = {**_taken(changes, _FIELD), **alone[0]}
        in_chunk = {**_taken(changes, _CHUNK), **alone[1]}
        if changes:
            raise TypeError(f"nothing here has {', '.join(changes)}")
        return type(self)(
            self.field.at(path, **in_field) if in_field else self.field,
            tuple(one.at(path, **in_chunk) if in_chunk else one for one in self.chunks),
            values, place, replace(self.flow, **flow), replace(self.answers, **answers),
        )  # fmt: skip

    def _as(self, kind: Any, place: Place | None = None) -> Any:
        """Return the same producer with another method."""
        where = self.place if place is None else place
        return kind(self.field, self.chunks, self.values, where, self.flow, self.answers)

    def as_array(self) -> ArraySource:
        """Return the same producer with ``__arrow_c_array__``."""
        return self._as(ArraySource)  # type: ignore[no-any-return]

    def as_stream(self) -> StreamSource:
        """Return the same producer with ``__arrow_c_stream__``."""
        return self._as(StreamSource)  # type: ignore[no-any-return]

    def as_schema(self) -> SchemaSource:
        """Return the same producer with ``__arrow_c_schema__``."""
        return self._as(SchemaSource)  # type: ignore[no-any-return]

    def as_device_array(self, place: Place | None = None) -> DeviceArraySource:
        """Return the same producer with ``__arrow_c_device_array__``; by default on the host."""
        return self._as(DeviceArraySource, place)  # type: ignore[no-any-return]

    def as_device_stream(self, place: Place | None = None) -> DeviceStreamSource:
        """Return the same producer with ``__arrow_c_device_stream__``."""
        return self._as(DeviceStreamSource, place)  # type: ignore[no-any-return]

    def as_everything(self) -> EverySource:
        """Return the same producer with every method."""
        return self._as(EverySource)  # type: ignore[no-any-return]

    # ------------------------------------------------------------ the state of its structs

    @property
    def given(self) -> tuple[Loan, ...]:
        """Every struct to be released: of each capsule, and of each call of a stream."""
        streams = [one for one in self.loans if isinstance(one, StreamLoan)]
        return (*self.loans, *(one for stream in streams for one in stream.given))

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each of them has been released."""
        return tuple(one.releases for one in self.given)

    @property
    def due(self) -> tuple[int, ...]:
        """How often each of them should be released: once if it has a callback."""
        return tuple(one.due for one in self.given)

    @property
    def alive(self) -> int:
        """How many of them have not been released."""
        return self.counts.count(0)

    @property
    def streams(self) -> tuple[StreamLoan, ...]:
        """The streams among them, which record their calls."""
        return tuple(one for one in self.loans if isinstance(one, StreamLoan))

    def forget(self) -> None:
        """Free every struct without references, for loops with millions of them."""
        self._first = None  # its capsules release when they are destroyed
        for one in self.loans:
            one.forget()
        self.loans.clear()
        self.log.clear()

    # ------------------------------------------------------------ shared by the kinds

    def _give(self, method: str, keywords: dict[str, Any], make: Callable[[], Any]) -> Any:
        """Log a request, and return the result."""
        self.log.append(Call(method, keywords))
        answers = self.answers
        if answers.raises is not None:
            raise answers.raises
        if answers.repeat and self._first is not None:
            return self._first
        what = make()
        if answers.repeat:
            self._first = what
        return what if answers.answer is None else answers.answer(what)

    def _capsule(self, loan: Loan, said: bytes | None, name: bytes) -> Any:
        """Return a capsule of a struct."""
        self.loans.append(loan)
        return loan.capsule(name if said is AS_IS else said, destructor=self.answers.destructor)

    def _schema(self) -> Any:
        """Return a capsule of the schema."""
        return self._capsule(make_schema(self.field), self.answers.schema_name, ARROW_SCHEMA)

    def _pair(self, place: Place | None) -> tuple[Any, Any]:
        """Return the capsules of schema and array."""
        (chunk,) = self.chunks
        name = ARROW_ARRAY if place is None else ARROW_DEVICE_ARRAY
        schema = self._schema()
        return schema, self._capsule(make_array(chunk, place), self.answers.array_name, name)

    def _stream(self, place: Place | None) -> Any:
        """Return the capsule of a stream."""
        name = ARROW_ARRAY_STREAM if place is None else ARROW_DEVICE_ARRAY_STREAM
        loan = StreamLoan(self.field, self.chunks, self.flow, place)
        return self._capsule(loan, self.answers.stream_name, name)


def _taken(changes: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return the changes with certain names, and remove them from the others."""
    return {name: changes.pop(name) for name in list(changes) if name in names}


def _refuse_unknown(keywords: dict[str, Any]) -> None:
    """Refuse unknown keywords that are not None (ARROW-METHOD-3)."""
    if unknown := [name for name, value in keywords.items() if value is not None]:
        raise NotImplementedError(f"nothing is known of {', '.join(unknown)}")


class SchemaSource(Source):
    """A producer of a schema."""

    def __arrow_c_schema__(self) -> Any:
        return self._give("__arrow_c_schema__", {}, self._schema)


class ArraySource(Source):
    """A producer of one chunk of host memory."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        keywords = {"requested_schema": requested_schema}
        return self._give("__arrow_c_array__", keywords, lambda: self._pair(None))


class StreamSource(Source):
    """A producer of a stream of chunks of host memory."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        keywords = {"requested_schema": requested_schema}
        return self._give("__arrow_c_stream__", keywords, lambda: self._stream(None))


class DeviceArraySource(Source):
    """A producer of one chunk on a device."""

    def __arrow_c_device_array__(self, requested_schema: Any = None, **keywords: Any) -> Any:
        _refuse_unknown(keywords)
        asked = {"requested_schema": requested_schema, **keywords}
        return self._give("__arrow_c_device_array__", asked, lambda: self._pair(self.place))


class DeviceStreamSource(Source):
    """A producer of a stream of chunks on a device."""

    def __arrow_c_device_stream__(self, requested_schema: Any = None, **keywords: Any) -> Any:
        _refuse_unknown(keywords)
        asked = {"requested_schema": requested_schema, **keywords}
        return self._give("__arrow_c_device_stream__", asked, lambda: self._stream(self.place))


class EverySource(ArraySource, StreamSource, DeviceArraySource, DeviceStreamSource, SchemaSource):
    """A producer with every method."""
