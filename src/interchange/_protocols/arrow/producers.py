"""What speaks Arrow is asked for its capsules, and the structs are taken out of them.

Source: The Arrow PyCapsule interface, Export Protocol; The Arrow C stream interface.  What a
producer raises comes through unchanged.  Whatever was taken and is refused is released at once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Literal

from interchange import _core
from interchange._protocols.losses import ARROW_LOSSES, lost_by
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

    from interchange._core import ArrowOwner

    from .types import ColumnType

METHODS: Final = {
    "__arrow_c_device_array__": ARROW_DEVICE_ARRAY,
    "__arrow_c_array__": ARROW_ARRAY,
    "__arrow_c_device_stream__": ARROW_DEVICE_ARRAY_STREAM,
    "__arrow_c_stream__": ARROW_ARRAY_STREAM,
}
"""Method, the first that is there is asked -> the name of the capsule with the memory."""


class Taken(NamedTuple):
    """What was taken from a producer.

    Attributes
    ----------
    name : bytes
        What the capsules of its chunks are called.
    chunks : list[ArrowOwner]
        The chunks, those without elements left out; as many as were wanted, and one more.
    """

    name: bytes
    chunks: list[ArrowOwner]


def take(
    x: Any, read: Callable[[ColumnType], Any], most: int | None, call: str
) -> tuple[Any, Taken]:
    """Return what a reader makes of the type of `x`, and the chunks of `x`.

    Parameters
    ----------
    x : object
        Has one of `METHODS`; or a capsule of a stream; or a tuple of the capsules of a schema and
        of an array.
    read : callable
        Is given the type; what it raises ends the exchange.
    most : int or None
        How many chunks are wanted; None for all.
    call : str
        Named in errors.

    Raises
    ------
    NoProtocolError
        `x` speaks no Arrow (IX-PROTOCOL-1).
    UnsupportedDTypeError
        What it exports stands for objects of Python (ARROW-TYPE-1).
    BrokenRule
        Of what came (ARROW-METHOD-1, ARROW-CAP-1, ARROW-RELEASE-3, ARROW-STREAM-1).
    """
    lost = lost_by(x, ARROW_LOSSES)
    if lost is not None:
        raise error_for(call, *lost)
    name, given = _ask(x, call)
    if name in ARROW_CHUNK:
        return _from_stream(name, given, read, most)
    schema = _core.take_arrow(given[0], ARROW_SCHEMA)
    try:
        chunk = _core.take_arrow(given[1], name)
        try:
            return read(read_type(schema.address)), Taken(name, [chunk])
        except BaseException:
            chunk.release()
            raise
    finally:
        schema.release()


def _ask(x: Any, call: str) -> tuple[bytes, Any]:
    """Return the name of a capsule, and it with that of its schema; or that of a stream alone."""
    if type(x) is PyCapsule:
        return _name_of(x, tuple(ARROW_CHUNK), call), x
    if isinstance(x, tuple) and len(x) == 2 and all(type(one) is PyCapsule for one in x):
        return _name_of(x[1], tuple(ARROW_CHUNK.values()), call), x
    method = (
        None
        if isinstance(x, type)
        else next((word for word in METHODS if getattr(x, word, None) is not None), None)
    )
    if method is None:
        what = f"{show(x)} of type {type(x).__name__} exports no Arrow"
        way_out = "use `interchange.asarray(x)`, which takes what is no column"
        raise NoProtocolError(call, what, "IX-PROTOCOL-1", way_out)
    method, given = _exported(x, method)
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


def _exported(x: Any, method: str) -> tuple[str, Any]:
    """Return the method that answered, and its answer.

    Columns of several chunks that have both methods (nanoarrow's) refuse to be one array, and give
    a stream.
    """
    stream = method.replace("array", "stream")
    try:
        return method, getattr(x, method)()
    except ValueError:
        if stream == method or getattr(x, stream, None) is None:
            raise
    return stream, getattr(x, stream)()


def _name_of(capsule: Any, wanted: tuple[bytes, ...], call: str) -> bytes:
    """Return the name of a bare capsule, which is one of those that are wanted."""
    name: bytes = capsule_name(capsule)
    if name in wanted:
        return name
    if name in ARROW_CHUNK.values():
        what, way_out = f"a capsule called {show(name)} came alone", _WITH_SCHEMA
        raise NoProtocolError(call, what, "ARROW-METHOD-1", way_out)
    what = f"a capsule called {show(name)} is none of {' and '.join(map(show, wanted))}"
    raise NoProtocolError(call, what, "ARROW-CAP-1", _WITH_SCHEMA)


_WITH_SCHEMA: Final = (
    "pass the capsule of a stream, or a tuple of the capsules of a schema and of its array"
)


# ---------------------------------------------------------------- streams


def _from_stream(
    name: bytes, capsule: Any, read: Callable[[ColumnType], Any], most: int | None
) -> tuple[Any, Taken]:
    """Return what a reader makes of the type of a stream, and its chunks."""
    stream = _core.take_arrow(capsule, name)
    chunks: list[ArrowOwner] = []  # of which the last is not filled yet
    try:
        schema = _core.new_arrow(ARROW_SCHEMA)
        try:
            _call(stream, "schema", schema)
            found = read(read_type(schema.address))
        finally:
            schema.release()
        while most is None or len(chunks) <= most:
            chunks.append(_core.new_arrow(ARROW_CHUNK[name]))
            _call(stream, "next", chunks[-1])
            array = ArrowArray.from_address(chunks[-1].address)  # the first part of both structs
            if not array.release:
                return found, Taken(ARROW_CHUNK[name], chunks[:-1])
            if not array.length and len(chunks) > 1:
                chunks.pop().release()
            elif len(chunks) == 2 and not _length_of(chunks[0]):
                chunks.pop(0).release()
    except BaseException:
        for chunk in chunks:
            chunk.release()
        raise
    finally:
        stream.release()
    return found, Taken(ARROW_CHUNK[name], chunks)


def _length_of(chunk: ArrowOwner) -> int:
    """Return how many elements a chunk has."""
    length: int = ArrowArray.from_address(chunk.address).length
    return length


def _call(stream: ArrowOwner, what: Literal["schema", "next"], out: ArrowOwner) -> None:
    """Ask a stream for its schema or for its next chunk."""
    code = _core.call_stream(stream, what, out)
    if code:
        said = _core.stream_error(stream)
        words = f": {show(said)}" if said else ""
        found = f"get_{what} of the stream returned {code} ({os.strerror(code)}){words}"
        raise BrokenRule("ARROW-STREAM-1", found)
