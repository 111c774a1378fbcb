"""Keys of `Array.__getitem__`: how they are read, and passed to the computing library.

Source: array API standard 2025.12, Indexing; for lists and ndarrays NumPy's "Indexing on ndarrays".
"""

from __future__ import annotations

import functools
import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.export_guards import holds_masked
from interchange._protocols.published_work import ATTRIBUTE as CUDA_RECORD
from interchange._types.errors import ExchangeError, MixedDevicesError, OutOfBoundsError, show
from interchange._types.indices import CAST_INDEX, slice_indices, way_to_index, way_within
from interchange._types.numpy_dtypes import load_numpy

from .native_arrays import backend_of_array
from .operands import as_scalar, foreign, is_foreign, mixed, operand
from .scalars import INTEGERS

if TYPE_CHECKING:
    from interchange._libraries.backend import Backend

    from .array_base import ArrayBase

_SEQUENCES: Final = (list, tuple, range)
_INDEXING: Final = frozenset("biu")
"""Kinds of NumPy's dtypes that index: bool, signed and unsigned integer."""
_SELECTING: Final = frozenset({*INTEGERS, "bool"})
_WITHIN: Final = "stay within the shape: ints below the extent of their axis, masks of its shape"


def is_basic(part: object) -> bool:
    """Whether a part of a key is certainly a basic index."""
    kind = type(part)
    return kind is int or kind is slice or part is None or part is Ellipsis


def read_part(part: Any, array: ArrayBase, call: str) -> Any:
    """Return a part of a key as a basic index, an Array or an ndarray.

    Raises OutOfBoundsError: it is not an index (IX-INDEX-1, IX-INDEX-2).
    Raises ArgumentError: it is an array of a library other than NumPy (IX-XP-1).
    Raises MixedDevicesError: it is on another device than the array (IX-XP-2).
    """
    if is_basic(part):
        return part
    if type(part) is type(array):
        return _read_array(part, array, call)
    if isinstance(part, _SEQUENCES) or is_ndarray(part):
        return _read_elements(part, array, call)
    if isinstance(as_scalar(part), bool) or _holds_bools(part):
        what, hint = f"index {show(part)} is not a mask", "index by one, `x[xp.asarray(True)]`"
        raise OutOfBoundsError(call, what, "IX-INDEX-2", None if array.shape else hint)
    if is_foreign(part) and getattr(part, "ndim", None):
        raise foreign(call, part)
    try:
        return operator.index(part)
    except TypeError:
        raise _selects_nothing(call, part) from None


def _read_array(part: Any, array: ArrayBase, call: str) -> Any:
    """Return a 0-dimensional Array of integers as an int, which selects a view."""
    if part.shape or part.dtype.category not in INTEGERS:
        return part
    if backend_of_array(part).device is not backend_of_array(array).device:
        raise mixed(call, array.device, part.device)
    return part.__index__()


def is_ndarray(part: object) -> bool:
    """Whether a part is a NumPy array, without importing NumPy.

    An array with a record of device memory may have pending work, which NumPy does not know.
    """
    known = getattr(sys.modules.get("numpy"), "ndarray", None)
    if known is None or type(part) is known:
        return known is not None
    return isinstance(part, known) and not hasattr(part, CUDA_RECORD)


def _holds_bools(part: Any) -> bool:
    """Whether a part is a 0-dimensional array of any library whose element is a bool."""
    return is_foreign(part) and str(getattr(part, "dtype", "")).endswith("bool")


def _read_elements(part: Any, array: ArrayBase, call: str) -> Any:
    """Return a list or an ndarray as an ndarray of integers or bools, or as an int.

    Raises ExchangeError: some elements are masked (AI-MASK-1).
    """
    np = load_numpy()
    if not array.device.is_host_accessible:
        what = f"the array is on {array.device}, the index {show(part)} on the host"
        hint = f"pass an Array, `xp.asarray(index, device={str(array.device)!r})`"
        raise MixedDevicesError(call, what, "IX-XP-2", hint)
    try:
        found = np.asarray(part)
    except (TypeError, ValueError, OverflowError):  # ragged, or of types unknown to NumPy
        raise _selects_nothing(call, part) from None
    if holds_masked(part):
        raise ExchangeError(call, "the index has masked elements", "AI-MASK-1")
    if not found.size and isinstance(part, _SEQUENCES):
        found = found.astype(np.intp)  # an empty list has no element type of its own
    if found.dtype.kind not in _INDEXING:
        raise _selects_nothing(call, part)
    return found if found.shape or found.dtype.kind == "b" else int(found)


def _selects_nothing(call: str, part: object) -> OutOfBoundsError:
    """Return the error for an invalid index."""
    what = f"index {show(part)} is not a valid index"
    return OutOfBoundsError(call, what, "IX-INDEX-1", way_to_index(part))


def pick(array: ArrayBase, library: tuple[Backend, Any], parts: tuple[Any, ...], call: str) -> Any:
    """Return the elements that a key with arrays selects, as an array of the library.

    `parts`: parts of the key, read by `read_part`.

    Raises OutOfBoundsError: an index is out of bounds, or a mask has a wrong shape (IX-INDEX-1).
    """
    backend, native = library
    key = _native_key(array, backend, parts, call)
    try:
        return native[key]
    except IndexError as error:
        raise _refusal(error, array, parts, call) from None


def put(
    array: ArrayBase,
    library: tuple[Backend, Any],
    parts: tuple[Any, ...],
    elements: Any,
    call: str,
) -> None:
    """Write elements of the library, or a number, to the elements that a key selects.

    Raises OutOfBoundsError: an index is out of bounds, or a mask has a wrong shape (IX-INDEX-1).
    """
    backend, native = library
    key = _native_key(array, backend, parts, call)
    try:
        backend._put(native, key, elements)
    except IndexError as error:
        raise _refusal(error, array, parts, call) from None


def _refusal(
    error: IndexError, array: ArrayBase, parts: tuple[Any, ...], call: str
) -> OutOfBoundsError:
    """Return the error to raise for one of the computing library about a key."""
    for part in parts:
        if type(part) is type(array) and part.dtype.category not in _SELECTING:
            what = f"an index has elements of {part.dtype}"
            return OutOfBoundsError(call, what, "IX-INDEX-1", CAST_INDEX)
    return OutOfBoundsError(call, str(error), "IX-INDEX-1", _WITHIN)


def _native_key(
    array: ArrayBase, backend: Backend, parts: tuple[Any, ...], call: str
) -> tuple[Any, ...]:
    """Return the key in the form that the library takes."""
    cls = type(array)
    axes = sum(type(part) is slice or type(part) is int for part in parts)
    if axes <= len(array.shape):  # else the library's own error is reported
        for part in parts:
            if type(part) is slice:
                slice_indices(part, 0, call)  # some libraries refuse a step of 0
    if backend.checks_indices:
        key = tuple(
            operand(part, backend, cls, call) if type(part) is cls else part for part in parts
        )
        if _passes_by_bounds():
            _check_bounds(key, array.shape, call)
        return key
    if any(is_ndarray(part) for part in parts):
        _check_as_numpy(array, parts, call)
    return tuple(part if is_basic(part) else _as_index(part, backend, cls, call) for part in parts)


@functools.cache
def _passes_by_bounds() -> bool:
    """Whether NumPy ignores an index out of bounds if nothing is selected: before 2.3."""
    np = load_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            np.empty((0, 0))[np.array([0])]
        except IndexError:
            return False
    return True


def _check_bounds(key: tuple[Any, ...], shape: tuple[int, ...], call: str) -> None:
    """Refuse integers that are out of bounds, each on its own axis; NumPy checks masks.

    Raises OutOfBoundsError: an index is out of bounds (IX-INDEX-1).
    """
    np = load_numpy()
    arrays = [part for part in key if is_ndarray(part)]
    if not all(np.count_nonzero(part) if _is_mask(part) else part.size for part in arrays):
        return  # an empty selection: every NumPy accepts it
    counts = [_axes_of(part) for part in key]
    dots = next((place for place, part in enumerate(key) if part is Ellipsis), len(key))
    for place, part in enumerate(key):
        axis = sum(counts[:place]) if place < dots else len(shape) - sum(counts[place:])
        if is_ndarray(part) and not _is_mask(part) and 0 <= axis < len(shape):
            try:
                np.broadcast_to(np.False_, shape[axis])[part]
            except IndexError as error:
                what = str(error).replace("axis 0", f"axis {axis}")
                raise OutOfBoundsError(call, what, "IX-INDEX-1", way_within(shape[axis])) from None


def _axes_of(part: Any) -> int:
    """Return the number of axes that a part of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_ndarray(part) and _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    """Whether a NumPy array among the parts of a key is a mask."""
    return bool(part.dtype.kind == "b")


def _as_index(part: Any, backend: Backend, cls: type[Any], call: str) -> Any:
    """Return an Array or an ndarray as an index array of the library."""
    if type(part) is cls:
        return backend.as_index(operand(part, backend, cls, call))
    wanted = bool if part.dtype.kind == "b" else "int64"
    return backend.as_index(backend.from_host(part.astype(wanted, order="C")))


def _check_as_numpy(array: ArrayBase, parts: tuple[Any, ...], call: str) -> None:
    """Refuse ndarrays that NumPy would refuse, since a library may clip indices out of bounds.

    Raises OutOfBoundsError: an index is out of bounds, or a mask has a wrong shape (IX-INDEX-1).
    """
    np = load_numpy()
    cls = type(array)
    told = tuple(np.asarray(part) if type(part) is cls else part for part in parts)
    try:
        np.broadcast_to(np.False_, array.shape)[told]
    except IndexError as error:
        raise OutOfBoundsError(call, str(error), "IX-INDEX-1", _WITHIN) from None
