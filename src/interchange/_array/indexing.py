"""Reading and writing of elements: views by basic indices, copies by integer arrays and masks.

Source: array API standard 2025.12, Indexing.  A basic index always gives a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.host import import_array_interface
from interchange._streams.pending import pending_work_of
from interchange._types.errors import ArgumentError, BackendUnavailableError, show

from .copies import COPIED_BY_DRIVERS
from .host_copies import may_overlap
from .index_keys import is_basic, is_ndarray, pick, put, read_part
from .native_arrays import backend_of_array, computing_with, ndarray_of, sharing_with, wrap
from .operands import SCALARS, as_scalar, operand
from .operators import check_shared, check_writable

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._libraries.backend import Backend

    from .array_base import ArrayBase

    T = TypeVar("T", bound="ArrayBase")

_GET = "Array.__getitem__()"
_SET = "Array.__setitem__()"


def select(array: T, key: Any) -> T:
    """Return the elements that a key selects: a view for a basic index, a copy for arrays."""
    parts = key if type(key) is tuple else (key,)
    if not all(map(is_basic, parts)):
        key = parts = tuple(read_part(part, array, _GET) for part in parts)
        if not all(map(is_basic, parts)):
            library_array = computing_with(array)
            return wrap(pick(array, library_array, parts, _GET), library_array[0], type(array))
    native = ndarray_of(array) if array._flags is not None else None
    if native is not None:
        view = _view_of_native(array, native, parts)
        if view is not None:
            return view
    layout, offset = array._spec.layout.index(key)
    return array._view(layout, offset, _GET)


_RANKS: Final[dict[str | None, int]] = {
    "bool": 0,
    "unsigned integer": 1,
    "signed integer": 1,
    "real floating": 2,
    "complex floating": 3,
}
"""Category of elements -> its rank among the categories; others are not compared."""
_RANKS_OF_NUMBERS: Final = ((bool, 0), (int, 1), (float, 2), (complex, 3))
_WIDE: Final = {1: "int64", 2: "float64", 3: "complex128"}
"""Rank of a category -> its widest type."""


def _check_kind(array: ArrayBase, value: Any) -> None:
    """Refuse to write values that the element type cannot hold, rather than truncate them.

    Raises ArgumentError: the value cannot be held, such as a fraction by an integer type (IX-XP-4).
    """
    if type(value) is type(array):
        said = str(value.dtype)
        rank = _RANKS.get(value.dtype.category, 0)
    else:
        number, said = as_scalar(value), show(value)
        ranks = (rank for kind, rank in _RANKS_OF_NUMBERS if isinstance(number, kind))
        rank = next(ranks, 0)
    if rank > _RANKS.get(array.dtype.category, 3):
        what = f"{said} among elements of {array.dtype}"
        hint = f"write to a cast copy, `x.astype({_WIDE[rank]!r})`"
        raise ArgumentError(_SET, what, "IX-XP-4", hint)


def _assign_by_driver(array: ArrayBase, key: Any, value: ArrayBase) -> bool:
    """Copy an Array of the same device and type by the driver; False if that takes a library."""
    from .copyto import check_target, copy_to  # rarely needed

    is_plain = all(map(is_basic, key if type(key) is tuple else (key,)))
    is_alike = value.dtype is array.dtype and value.device is array.device
    if not is_plain or not is_alike or array.device.type not in COPIED_BY_DRIVERS:
        return False
    check_writable(array, _SET)
    layout, offset = array._spec.layout.index(key)
    part = array._view(layout, offset, _SET)
    check_target(part, _SET)
    copy_to(part, value, "no", None, _SET)
    work = pending_work_of(part)
    if work is not None:
        array._pending_work = work
    return True


def _shares(
    array: ArrayBase, other: ArrayBase, native: Any, elements: Any, backend: Backend
) -> bool:
    """Whether the library's arrays may share memory; NumPy finds that in less time."""
    if backend.keeps_readonly:
        return bool(backend.may_share(native, elements))
    return may_overlap(array, other)


def _view_of_native(array: T, native: Any, parts: tuple[Any, ...]) -> T | None:
    """Return a view that the library makes, or None if it refuses the key."""
    # With an Ellipsis the library returns an array, not a scalar, for one element.
    wanted = parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)
    try:
        found = native[wanted]
    except (IndexError, TypeError, ValueError):
        return None  # the function that makes views raises the error
    view = wrap(found, backend_of_array(array), type(array), array)
    view._owner = array._owner
    return view


def assign(array: ArrayBase, key: Any, value: Any) -> None:
    """Write a scalar or the elements of an Array to the elements that a key selects.

    An ndarray is accepted, too, if the host can access both: it is copied without synchronization.

    Raises ReadOnlyError: the memory is read-only, or not known to be writable (DLP-RO-3).
    Raises ArgumentError: the library's arrays cannot be written (IX-XP-5); `value` is not an Array,
        an ndarray or a number (IX-XP-1).
    Raises MixedDevicesError: `value` is on another device (IX-XP-2).
    Raises ExchangeError: `value` has masked elements (AI-MASK-1), or elements of a type that no
        Array has (DLP-DTYPE-3).
    """
    cls = type(array)
    try:
        backend, native = sharing_with(array)
    except BackendUnavailableError:
        if type(value) is cls and _assign_by_driver(array, key, value):
            return
        raise
    if not backend.is_mutable:
        raise ArgumentError(_SET, f"{backend.name} computes on {array.device}", "IX-XP-5")
    check_writable(array, _SET)
    check_shared(array, native, backend, _SET)
    parts = key if type(key) is tuple else (key,)
    if not all(map(is_basic, parts)):
        parts = tuple(p if type(p) is cls else read_part(p, array, _SET) for p in parts)
    if not isinstance(value, (cls, *SCALARS)) and is_ndarray(value):
        value = import_array_interface(value, cls, _SET, copies=True)
    _check_kind(array, value)
    elements = operand(value, backend, cls, _SET)
    if type(value) is cls and value.shape and _shares(array, value, native, elements, backend):
        elements = backend.copy(elements)  # also in NumPy: 2.4.6 reads elements that it has written
    put(array, (backend, native), parts, elements, _SET)
    backend.note_written(array)
