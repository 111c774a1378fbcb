"""Calls the Arrow methods of a producer, and moves the structs out of the capsules.

Source: The Arrow PyCapsule interface, Export Protocol; The Arrow C stream interface.  Errors of the
producer are not caught.  Refused structs are released, or kept by the error if the producer cannot
export them again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Literal

from interchange import _core
from interchange._protocols.export_guards import find_arrow_loss
from interchange._protocols.protocol_attributes import (
    ARROW_METHODS,
    attribute,
    is_read_once,
    method_of,
)
from interchange._types.errors import NoProtocolError, error_for, show
from interchange.abi import BrokenRule, PyCapsule, capsule_name
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_CHUNK,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_SCHEMA,
    ArrowArray,
)

from .types import read_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from interchange._core import ArrowOwner
    from interchange._types.errors import InterchangeError

    from .types import ColumnType

_NAMES: Final = (
    ARROW_DEVICE_ARRAY,
    ARROW_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_ARRAY_STREAM,
)
_ARRAY: Final = "use `interchange.asarray(x)`, which takes arrays"
METHODS: Final = dict(zip(ARROW_METHODS, _NAMES, strict=True))
"""Method, in the order of preference -> the name of the capsule with the memory."""


class Answer(NamedTuple):
    """What the native core got from a producer: the result of a method, or its exception."""

    method: str
    result: Any
    error: Exception | None


class Moved(NamedTuple):
    """The structs that the native core moved out of what a producer returned."""

    name: bytes  # of the capsules of its chunks
    stream: ArrowOwner | None
    schema: ArrowOwner | None  # None: the stream was not asked for it
    code: int  # errno of the stream with the schema
    replies: tuple[tuple[int, ArrowOwner], ...]  # the chunks, each with the errno of the stream


class Taken:
    """The structs taken from a producer: a type, chunks, and perhaps a stream of more.

    Attributes
    ----------
    name : bytes
        Capsule name of its chunks.
    chunks : list[ArrowOwner]
        The chunks so far, without empty ones.
    is_read_once : bool
        Whether the producer cannot export them again, as far as is known.
    has_failed : bool
        Whether the stream ended with an error.
    """

    __interchange_taken__ = True  # for `asking`

    __slots__ = (
        "_keepers",
        "_replies",
        "_schema",
        "_stream",
        "chunks",
        "has_failed",
        "is_read_once",
        "name",
    )

    def __init__(self, name: bytes, schema: ArrowOwner, stream: ArrowOwner | None) -> None:
        self.name = name
        self.chunks: list[ArrowOwner] = []
        self.is_read_once = False
        self.has_failed = False
        self._schema = schema
        self._stream = stream  # None at its end
        self._replies: list[tuple[int, ArrowOwner]] = []  # of the stream, not in `chunks` yet
        self._keepers: list[None] = []  # one item while an error keeps it; one thread can pop it

    def claim(self, call: str) -> Self:
        """Take it from the error that keeps it: no other call reads it until it is kept again.

        Raises NoProtocolError: another call has taken it, or is taking it now (ARROW-RELEASE-3).
        """
        try:
            self._keepers.pop()
        except IndexError:
            what, hint = "the capsules that this error holds were imported before", "pass it once"
            raise NoProtocolError(call, what, "ARROW-RELEASE-3", hint) from None
        return self

    def read(self, reader: Callable[[ColumnType], Any]) -> Any:
        """Return the result of a reader for the type."""
        return reader(read_type(self._schema.address))

    def fill(self, most: int | None) -> None:
        """Take chunks until there are more than the given number; all for None.

        Raises BrokenRule: the stream reports an error, or breaks a rule (ARROW-STREAM-1,
            ARROW-RELEASE-3).
        """
        while self._stream is not None and self._replies:
            self._take_next(self._stream)
        if most is None and self._stream is not None:
            self._take_all(self._stream)
        while self._stream is not None and (most is None or len(self.chunks) <= most):
            self._take_next(self._stream)

    def _take_all(self, stream: ArrowOwner) -> None:
        """Take all further chunks, and the end of the stream."""
        try:
            _check(stream, "next", _core.take_chunks(stream, self.chunks))
        except BaseException:
            self.has_failed = True
            self._end_stream()
            raise
        self._end_stream()

    def take_next(self) -> ArrowOwner | None:
        """Take the next chunk that has elements, which the caller owns; None at the end.

        Raises BrokenRule: as `fill`.
        """
        while self.chunks or self._stream is not None:
            if not self.chunks and self._stream is not None:
                self._take_next(self._stream)
                continue
            chunk = self.chunks.pop(0)
            if _length_of(chunk):
                return chunk
            chunk.release()
        return None

    def _take_next(self, stream: ArrowOwner) -> None:
        """Take the next chunk, or the end of the stream, after which it is not called any more."""
        chunks, code = self.chunks, None
        if self._replies:
            code, chunk = self._replies.pop(0)
        else:
            chunk = _core.new_arrow(self.name)
        chunks.append(chunk)
        try:
            _call(stream, "next", chunk, code)
        except BaseException:
            self.has_failed = True
            self._end()
            raise
        array = ArrowArray.from_address(chunks[-1].address)  # the first part of both structs
        if not array.release:
            self._end()
        elif not array.length and len(chunks) > 1:
            chunks.pop().release()
        elif len(chunks) == 2 and not _length_of(chunks[0]):
            chunks.pop(0).release()

    def keep_for(self, error: BaseException) -> bool:
        """Let an error keep structs that cannot be exported again; return whether it does."""
        is_hopeless = isinstance(error, BrokenRule) and error.rule not in _TAKEN_AGAIN
        if is_hopeless or not self.is_read_once or (self.has_failed and not self.chunks):
            return False
        error.taken = self  # type: ignore[attr-defined] # of whatever class
        self._keepers.append(None)
        return True

    def tell(self, error: InterchangeError) -> InterchangeError:
        """Return an error that owns the structs."""
        if self.has_failed:
            return error._with(self, "`error.taken` has the chunks that came before, and no others")
        return error._with(self)

    def _end(self) -> None:
        """Release the stream, and the last chunk, which is a released struct."""
        self.chunks.pop().release()
        self._end_stream()

    def _end_stream(self) -> None:
        """Release the stream."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.release()

    def close(self) -> None:
        """Release everything but the chunks, which another object owns."""
        self._schema.release()
        if self._stream is not None:
            self._stream.release()
        self._stream, self.chunks = None, []

    def hand_over(self) -> tuple[ArrowOwner, ArrowOwner | None]:
        """Return the type and the first chunk, which the caller owns; release the stream."""
        self._end_stream()
        chunks, self.chunks = self.chunks, []
        return self._schema, chunks[0] if chunks else None

    def release(self) -> None:
        """Release everything."""
        for chunk in (*self.chunks, *(chunk for _, chunk in self._replies)):
            chunk.release()
        self._replies = []
        self.close()


_TAKEN_AGAIN: Final = frozenset({"ARROW-BOOL-1", "ARROW-STREAM-1"})
"""Broken rules after which the same data can be requested otherwise: with a copy, or in part."""


def take(x: Any, call: str, given: list[Answer | Moved] | None = None) -> Taken:
    """Return the structs of a producer: the type, and no chunk of a stream yet.

    Parameters
    ----------
    x : object
        An object with one of `METHODS`; or a capsule of a stream; or a tuple of the capsules of a
        schema and of an array; or data that was taken and refused before.
    call : str
        Named in errors.
    given : list[Answer or Moved], optional
        What was got from `x` already: one item, which is taken out, so that no traceback keeps it.

    Raises
    ------
    NoProtocolError
        `x` does not support Arrow (IX-PROTOCOL-1), or was taken by another call (ARROW-RELEASE-3).
    UnsupportedDTypeError
        It exports Python objects (ARROW-TYPE-1).
    BrokenRule
        The exported structs break a rule (ARROW-METHOD-1, ARROW-CAP-1, ARROW-RELEASE-3,
        ARROW-STREAM-1).
    """
    if type(x) is Taken:
        return x.claim(call)
    known = given.pop() if given else None
    if isinstance(known, Moved):
        found = _of_moved(known, x, call)
    else:
        name, result = _ask(x, call, known)
        found = _of_stream(name, result) if name in ARROW_CHUNK else _of_pair(name, result)
    found.is_read_once = is_read_once(x)
    return found


def _of_pair(name: bytes, given: Any) -> Taken:
    """Return the structs in the capsules of a schema and an array."""
    found = Taken(name, _core.take_arrow(given[0], ARROW_SCHEMA), None)
    try:
        found.chunks.append(_core.take_arrow(given[1], name))
    except BaseException:
        found.release()
        raise
    return found


def _of_stream(name: bytes, capsule: Any) -> Taken:
    """Return the struct in the capsule of a stream: its schema, and no chunk yet."""
    stream = _core.take_arrow(capsule, name)
    return _with_schema(Taken(ARROW_CHUNK[name], _core.new_arrow(ARROW_SCHEMA), stream), stream)


def _with_schema(found: Taken, stream: ArrowOwner, code: int | None = None) -> Taken:
    """Return what was taken of a stream with the schema, which is requested unless it was."""
    try:
        _call(stream, "schema", found._schema, code)
    except BaseException:
        found.release()
        raise
    return found


def _of_moved(given: Moved, x: Any, call: str) -> Taken:
    """Return the structs that were moved already."""
    name, stream, schema, code, replies = given
    found = Taken(name, schema or _core.new_arrow(ARROW_SCHEMA), stream)
    if stream is None:
        found.chunks = [chunk for _, chunk in replies]
    else:
        found._replies = list(replies)
    try:
        _check_loss(x, call)
    except BaseException:
        found.release()
        raise
    return (
        found if stream is None else _with_schema(found, stream, None if schema is None else code)
    )


def _check_loss(x: Any, call: str) -> None:
    """Refuse a producer whose structs do not show what its elements are."""
    lost = find_arrow_loss(x)
    if lost is not None:
        raise error_for(call, *lost)


def _ask(x: Any, call: str, answer: Answer | None = None) -> tuple[bytes, Any]:
    """Return the names of a capsule and of its schema's; or that of a stream only."""
    if type(x) is PyCapsule:
        return _name_of(x, tuple(ARROW_CHUNK), call), x
    if isinstance(x, tuple) and len(x) == 2 and all(type(one) is PyCapsule for one in x):
        return _name_of(x[1], tuple(ARROW_CHUNK.values()), call), x
    method = None if isinstance(x, type) else method_of(x)
    if method is None:
        from interchange._protocols.conversion_hints import (
            SHARED,
            sharing_hint,
        )  # for an error only

        what = f"{show(x)} of type {type(x).__name__} is no column of Arrow"
        hint = _ARRAY if sharing_hint(x) == SHARED else "pass a column or a table of Arrow"
        raise NoProtocolError(call, what, "IX-PROTOCOL-1", hint)
    _check_loss(x, call)
    method, given = _exported(x, method, answer)
    name = METHODS[method]
    if name in ARROW_CHUNK:
        if type(given) is not PyCapsule:
            raise BrokenRule("ARROW-METHOD-1", f"{method}() returned {show(given)}")
    elif not (
        isinstance(given, tuple)
        and len(given) == 2
        and all(type(one) is PyCapsule for one in given)
    ):
        raise BrokenRule("ARROW-METHOD-1", f"{method}() returned {show(given)}")
    return name, given


def _exported(x: Any, method: str, answer: Answer | None) -> tuple[str, Any]:
    """Return the method that succeeded, and its result.

    Columns of several chunks that have both methods (nanoarrow's) refuse to export one array, and
    export a stream.
    """
    method = method if answer is None else answer.method
    stream = method.replace("array", "stream")
    try:
        if answer is None:
            return method, getattr(x, method)()
        if answer.error is None:
            return method, answer.result
        raise answer.error
    except ValueError:
        if stream == method or attribute(x, stream) is None:
            raise
    return stream, getattr(x, stream)()


def _name_of(capsule: Any, wanted: tuple[bytes, ...], call: str) -> bytes:
    """Return the name of a bare capsule, which must be one of the given names."""
    name: bytes = capsule_name(capsule)
    if name in wanted:
        return name
    if name in ARROW_CHUNK.values():
        what, hint = f"a capsule named {show(name)} without its schema", _WITH_SCHEMA
        raise NoProtocolError(call, what, "ARROW-METHOD-1", hint)
    what = f"a capsule named {show(name)} is none of {' and '.join(map(show, wanted))}"
    raise NoProtocolError(call, what, "ARROW-CAP-1", _WITH_SCHEMA)


_WITH_SCHEMA: Final = (
    "pass the capsule of a stream, or a tuple of the capsules of a schema and of its array"
)


# ---------------------------------------------------------------- streams


def _length_of(chunk: ArrowOwner) -> int:
    """Return the number of elements of a chunk."""
    length: int = ArrowArray.from_address(chunk.address).length
    return length


def _call(
    stream: ArrowOwner, what: Literal["schema", "next"], out: ArrowOwner, code: int | None = None
) -> None:
    """Request the schema or the next chunk of a stream, unless that was done: with an errno."""
    _check(stream, what, _core.call_stream(stream, what, out) if code is None else code)


def _check(stream: ArrowOwner, what: str, code: int) -> None:
    """Raise the error of a stream if it returned an errno."""
    if code:
        said = _core.stream_error(stream)
        words = f": {show(said)}" if said else ""
        found = f"get_{what} of the stream returned {code} ({os.strerror(code)}){words}"
        raise BrokenRule("ARROW-STREAM-1", found)
