"""Arrow structs in the ctypes core: moved out of capsules, taken from streams, owned.

Source: The Arrow C data interface, Release callback semantics and Moving an array; C stream
interface; PyCapsule interface, Lifetime Semantics; CPython, where signal handlers run.  Ownership
works as for managed tensors (`_owners`).
"""

from __future__ import annotations

import ctypes
import struct
from _ctypes import FUNCFLAG_CDECL, CFuncPtr
from array import array
from functools import partial
from operator import add, sub
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import BackendUnavailableError, show
from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_CHUNK,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
    ArrowArray,
)
from interchange.abi.rules import BrokenRule

from ._owners import (
    HAS_GIL,
    NOTHING,
    ManagedTensorOwner,
    deleters,
    keep_deleter,
    one_at_a_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from interchange.abi.arrow import ArrowColumn, ArrowField

_new_object: Final = object.__new__


class ArrowOwner(ManagedTensorOwner):
    """Owns one Arrow struct: calls its release callback once, on request or when destroyed.

    The finaliser is ``partial(release, struct)``.
    """

    __slots__ = ("_name", "_struct", "address")

    _name: bytes  # of the capsules of these structs
    _struct: ctypes.Structure
    address: int  # address of the struct, which lives as long as the owner
    __del__: Callable[[], object]

    def release(self, _nothing: Any = NOTHING) -> None:
        """Call the release callback now, even if there are other references to the owner."""
        self.__del__, release = _nothing, self.__del__
        release()

    def __reduce__(self) -> str:
        raise TypeError("an owner of memory cannot be copied or pickled")


def new_arrow(name: bytes) -> ArrowOwner:
    """Return the owner of a zeroed struct, which `call_stream` fills."""
    return _owner_of(ARROW_STRUCTS[name](), name)


def _owner_of(struct: ctypes.Structure, name: bytes) -> ArrowOwner:
    """Return an owner of a struct that is not owned yet, hidden from the garbage collector."""
    owner = _new_object(ArrowOwner)
    owner.__del__ = NOTHING
    owner._name = name
    owner._struct = struct
    owner.address = ctypes.addressof(struct)
    capsules.hide_from_collector(owner)
    return owner


def _release_of(address: int, name: bytes) -> ctypes.c_void_p:
    """Return the field of the release callback of a struct."""
    return ctypes.c_void_p.from_address(address + ARROW_RELEASE[name])


def _finaliser(release: int, struct: ctypes.Structure) -> Callable[[], object]:
    """Return a finaliser in C that calls a release callback with its struct."""
    return partial(deleters.get(release) or keep_deleter(release), ctypes.byref(struct))


def take_arrow(capsule: Any, name: bytes) -> ArrowOwner:
    """Move the struct out of a capsule of that name (ARROW-CAP-2).

    All steps that can fail come before the claim.  The claim is one line without a call, which
    neither a signal handler nor another thread can interrupt: the first caller sets the callback to
    NULL.
    """
    cell = ctypes.py_object(capsule)
    try:
        address = capsules.fast_pointer(cell, name)
    except ValueError:
        raise refuse_arrow(capsule, name) from None
    place = _release_of(address, name)
    release = place.value
    if not release:
        raise refuse_arrow(capsule, name)
    struct = ARROW_STRUCTS[name].from_buffer_copy(ARROW_STRUCTS[name].from_address(address))
    owner, own = _owner_of(struct, name), _finaliser(release, struct)
    owner.__del__, place.value = (own, None) if place.value == release else (NOTHING, place.value)
    if owner.__del__ is NOTHING:
        raise refuse_arrow(capsule, name)
    return owner


if not HAS_GIL:
    take_arrow = one_at_a_time(take_arrow)


def refuse_arrow(capsule: object, name: bytes) -> BrokenRule:
    """Return why no struct could be moved."""
    wanted = name.decode()
    if type(capsule) is not capsules.PyCapsule:
        return BrokenRule("ARROW-CAP-1", f"{show(capsule)} is no capsule {wanted!r}")
    found = capsules.capsule_name(capsule)
    if found != name:
        said = None if found is None else found.decode("latin-1")
        return BrokenRule("ARROW-CAP-1", f"the capsule is named {show(said)}, not {wanted!r}")
    return BrokenRule("ARROW-RELEASE-3", f"release is NULL in a capsule {wanted!r}")


# ---------------------------------------------------------------- streams


class _WithoutGIL(CFuncPtr):
    """A C function that is called without the GIL."""

    _flags_ = FUNCFLAG_CDECL
    _restype_ = ctypes.c_int


_GET: Final = {"schema": "get_schema", "next": "get_next", "error": "get_last_error"}


def _function_of(stream: ArrowOwner, what: str) -> _WithoutGIL | None:
    """Return a function of a stream, None if it is NULL; raise if the stream is released."""
    if stream._name not in ARROW_CHUNK:
        raise TypeError(f"{stream._name.decode()!r} is not a stream")
    if not _release_of(stream.address, stream._name).value:
        raise refuse_stream(stream._name, None)
    address = getattr(stream._struct, _GET[what])
    return _WithoutGIL(address) if address else None


def refuse_stream(name: bytes | None, what: str | None) -> BrokenRule:
    """Return the error of a released stream, or of a function that is NULL."""
    if name is not None:
        return BrokenRule("ARROW-RELEASE-3", f"release is NULL in a struct {name.decode()!r}")
    return BrokenRule("ARROW-STREAM-1", f"{_GET[what or '']} is NULL")


def call_stream(stream: ArrowOwner, what: Literal["schema", "next"], out: ArrowOwner) -> int:
    """Call a stream to fill the struct of `out`, and return its errno.

    The result is owned before a signal handler can run, as in `_owners.claim`.
    """
    function = _function_of(stream, what)
    if out._name != (ARROW_SCHEMA if what == "schema" else ARROW_CHUNK[stream._name]):
        found, given = out._name.decode(), stream._name.decode()
        raise TypeError(f"{found!r} is not the kind of struct that {given!r} returns")
    if function is None:
        raise refuse_stream(None, what)
    out.release()
    struct, place = out._struct, _release_of(out.address, out._name)
    code: int | None = None
    ctypes.memset(out.address, 0, ctypes.sizeof(struct))
    called = map(function, (ctypes.byref(stream._struct),), (ctypes.byref(struct),))
    try:
        (code,) = called
        release = place.value
        if code == 0 and release:
            out.__del__ = _finaliser(release, struct)
    except BaseException:
        release = place.value
        if not code and release and out.__del__ is NOTHING:
            capsules.fast_deleter(release)(ctypes.byref(struct))
        raise
    if code:
        ctypes.memset(out.address, 0, ctypes.sizeof(struct))  # on errors the struct is undefined
    return code


def take_chunks(stream: ArrowOwner, chunks: list[ArrowOwner]) -> int:
    """Add all further chunks of a stream to a list, and return the errno of its last call."""
    while True:
        chunk = new_arrow(ARROW_CHUNK[stream._name])
        code = call_stream(stream, "next", chunk)
        if code or not _release_of(chunk.address, chunk._name).value:
            return code
        if chunks and not _length_of(chunk):
            chunk.release()
        elif len(chunks) == 1 and not _length_of(chunks[0]):
            chunks.pop().release()
            chunks.append(chunk)
        else:
            chunks.append(chunk)


def _length_of(chunk: ArrowOwner) -> int:
    """Return the number of elements of a chunk."""
    length: int = ArrowArray.from_address(chunk.address).length
    return length


def plain_blocks(
    chunks: list[ArrowOwner], each: tuple[int, ...], itemsize: int
) -> tuple[int, bytes] | None:
    """Return None: chunks are read one by one."""
    del chunks, each, itemsize
    return None


def stream_error(stream: ArrowOwner) -> str | None:
    """Return the last error of a stream, or None."""
    function = _function_of(stream, "error")
    if function is None:
        return None
    function.restype = ctypes.c_char_p
    said: bytes | None = function(ctypes.byref(stream._struct))
    return None if said is None else said.decode("utf-8", errors="replace")


# ---------------------------------------------------------------- exports


def make_arrow(
    field: ArrowField, column: ArrowColumn, keep: object, device: tuple[int, int, int] | None
) -> tuple[Any, Any]:
    """Refuse: a release callback has to be native code, which this core does not have."""
    del field, column, keep, device
    raise refuse_exports()


def make_arrow_batches(field: ArrowField, step: Any, /) -> Any:
    """Refuse likewise."""
    del field, step
    raise refuse_exports()


def make_arrow_schema(field: ArrowField) -> Any:
    """Refuse likewise."""
    del field
    raise refuse_exports()


def make_arrow_stream(
    field: ArrowField,
    column: ArrowColumn,
    keep: object,
    device: tuple[int, int, int] | None = None,
) -> Any:
    """Refuse likewise."""
    del field, column, keep, device
    raise refuse_exports()


def plain_column(x: Any) -> tuple[Any, bytes] | None:
    """Return None: this core exports nothing."""
    del x
    return None


def arrow_type(field: ArrowField) -> Any:
    """Refuse likewise."""
    del field
    raise refuse_exports()


def export_plain(array: Any, schema: ArrowOwner, name: bytes, /) -> tuple[Any, Any] | None:
    """Refuse likewise."""
    del array, schema, name
    raise refuse_exports()


def refuse_exports() -> BackendUnavailableError:
    """Return the error of exports to Arrow in this core."""
    what = "the ctypes core is in use, which has no release callbacks in C"
    return BackendUnavailableError("to_arrow()", what, "ARROW-CORE-1")


# ---------------------------------------------------------------- offsets of lists


def _offsets_at(address: int, count: int, width: int) -> memoryview:
    """Return a copy of the offsets at an address, which may be unaligned."""
    return memoryview(ctypes.string_at(address, count * width)).cast("i" if width == 4 else "q")


def scan_offsets(offsets: int, count: int, width: int) -> tuple[int, int, int, int]:
    """Return the bounds, the common length, and the first invalid list."""
    found = _offsets_at(offsets, count + 1, width).tolist()
    sizes = list(map(sub, found[1:], found))
    step = sizes[0] if sizes.count(sizes[0]) == count else -1
    if found[0] < 0 or min(sizes) < 0:
        bad = next(i for i in range(count) if found[i] < 0 or sizes[i] < 0)
        return found[bad], found[bad + 1], -1, bad
    return found[0], found[-1], step, -1


def scan_views(offsets: int, sizes: int, count: int, width: int) -> tuple[int, int, int, int]:
    """Return the bounds, the common length, and the first invalid list with offset and size."""
    starts = _offsets_at(offsets, count, width).tolist()
    lengths = _offsets_at(sizes, count, width).tolist()
    ends = list(map(add, starts, lengths))
    most = 2 ** (8 * width - 1) - 1
    if min(starts) < 0 or min(lengths) < 0 or max(ends) > most:
        rows = enumerate(zip(starts, lengths, ends, strict=True))
        bad = next(i for i, (start, size, end) in rows if start < 0 or size < 0 or end > most)
        return starts[bad], lengths[bad], -1, bad
    step = lengths[0] if lengths.count(lengths[0]) == count else -1
    if step and starts[1:] != ends[:-1]:
        step = -1
    return min(starts), max(ends), step, -1


_INLINED: Final = 12  # text of at most that length is in the view [bytes]


def measure_views(
    views: int, count: int, bitmap: int, first: int, sizes: bytes, offsets: int
) -> int:
    """Write the offsets of the texts of views, and return the index of the first invalid one."""
    limits, total, found = memoryview(sizes).cast("q"), 0, array("q", [0])
    bits = ctypes.string_at(bitmap, (first + count + 7) >> 3) if bitmap and count else None
    for place, (size, _, buffer, start) in enumerate(_views_at(views, count)):
        if bits is not None and not bits[first + place >> 3] >> (first + place & 7) & 1:
            size = 0  # noqa: PLW2901 - a null text is empty
        if size < 0:
            return place
        is_inlined = size <= _INLINED
        if not (is_inlined or (0 <= buffer < len(limits) and 0 <= start <= limits[buffer] - size)):
            return place
        total += size
        found.append(total)
    ctypes.memmove(offsets, found.tobytes(), 8 * len(found))
    return -1


def join_views(views: int, count: int, buffers: bytes, offsets: int, target: int) -> None:
    """Write the texts of views one after the other."""
    places = memoryview(buffers).cast("Q")
    ends = _offsets_at(offsets, count + 1, 8).tolist()
    for place, (_, _, buffer, start) in enumerate(_views_at(views, count)):
        size = ends[place + 1] - ends[place]
        source = views + 16 * place + 4 if size <= _INLINED else places[buffer] + start
        ctypes.memmove(target + ends[place], source, size)


def _views_at(address: int, count: int) -> Iterator[tuple[int, int, int, int]]:
    """Return the four numbers of each view; for inlined text the last three are its bytes."""
    raw = ctypes.string_at(address, 16 * count) if count else b""
    return struct.iter_unpack("=4i", raw)


def shift_offsets(source: int, target: int, count: int, width: int, by: int) -> bool:
    """Write offsets plus a number to other memory, and return whether all fit."""
    given = _offsets_at(source, count, width).tolist()
    found = [value + by for value in given]
    if min(given + found, default=0) < 0 or max(found, default=0) >= 2 ** (8 * width - 1):
        return False
    ctypes.memmove(target, array("i" if width == 4 else "q", found).tobytes(), count * width)
    return True


def write_offsets(out: int, width: int, count: int, source: int, step: int, /) -> None:
    """Write offsets of the other width at `source`, or multiples of `step`."""
    given = _offsets_at(source, count, 12 - width) if source else (i * step for i in range(count))
    ctypes.memmove(out, array("i" if width == 4 else "q", given).tobytes(), count * width)
