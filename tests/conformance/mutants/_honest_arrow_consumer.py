"""An honest consumer of Arrow: it moves structs, checks every field, and releases once.

Source: the Arrow C data, stream, device and PyCapsule interfaces.  It consists of simple steps
that a mutant can replace one at a time (`changed`), and needs no library of Arrow.
"""

from __future__ import annotations

import ctypes
import struct
from functools import partial
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
    ArrowDeviceArray,
)
from interchange.abi.arrow_formats import ANY, decode_metadata, parse_format
from interchange_conformance.probes.arrow_structs import elements, read_array, read_type
from interchange_conformance.subject import Subject

from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Node, Type

_METHODS: Final = (
    ("__arrow_c_array__", (ARROW_SCHEMA, ARROW_ARRAY)),
    ("__arrow_c_stream__", (ARROW_ARRAY_STREAM,)),
    ("__arrow_c_device_array__", (ARROW_SCHEMA, ARROW_DEVICE_ARRAY)),
    ("__arrow_c_device_stream__", (ARROW_DEVICE_ARRAY_STREAM,)),
)
_HOST: Final = (1, 3, 11, 13)
_LISTS: Final = {"+l": "i", "+L": "q", "+vl": "i", "+vL": "q"}
"""Format of lists of any length -> format character of their offsets."""
_END: Final = 2**63
_Callback: Final = capsules.Prototype(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Words: Final = capsules.Prototype(ctypes.c_char_p, ctypes.c_void_p)


class Owned:
    """A struct moved out of a capsule of a name, or filled by a stream: it is released once."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.struct: Any = ARROW_STRUCTS[name]()
        self.address: int = ctypes.addressof(self.struct)

    @property
    def callback(self) -> Any:
        """The address of its release callback, which can be set."""
        return ctypes.c_void_p.from_address(self.address + ARROW_RELEASE[self.name])

    def release(self) -> None:
        """Call the callback, unless it is NULL."""
        if self.callback.value is not None:
            capsules.deleter_at(self.callback.value)(self.address)

    def __del__(self) -> None:
        self.release()


class Taken:
    """Imported columns: a type, chunks, and their owners."""

    def __init__(self, kind: Type, chunks: list[Node], owners: list[Any]) -> None:
        self.kind, self.chunks, self.owners = kind, chunks, owners


class ArrowConsumer:
    """The steps of an import."""

    methods: Any = _METHODS

    def take(self, x: Any) -> Taken:
        """Return the memory of an object with one of the methods."""
        for method, names in self.methods:
            if hasattr(x, method):
                given = self.capsules_of(self.ask(x, method), names)
                owners = [self.move(one, name) for one, name in zip(given, names, strict=True)]
                return self.understand(owners)
        raise TypeError(f"{type(x).__name__} has no method of Arrow's")

    def ask(self, x: Any, method: str) -> Any:
        """Return the result of a method."""
        return getattr(x, method)()

    def capsules_of(self, found: Any, names: tuple[bytes, ...]) -> tuple[Any, ...]:
        """Return the capsules in the result of a method (ARROW-METHOD-1)."""
        given = found if len(names) > 1 else (found,)
        if not isinstance(given, tuple) or len(given) != len(names):
            raise TypeError(f"{found!r:.80} are no {len(names)} capsules")
        return given

    def move(self, capsule: Any, name: bytes) -> Owned:
        """Return the struct of a capsule, after moving it (ARROW-CAP-1, ARROW-CAP-2)."""
        if type(capsule) is not capsules.PyCapsule or self.name_of(capsule, name) != name:
            raise ValueError(f"{capsule!r:.80} is no capsule named {name!r}")
        address = int(capsules.capsule_pointer(capsule, capsules.capsule_name(capsule)))
        owned = Owned(name)
        ctypes.memmove(owned.address, address, ctypes.sizeof(owned.struct))
        self.mark(address + ARROW_RELEASE[name])
        self.check_alive(owned)
        return owned

    def name_of(self, capsule: Any, _due: bytes) -> bytes | None:
        """Return the name of a capsule."""
        found: bytes | None = capsules.capsule_name(capsule)
        return found

    def mark(self, release: int) -> None:
        """Mark the struct as released at the address of its callback."""
        ctypes.c_void_p.from_address(release).value = None

    def check_alive(self, owned: Owned) -> None:
        """Refuse a struct that was released or moved (ARROW-RELEASE-3)."""
        if owned.callback.value is None:
            raise ValueError(f"the {owned.name.decode()} is a released one")

    # ------------------------------------------------------------ streams

    def pull(self, stream: Owned) -> list[Owned]:
        """Return the schema and the chunks of a stream."""
        schema = Owned(ARROW_SCHEMA)
        self.call(stream, "get_schema", schema)
        self.check_alive(schema)
        found = [schema]
        while True:
            chunk = Owned(ARROW_CHUNK[stream.name])
            self.call(stream, "get_next", chunk)
            if self.is_end(chunk):
                self.finish(stream)
                return found
            found.append(chunk)

    def is_end(self, chunk: Owned) -> bool:
        """Return whether a chunk is the end of its stream (ARROW-STREAM-2)."""
        return chunk.callback.value is None

    def finish(self, stream: Owned) -> None:
        """Release a stream that has ended."""

    def call(self, stream: Owned, function: str, out: Owned) -> None:
        """Call a callback of a stream (ARROW-STREAM-1)."""
        address = getattr(stream.struct, function)
        if not address:
            raise ValueError(f"{function} is NULL")
        code = _Callback(address)(stream.address, out.address)
        if code:
            raise OSError(code, self.words(stream))

    def words(self, stream: Owned) -> str:
        """Return the error message of a stream."""
        said = _Words(stream.struct.get_last_error)(stream.address)
        return (said or b"").decode("utf-8", "replace")

    # ------------------------------------------------------------ understanding

    def understand(self, owners: list[Owned]) -> Taken:
        """Return the meaning of structs, with every field checked."""
        if owners[0].name in ARROW_CHUNK:
            owners = [*self.pull(owners[0]), owners[0]]
        schema, *others = owners
        chunks = [one for one in others if one.name not in ARROW_CHUNK]
        kind = read_type(schema.address)
        self.check_type(kind)
        for chunk in chunks:
            self.check_place(chunk)
        nodes = [read_array(chunk.address) for chunk in chunks]
        for node in nodes:
            self.check_array(kind, node)
        return self.taken(kind, nodes, owners)

    def taken(self, kind: Type, nodes: list[Node], owners: list[Owned]) -> Taken:
        """Return the columns."""
        return Taken(kind, nodes, owners)

    def check_place(self, chunk: Owned) -> None:
        """Refuse memory that cannot be accessed (ARROW-DEVICE-1)."""
        if isinstance(chunk.struct, ArrowDeviceArray) and chunk.struct.device_type not in _HOST:
            raise ValueError(f"device type {chunk.struct.device_type} is out of reach")

    def check_type(self, kind: Type) -> None:
        """Refuse an invalid type (ARROW-FORMAT-1, ARROW-FORMAT-2, ARROW-FORMAT-3)."""
        if kind.released:
            raise ValueError("a type below is a released one")
        said = parse_format(self.format_of(kind))
        self.check_metadata(kind)
        self.check_children(kind, said.children)
        for child in (*kind.children, kind.dictionary):
            if child is not None:
                self.check_type(child)

    def format_of(self, kind: Type) -> str:
        """Return a format string."""
        if kind.format is None:
            raise ValueError("the format is NULL")
        return kind.format.decode()

    def check_metadata(self, kind: Type) -> None:
        """Refuse invalid metadata."""
        decode_metadata(kind.metadata or 0)

    def check_children(self, one: Type | Node, due: int) -> None:
        """Refuse a wrong number of children."""
        if one.n_children < 0 or due not in (ANY, one.n_children) or None in one.children:
            raise ValueError(f"{one.n_children} children, due: {due}")
        if len(one.children) != one.n_children:
            raise ValueError("there is no vector of children")

    def check_array(self, kind: Type, node: Node) -> None:
        """Refuse an array that does not match its type."""
        said = parse_format(self.format_of(kind))
        if node.released or (kind.dictionary is None) != (node.dictionary is None):
            raise ValueError("an array is a released one, or has a dictionary more or less")
        self.check_children(node, said.children)
        self.check_buffers(kind, node, said.buffers)
        self.check_lengths(node)
        self.check_offsets(kind, node)
        size = said.size if said.kind == "fixed_size_list" else 1
        for child, below in zip(kind.children, node.children, strict=True):
            if child is None or below is None:
                raise ValueError("a child is NULL")
            if said.kind in {"fixed_size_list", "struct"}:
                self.check_child(below, size * (node.offset + node.length))
            self.check_array(child, below)

    def check_buffers(self, kind: Type, node: Node, due: int) -> None:
        """Refuse missing buffers (ARROW-FORMAT-2, ARROW-BUFFER-1)."""
        if node.n_buffers < 0 or due not in (ANY, node.n_buffers):
            raise ValueError(f"{node.n_buffers} buffers, due: {due}")
        if node.length > 0:
            self.check_memory(kind, node, due)

    def check_memory(self, kind: Type, node: Node, due: int) -> None:
        """Refuse an array of elements without memory."""
        if len(node.buffers) != node.n_buffers:
            raise ValueError("there is no vector of buffers")
        if due > 1 and node.buffers[1] is None:
            raise ValueError(f"the data of format {kind.text!r} are NULL")
        if node.null_count > 0 and due and node.buffers[0] is None:
            raise ValueError(f"{node.null_count} nulls, and no validity")

    def check_offsets(self, kind: Type, node: Node) -> None:
        """Refuse lists that are no ranges of the child (ARROW-OFFSET-1, ARROW-OFFSET-2)."""
        letter = _LISTS.get(kind.text)
        if letter is None or node.length <= 0 or None in node.buffers[1:]:
            return
        is_view, count = "v" in kind.text, node.offset + node.length
        vectors = [
            struct.unpack(
                f"={size}{letter}", ctypes.string_at(address, size * struct.calcsize(letter))
            )
            for address, size in zip(node.buffers[1:], (count + (not is_view), count), strict=False)
            if address is not None
        ]
        starts = vectors[0][node.offset :]
        ends = [a + b for a, b in zip(*vectors, strict=True)] if is_view else vectors[0][1:]
        pairs = list(zip(starts, ends[node.offset :], strict=False))
        child = node.children[0] if node.children else None
        most = 0 if child is None else child.length
        if any(not 0 <= start <= end <= most for start, end in pairs):
            raise ValueError(f"lists are at {pairs} in a child of {most} elements")

    def check_lengths(self, node: Node) -> None:
        """Refuse invalid lengths (ARROW-LENGTH-1)."""
        if node.length < 0 or node.offset < 0 or node.length + node.offset >= _END:
            raise ValueError(f"length {node.length}, offset {node.offset}")

    def check_child(self, below: Node, due: int) -> None:
        """Refuse a child that is too short (ARROW-LENGTH-2)."""
        if below.length < due:
            raise ValueError(f"a child of {below.length} elements, due: {due}")

    # ------------------------------------------------------------ reading

    def read(self, taken: Taken) -> list[Any]:
        """Return the elements; for a table those of its column."""
        found = [one for node in taken.chunks for one in self.elements(taken.kind, node)]
        if taken.kind.text == "+s":
            return [next(iter(row.values())) for row in found]
        return found

    def elements(self, kind: Type, node: Node) -> list[Any]:
        """Return the elements of a chunk."""
        return elements(kind, node)


def changed(**steps: Any) -> Subject:
    """Return the subject of a consumer with some steps replaced, each by ``f(consumer, ...)``."""
    consumer: Any = type("Changed", (ArrowConsumer,), steps)()
    return Subject("an importer", take_arrow=consumer.take, read_arrow=consumer.read)


def honest_arrow_consumer() -> Subject:
    """Return the honest counterpart: it keeps every rule."""
    return changed()


arrow_consumer_mutant = partial(mutant, counterpart=honest_arrow_consumer, build=replacing(changed))
