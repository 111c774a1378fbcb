"""Elements picked and written: views by basic indices, copies by integer arrays and masks.

Source: array API standard 2025.12, Indexing.  A basic index always gives a view, whoever makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._terms.devices import CPU
from interchange._terms.errors import ArgumentError, OutOfBoundsError, show

from .computing import as_scalar, foreign, is_foreign, mixed, operand
from .elements import INTEGERS
from .halves import computing_with, library_of, native_or_none, sharing_with, wrap
from .operators import check_shared, check_writable

if TYPE_CHECKING:
    from interchange._backends.backend import Backend

    from .array import Array

_GET = "Array.__getitem__()"
_SET = "Array.__setitem__()"


def select(array: Array, key: Any) -> Array:
    """Return the elements that a key selects: a view by a basic index, a copy by arrays."""
    cls = type(array)
    parts = key if type(key) is tuple else (key,)
    if any(type(part) is cls for part in parts):
        parts = tuple(_as_int(part, array) for part in parts)
        key = parts
    if any(type(part) is cls for part in parts):
        backend, native = computing_with(array)
        return wrap(native[_native_key(array, parts, backend, _GET)], backend, cls)
    native = native_or_none(array) if _is_plain(array) else None
    if native is not None and library_of(array).keeps_readonly and all(map(_is_basic, parts)):
        found = _view_of_native(array, native, parts)
        if found is not None:
            return found
    _check_ours(parts, _GET)
    layout, offset = array._spec.layout.index(key)
    return array._view(layout, offset, _GET)


def _as_int(part: Any, array: Array) -> Any:
    """Return an Array of one whole number without axes as an int, which selects a view."""
    if type(part) is not type(array) or part.shape or part.dtype.kind not in INTEGERS:
        return part
    if library_of(part).device is not library_of(array).device:
        raise mixed(_GET, array.device, part.device)
    return part.__index__()


_RANKS: Final = {
    "bool": 0,
    "unsigned integer": 1,
    "signed integer": 1,
    "real floating-point": 2,
    "complex floating-point": 3,
}
"""Kind of elements -> how much they can hold; a kind that is not here is not looked at."""
_RANKS_OF_NUMBERS: Final = ((bool, 0), (int, 1), (float, 2), (complex, 3))


def _check_kind(array: Array, value: Any) -> None:
    """Refuse to write what elements of that kind cannot hold, rather than cut it off.

    Raises
    ------
    ArgumentError
        Such as a fraction among integers (IX-XP-4).
    """
    if type(value) is type(array):
        kind, said = value.dtype.kind, str(value.dtype)
        rank = _RANKS.get(kind, 0)
    else:
        number, said = as_scalar(value), show(value)
        ranks = (rank for kind, rank in _RANKS_OF_NUMBERS if isinstance(number, kind))
        rank = next(ranks, 0)
    if rank > _RANKS.get(array.dtype.kind, 3):
        what = f"{said} among elements of {array.dtype}"
        raise ArgumentError(_SET, what, "IX-XP-4", "cast with xp.astype() first")


def _may_overlap(array: Array, other: Array) -> bool:
    """Whether two arrays may share memory."""
    (low, high), (start, end) = (
        tuple(x.ptr + bound for bound in x._spec.layout.byte_bounds(x.itemsize))
        for x in (array, other)
    )
    return bool(low < end and start < high)


def _is_plain(array: Array) -> bool:
    """Whether the library describes memory as we do: the host's, with flags that are known."""
    return array._flags is not None and (array._known is None or array._known.device is CPU)


def _is_basic(part: object) -> bool:
    """Whether a part of a key is certainly basic, for a library to see."""
    kind = type(part)
    return kind is int or kind is slice or part is None or part is Ellipsis


def _view_of_native(array: Array, native: Any, parts: tuple[Any, ...]) -> Array | None:
    """Return a view that the library makes, or None where it refuses the key."""
    # With an Ellipsis the library gives an array, and not a scalar, for one element.
    wanted = parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)
    try:
        found = native[wanted]
    except (IndexError, TypeError, ValueError):
        return None  # worded by whoever makes views of descriptions
    view = wrap(found, library_of(array), type(array), array)
    view._owner = array._owner
    return view


def _check_ours(parts: tuple[Any, ...], call: str) -> None:
    """Refuse arrays of others as indices."""
    for part in parts:
        if is_foreign(part) and getattr(part, "ndim", None):
            raise foreign(call, part)


def _native_key(
    array: Array, parts: tuple[Any, ...], backend: Backend, call: str
) -> tuple[Any, ...]:
    """Return a key for the library."""
    cls = type(array)
    others = tuple(part for part in parts if type(part) is not cls)
    _check_ours(others, call)
    for part in others:
        if not _is_basic(part) and type(as_scalar(part)) is not int:
            raise OutOfBoundsError(call, f"index {show(part)} selects nothing", "IX-INDEX-1")
    return tuple(operand(part, backend, cls, call) if type(part) is cls else part for part in parts)


def assign(array: Array, key: Any, value: Any) -> None:
    """Write a scalar or the elements of an Array to what a key selects.

    Raises
    ------
    ReadOnlyError
        The memory is read-only, or not known to be writable (DLP-RO-3).
    ArgumentError
        The library's arrays are never written (IX-XP-5); `value` is no Array and no number
        (IX-XP-1).
    """
    (backend, native), cls = sharing_with(array), type(array)
    if not backend.is_mutable:
        raise ArgumentError(_SET, f"{backend.name} computes on {array.device}", "IX-XP-5")
    check_writable(array, _SET)
    check_shared(array, native, backend, _SET)
    parts = key if type(key) is tuple else (key,)
    _check_kind(array, value)
    elements = operand(value, backend, cls, _SET)
    if type(value) is cls and not backend.keeps_readonly and _may_overlap(array, value):
        elements = backend.copy(elements)  # what is written must not be read again
    native[_native_key(array, parts, backend, _SET)] = elements
    backend.note_written(array)
