"""Open the results of the Arrow PyCapsule methods: capsules, streams, and their chunks.

Source: the Arrow PyCapsule interface, Export Protocol; the C stream interface.  The results are
read strictly; a result that cannot be read is a finding.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_CHUNK,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
)
from interchange_conformance.findings import Found, note

from .arrow_structs import elements, read_array, read_type

if TYPE_CHECKING:
    from .arrow_structs import Node, Type

METHODS: Final[dict[str, tuple[str, tuple[bytes, ...]]]] = {
    "array": ("__arrow_c_array__", (ARROW_SCHEMA, ARROW_ARRAY)),
    "stream": ("__arrow_c_stream__", (ARROW_ARRAY_STREAM,)),
    "device-array": ("__arrow_c_device_array__", (ARROW_SCHEMA, ARROW_DEVICE_ARRAY)),
    "device-stream": ("__arrow_c_device_stream__", (ARROW_DEVICE_ARRAY_STREAM,)),
}
"""Kind of an export -> its method, and the names of the capsules that it returns."""
_MOST_CHUNKS: Final = 10_000

_Callback: Final = capsules.Prototype(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Words: Final = capsules.Prototype(ctypes.c_char_p, ctypes.c_void_p)


def release_at(name: bytes, address: int) -> int | None:
    """Return the address of the release callback in a struct, None for NULL."""
    found: int | None = ctypes.c_void_p.from_address(address + ARROW_RELEASE[name]).value
    return found


def call_release(name: bytes, address: int) -> None:
    """Call the release callback of a struct, unless it is NULL."""
    release = release_at(name, address)
    if release is not None:
        capsules.deleter_at(release)(address)


class Struct:
    """A struct owned by a check: moved out of a capsule, or filled by a stream.

    Parameters
    ----------
    name : bytes
        Name of the capsule that belongs to such a struct.
    source : int, optional
        Address of a struct that is moved into this one; it is marked released.

    Attributes
    ----------
    name, address : object
        The name of the capsule, and the present address of the struct.
    """

    def __init__(self, name: bytes, source: int | None = None) -> None:
        kind = ARROW_STRUCTS[name]
        self.name = name
        self._struct = kind()
        self.address: int = ctypes.addressof(self._struct)
        if source is not None:
            ctypes.memmove(self.address, source, ctypes.sizeof(kind))
            ctypes.c_void_p.from_address(source + ARROW_RELEASE[name]).value = None

    @property
    def released(self) -> bool:
        """Whether its release callback is NULL."""
        return release_at(self.name, self.address) is None

    def release(self) -> None:
        """Call its release callback, unless that is NULL."""
        call_release(self.name, self.address)

    def __del__(self) -> None:
        self.release()


def capsules_of(found: Any, method: str, names: tuple[bytes, ...]) -> tuple[Any, ...]:
    """Return the capsules that a method returned.

    Raises `Found`: the number, type or names of the capsules are wrong.
    """
    several = len(names) > 1
    if several and not (isinstance(found, tuple) and len(found) == len(names)):
        raise Found(f"{method}() returned {found!r:.200}, and no tuple of {len(names)} capsules")
    given = found if several else (found,)
    for capsule, name in zip(given, names, strict=True):
        if type(capsule) is not capsules.PyCapsule:
            raise Found(f"{method}() returned {capsule!r:.200} where a capsule is due")
        said = capsules.capsule_name(capsule)
        if said != name:
            raise Found(f"{method}() returned a capsule named {said!r}, due: {name!r}")
    return tuple(given)


def pointer_in(capsule: Any) -> int:
    """Return the address in a capsule."""
    return int(capsules.capsule_pointer(capsule, capsules.capsule_name(capsule)))


class Opened:
    """An export: capsules, and the structs in them.

    Parameters
    ----------
    found : object
        The return value of the method.
    kind : str
        A key of `METHODS`.

    Attributes
    ----------
    kind : str
        As in the parameters.
    capsules : tuple
        The capsules, as long as this object lives.
    schema : int
        Address of the `ArrowSchema`.
    chunks : list[int]
        Addresses of the arrays; for device arrays, of the embedded `ArrowArray`.
    names : tuple[bytes, bytes]
        Names that capsules of schema and chunks have.

    Raises
    ------
    Found
        The return value is not what the protocol requires, or the stream fails.
    """

    def __init__(self, found: Any, kind: str) -> None:
        method, names = METHODS[kind]
        self.kind = kind
        self.capsules: tuple[Any, ...] = capsules_of(found, method, names)
        self._owned: list[Struct] = []
        self.names: tuple[bytes, ...]
        self.schema: int
        self.chunks: list[int]
        if len(names) > 1:
            self.names = names
            self.schema, chunk = map(pointer_in, self.capsules)
            self.chunks = [chunk]
        else:
            self.names = ARROW_SCHEMA, ARROW_CHUNK[names[0]]
            self.schema, self.chunks = self._pull(pointer_in(self.capsules[0]), names[0])
        if release_at(ARROW_SCHEMA, self.schema) is None:
            raise Found(f"{method}() gave a released schema")
        self.type: Type = read_type(self.schema)

    def _pull(self, address: int, name: bytes) -> tuple[int, list[int]]:
        """Return the schema and every chunk of a stream."""
        stream = ARROW_STRUCTS[name].from_address(address)
        schema = Struct(ARROW_SCHEMA)
        self._call(stream, "get_schema", schema)
        chunks: list[int] = []
        while len(chunks) < _MOST_CHUNKS:
            chunk = Struct(self.names[1])
            self._call(stream, "get_next", chunk)
            if chunk.released:
                return schema.address, chunks
            chunks.append(chunk.address)
        raise Found(f"get_next() gave {_MOST_CHUNKS} chunks, and no released one at the end")

    def _call(self, stream: Any, function: str, out: Struct) -> None:
        """Call a callback of a stream, and keep the struct that it fills."""
        address = getattr(stream, function)
        if not address:
            raise Found(f"{function} of the stream is NULL")
        note(f"calling {function} of the stream")
        code = _Callback(address)(ctypes.addressof(stream), out.address)
        if code:
            words = _Words(stream.get_last_error)(ctypes.addressof(stream))
            raise Found(f"{function} returned {code}: {(words or b'').decode('utf-8', 'replace')}")
        self._owned.append(out)

    @property
    def nodes(self) -> list[Node]:
        """The fields of the chunks."""
        return [read_array(chunk) for chunk in self.chunks]

    def values(self) -> list[Any]:
        """Return the elements of all chunks."""
        return [one for node in self.nodes for one in elements(self.type, node)]

    def column(self) -> list[Any]:
        """Return the elements of all chunks; those of the column if it is a table of one column."""
        found = self.values()
        if self.is_table:
            return [next(iter(row.values())) for row in found]
        return found

    @property
    def is_table(self) -> bool:
        """Whether it is a struct with one child."""
        return self.type.text == "+s" and len(self.type.children) == 1

    @property
    def column_type(self) -> Type:
        """The type of the column."""
        child = self.type.children[0] if self.is_table else self.type
        return self.type if child is None else child
