"""Build Arrow structs in memory from descriptions, and record their releases.

Source: the Arrow C data, C stream and C device data interfaces; PyCapsule interface.  No callback
is a Python function (DLP-LIFE-4): the callbacks, and the destructors of the capsules, are functions
of ``arrow_structs.c``.  Structs are never freed, so that a second release is counted and does not
crash.
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
    ArrowArray,
    ArrowSchema,
)
from interchange_conformance.zoo import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .description import Chunk, Field, Flow, Place

_SOURCE: Final = "arrow_structs.c"
_LEAVES_RELEASE, _FORGETS_CHILDREN = 1, 2
_SPARE: Final = 4
_MOST_SCHEMAS: Final = 16  # that one stream returns, each of which is released separately
_kept: Final[set[Loan]] = set()
# Capsules may outlive this module: their structs must exist when they die at exit.
capsules.increase_reference(_kept)


class _Ledger(ctypes.Structure):
    """The C ``struct ledger``."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in (
            "releases", "without_gil", "in_flight", "order", "manners", "n_below"
        )),
        ("below", ctypes.c_void_p),
        ("spoiled", ctypes.c_void_p),
        ("spoiled_size", ctypes.c_int64),
    )  # fmt: skip


class _StreamLedger(ctypes.Structure):
    """The C ``struct stream_ledger``."""

    _fields_ = (
        ("base", _Ledger),
        ("n_schemas", ctypes.c_int64),
        ("schemas_given", ctypes.c_int64),
        ("schemas", ctypes.c_void_p),
        ("n_chunks", ctypes.c_int64),
        ("chunks_given", ctypes.c_int64),
        ("chunks", ctypes.c_void_p),
        ("chunk_size", ctypes.c_int64),
        ("chunk_release", ctypes.c_int64),
        ("schema_error", ctypes.c_int64),
        ("next_error", ctypes.c_int64),
        ("fails_at", ctypes.c_int64),
        ("message", ctypes.c_char_p),
        *((name, ctypes.c_int64) for name in (
            "schema_calls", "next_calls", "error_calls", "stray_calls", "has_failed"
        )),
    )  # fmt: skip


class _Header(ctypes.Structure):
    """The C ``struct header``."""

    _fields_ = (
        ("release", ctypes.c_int64),
        ("destroyed", ctypes.c_int64),
        ("callback", ctypes.c_void_p),
        ("none", ctypes.c_void_p),
    )


def _function(name: str) -> int:
    """Return the address of a callback."""
    return compiled.function_address(_SOURCE, name)


class _count:  # noqa: N801 - used like `property`
    """An attribute that reads the field of a ledger with the same name."""

    def __init__(self, doc: str, *, of: str = "_ledger") -> None:
        self.__doc__, self._of = doc, of

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, loan: Loan, _: type | None = None) -> int:
        return int(getattr(getattr(loan, self._of), self._name))


class Loan:
    """One exported struct, and its state.

    Attributes
    ----------
    name : bytes
        The name of the capsule.
    struct : ctypes.Structure
        The struct at its original place; a consumer moves it.
    address : int
        Address of the struct.
    below : tuple[Loan, ...]
        The structs of its children and of its dictionary.
    due : int
        How often it should be released: 0 if its callback is NULL.
    """

    def __init__(self, name: bytes, below: Sequence[Loan] = ()) -> None:
        kind = ARROW_STRUCTS[name]
        self.name: bytes = name
        self.below: tuple[Loan, ...] = tuple(below)
        self.due: int = 0
        self._block = ctypes.create_string_buffer(ctypes.sizeof(_Header) + ctypes.sizeof(kind))
        self._header = _Header.from_buffer(self._block)
        self._header.release = ARROW_RELEASE[name]
        self.struct: Any = kind.from_buffer(self._block, ctypes.sizeof(_Header))
        self.address: int = ctypes.addressof(self.struct)
        self._made: Any = _StreamLedger() if name in ARROW_CHUNK else _Ledger()
        self._ledger: Any = self._made.base if name in ARROW_CHUNK else self._made
        self._parts: list[Any] = []
        self._ledger.n_below = len(self.below)
        self._ledger.below = self.keep(_pointers(one.address for one in self.below))
        _kept.add(self)

    def keep(self, part: Any) -> int:
        """Keep a part of the struct, and return its address."""
        self._parts.append(part)
        return ctypes.addressof(part)

    def hold(self, memory: object) -> None:
        """Keep the memory of the buffers alive."""
        self._parts.append(memory)

    def give_callback(self, name: str, *, sets_release: bool, releases_below: bool = True) -> None:
        """Set release and private_data."""
        array = self.struct.array if self.name == ARROW_DEVICE_ARRAY else self.struct
        array.release = self._header.callback = _function(name)
        array.private_data = ctypes.addressof(self._made)
        self.due = 1
        self._ledger.manners = (0 if sets_release else _LEAVES_RELEASE) | (
            0 if releases_below else _FORGETS_CHILDREN
        )

    def spoil(self, place: tuple[int, int] | None) -> None:
        """Overwrite memory during the first release: address and size [bytes]."""
        if place is not None:
            self._ledger.spoiled, self._ledger.spoiled_size = place

    def capsule(self, name: bytes | None, *, destructor: str | None = "destroy") -> Any:
        """Return a capsule of this struct.

        Parameters
        ----------
        name : bytes or None
            Name of the capsule, never freed; None for NULL.
        destructor : {"destroy", "destroy_always"} or None
            A correct one, one that also releases a struct that was moved, or none.
        """
        if name is not None:
            capsules.increase_reference(name)
        function = None if destructor is None else _function(destructor)
        return capsules.new_capsule(self.address, name, function)

    releases: _count = _count(
        "How often its release callback has run, also after the struct was moved."
    )
    without_gil: _count = _count("How often it was released by a thread that did not hold the GIL.")
    in_flight: _count = _count("How often it was released while an exception was set.")
    order: _count = _count(
        "Position of its first release among those of all structs; 0 if not released."
    )

    @property
    def alive(self) -> bool:
        """Whether it has not been released."""
        return self.releases == 0

    @property
    def moved(self) -> bool:
        """Whether the original struct is marked released without having been released."""
        return self.alive and self.marked

    @property
    def marked(self) -> bool:
        """Whether the original struct is marked released."""
        release = ctypes.c_void_p.from_address(self.address + ARROW_RELEASE[self.name])
        return not release.value

    @property
    def destroyed(self) -> bool:
        """Whether the destructor of its capsule has run."""
        return bool(self._header.destroyed)

    def forget(self) -> None:
        """Free the struct and its children, if no reference to them is left."""
        _kept.discard(self)
        for one in self.below:
            one.forget()


def _pointers(addresses: Iterable[int | None]) -> Any:
    """Return an array of pointers, followed by NULLs, so that an overrun always reads the same."""
    given = [address or None for address in addresses]
    return (ctypes.c_void_p * (len(given) + _SPARE))(*given)


def _below(loans: Iterable[Loan | None]) -> list[Loan]:
    """Return those that are not None."""
    return [one for one in loans if one is not None]


def _text(loan: Loan, text: str | bytes | None) -> int | None:
    """Return the address of a NUL-terminated text."""
    if text is None:
        return None
    return loan.keep(ctypes.create_string_buffer(text.encode() if isinstance(text, str) else text))


def make_schema(said: Field) -> Loan:
    """Return the struct of a schema.

    Parameters
    ----------
    said : Field
        Its fields.
    """
    children = [None if child is None else make_schema(child) for child in said.children]
    dictionary = None if said.dictionary is None else make_schema(said.dictionary)
    loan = Loan(ARROW_SCHEMA, _below([*children, dictionary]))
    struct = loan.struct
    struct.format, struct.name = _text(loan, said.format), _text(loan, said.name)
    struct.metadata, struct.flags = _text(loan, said.metadata), said.flags
    _hang_below(loan, ArrowSchema, said, children, dictionary)
    if said.release:
        loan.give_callback(
            "release_schema", sets_release=said.sets_release, releases_below=said.releases_below
        )
    return loan


def make_array(said: Chunk, place: Place | None = None) -> Loan:
    """Return the struct of an array.

    Parameters
    ----------
    said : Chunk
        Its fields.
    place : Place, optional
        The additional fields of a device struct.
    """
    children = [None if child is None else make_array(child) for child in said.children]
    dictionary = None if said.dictionary is None else make_array(said.dictionary)
    name = ARROW_ARRAY if place is None else ARROW_DEVICE_ARRAY
    loan = Loan(name, _below([*children, dictionary]))
    struct = loan.struct
    if place is not None:
        struct.device_type, struct.device_id, struct.sync_event = place.type, place.id, place.event
        struct.reserved[0] = place.reserved
        struct = struct.array
    struct.length, struct.null_count, struct.offset = said.length, said.null_count, said.offset
    struct.n_buffers = len(said.buffers) if said.n_buffers is None else said.n_buffers
    if said.has_buffers:
        address = loan.keep(_pointers(said.buffers))
        struct.buffers = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    _hang_below(loan, ArrowArray, said, children, dictionary)
    loan.spoil(said.spoils)
    if said.release:
        loan.give_callback(
            "release_array", sets_release=said.sets_release, releases_below=said.releases_below
        )
    loan.hold(said.memory)
    return loan


def _hang_below(
    loan: Loan,
    kind: Any,
    said: Field | Chunk,
    children: list[Loan | None],
    dictionary: Loan | None,
) -> None:
    """Store children and dictionary in a struct."""
    struct = loan.struct.array if loan.name == ARROW_DEVICE_ARRAY else loan.struct
    struct.n_children = len(children) if said.n_children is None else said.n_children
    if said.has_children and children:
        address = loan.keep(
            _pointers(None if child is None else child.address for child in children)
        )
        struct.children = ctypes.cast(address, ctypes.POINTER(ctypes.POINTER(kind)))
    if dictionary is not None:
        struct.dictionary = ctypes.cast(dictionary.address, ctypes.POINTER(kind))


class StreamLoan(Loan):
    """An exported stream, and the calls of its callbacks."""

    def __init__(
        self, field: Field, chunks: Sequence[Chunk], flow: Flow, place: Place | None = None
    ) -> None:
        super().__init__(ARROW_ARRAY_STREAM if place is None else ARROW_DEVICE_ARRAY_STREAM)
        self._schemas = [make_schema(field) for _ in range(_MOST_SCHEMAS)]
        self._chunks = [make_array(chunk, place) for chunk in chunks]
        self._write_ledger(flow)
        device = "" if place is None else "_device"
        if place is not None:
            self.struct.device_type = place.type
        if flow.has_get_schema:
            self.struct.get_schema = _function(f"get{device}_schema")
        if flow.has_get_next:
            self.struct.get_next = _function(f"get_next{device}")
        if flow.has_get_last_error:
            self.struct.get_last_error = _function(f"get_last{device}_error")
        if flow.release:
            self.give_callback(f"release{device}_stream", sets_release=flow.sets_release)

    def _write_ledger(self, flow: Flow) -> None:
        """Record the chunks to return, and the calls that fail."""
        ledger, chunk = self._made, ARROW_CHUNK[self.name]
        ledger.n_schemas, ledger.n_chunks = len(self._schemas), len(self._chunks)
        ledger.schemas = self.keep(_pointers(one.address for one in self._schemas))
        ledger.chunks = self.keep(_pointers(one.address for one in self._chunks))
        ledger.chunk_size = ctypes.sizeof(ARROW_STRUCTS[chunk])
        ledger.chunk_release = ARROW_RELEASE[chunk]
        ledger.schema_error, ledger.next_error = flow.schema_error, flow.next_error
        ledger.fails_at, ledger.message = flow.fails_at, flow.message

    @property
    def given(self) -> tuple[Loan, ...]:
        """The schemas and chunks that it returned, each of which is to be released separately."""
        ledger = self._made
        schemas = self._schemas[: ledger.schemas_given]
        return (*schemas, *self._chunks[: ledger.chunks_given])

    schema_calls: _count = _count("How often ``get_schema`` was called.", of="_made")
    next_calls: _count = _count("How often ``get_next`` was called.", of="_made")
    error_calls: _count = _count("How often ``get_last_error`` was called.", of="_made")
    stray_calls: _count = _count(
        "Number of forbidden calls of callbacks: after release, or without an error.", of="_made"
    )

    def forget(self) -> None:
        """Permit the structs to be freed."""
        super().forget()
        for one in (*self._schemas, *self._chunks):
            one.forget()
