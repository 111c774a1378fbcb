"""Functions that create arrays, or import them.

Source: array API standard 2025.12, Creation Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import Array
from interchange._array.native_arrays import wrap_new
from interchange._array.operands import SCALARS, array_of, as_scalar, operand
from interchange._functions import importing
from interchange._protocols.array_method import without_copies
from interchange._protocols.dlpack import check_copy
from interchange._protocols.export_guards import is_masked, may_nest
from interchange._protocols.protocol_attributes import is_sequence
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    UnsupportedDTypeError,
    ViewError,
    show,
)

from ._calls import apply, apply_many, call_creator, create, creator, dtype_of, element, fast, plain
from ._documentation import document
from .manipulation import astype

if TYPE_CHECKING:
    from interchange._libraries.backend import Backend

_ASARRAY = "xp.asarray()"
_NUMBERS = (*SCALARS, list, tuple)
_TWO_AXES = 2


@fast(1, creates=True)
@document
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    first, last = (0, start) if stop is None else (start, stop)
    args = (_number(first), _number(last), _number(step))
    return create("arange", args, dtype, device)


@fast(1, creates=True)
@document
def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    if copy is not None:
        check_copy(copy, _ASARRAY)
    if type(obj) is Array:
        return obj if dtype is device is copy is None else _again(obj, dtype, device, copy)
    if isinstance(obj, _NUMBERS) or is_sequence(obj):
        if copy is False:
            what = f"a {type(obj).__name__} has no memory of elements"
            raise CopyNeededError(_ASARRAY, what, "DLP-COPY-1")
        return _of_numbers(obj, dtype, device)
    if isinstance(obj, str):
        raise _no_numbers(_ASARRAY, obj)
    # Without a dtype it is moved and copied as requested; with one, a cast may copy in any case.
    if dtype is None:
        return importing.import_any(
            obj, None, device, copy, copies=copy is not False, call=_ASARRAY
        )
    asked = without_copies(obj, copy)
    found = importing.import_any(obj, copy=asked, copies=copy is not False, call=_ASARRAY)
    try:
        if copy and found.dtype is dtype_of(dtype, _ASARRAY):
            found, copy = found.copy(), None
        return _again(found, dtype, device, copy)
    except InterchangeError as error:
        importing.keep_array(error, obj, found)
        raise


def _again(x: Array, dtype: Any, device: Any, copy: bool | None) -> Array:
    """Return an Array as another element type, or on another device: itself if neither changes."""
    wanted = x.dtype if dtype is None else dtype_of(dtype, _ASARRAY)
    if wanted is not x.dtype:
        if copy is False:
            what = f"elements are {x.dtype}, wanted {wanted}"
            raise CopyNeededError(_ASARRAY, what, "DLP-COPY-1")
        return astype(x, wanted, device=device)
    if device is not None or copy is not None:
        return importing.import_any(x, None, device, copy, call=_ASARRAY)
    return x


def _of_numbers(obj: Any, dtype: Any, device: Any) -> Array:
    """Return an Array of numbers, or of nested sequences of them."""
    backend = creator("asarray", device)
    told, wanted = _with_natives(obj, backend), element(dtype, backend, "asarray")
    try:
        native = call_creator(backend, "asarray", (told,), wanted)
    except TypeError as error:  # the library's own error for objects that are not numbers
        if dtype is None:
            raise _no_numbers(_ASARRAY, obj) from error
        what = f"{show(obj)} as {dtype_of(dtype, _ASARRAY)}"
        raise ArgumentError(_ASARRAY, what, "IX-XP-7", "pass numbers that it holds") from error
    except ValueError as error:
        from ._refusals import explain_ragged  # for an error only

        explain_ragged(error, obj)
        raise
    try:
        backend._dtype_of(native.dtype)
    except UnsupportedDTypeError:
        raise _no_numbers(_ASARRAY, obj) from None
    return wrap_new(native, backend, Array)


def _with_natives(obj: Any, backend: Backend) -> Any:
    """Return nested sequences with arrays of the library in place of Arrays."""
    kind = type(obj)
    if kind is float or kind is int or ((kind is list or kind is tuple) and not may_nest(obj)):
        return obj  # numbers only, perhaps very many
    if kind is Array:
        return operand(obj, backend, Array, _ASARRAY)
    if is_masked(obj):
        raise ExchangeError(_ASARRAY, "an array in the list has masked elements", "AI-MASK-1")
    if not is_sequence(obj):
        return obj
    if isinstance(obj, (list, tuple)) and not may_nest(obj):
        return obj  # numbers only, perhaps very many
    return [_with_natives(each, backend) for each in obj]


def _no_numbers(call: str, value: Any) -> ArgumentError:
    """Return the error for an object that is not a number, nor a sequence of numbers."""
    return ArgumentError(
        call, f"{show(value)} is not a number", "IX-XP-7", "pass numbers or arrays"
    )


@fast(1, creates=True)
@document
def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    return create("empty", (plain(shape),), dtype, device)


@fast(1)
@document
def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return _alike("empty", x, dtype=dtype, device=device)


@document
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Array:
    return create("eye", (plain(n_rows), plain(n_cols)), dtype, device, k=plain(k))


@document
def full(
    shape: int | tuple[int, ...], fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Array:
    return create("full", (plain(shape), _number(fill_value)), dtype, device)


@document
def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    return _alike("full", x, _number(fill_value), dtype=dtype, device=device)


def _alike(name: str, x: Any, /, *args: Any, dtype: Any, device: Any) -> Array:
    """Return the result of a creation function for the shape and the element type of an Array."""
    like: Array = array_of(x, Array, f"xp.{name}_like()")
    wanted = like.dtype if dtype is None else dtype
    return create(name, (like.shape, *args), wanted, device, like)


def _number(value: Any) -> Any:
    """Return the Python number of a 0-d array or a NumPy scalar."""
    found = value.item() if type(value) is Array else as_scalar(value)
    if not isinstance(found, SCALARS):
        raise _no_numbers("xp", value)
    return found


@document
def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    args = (_number(start), _number(stop), plain(num))
    return create("linspace", args, dtype, device, endpoint=endpoint)


@document
def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    if indexing not in {"xy", "ij"}:
        raise ViewError("xp.meshgrid()", f"indexing={show(indexing)}", "IX-XP-7", "'xy' or 'ij'")
    return apply_many("meshgrid", arrays, indexing=indexing) if arrays else ()


@fast(1, creates=True)
@document
def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    return create("ones", (plain(shape),), dtype, device)


@fast(1)
@document
def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return _alike("ones", x, dtype=dtype, device=device)


@document
def tril(x: Array, /, *, k: int = 0) -> Array:
    return apply("tril", _matrices(x, "tril"), k=plain(k))


@document
def triu(x: Array, /, *, k: int = 0) -> Array:
    return apply("triu", _matrices(x, "triu"), k=plain(k))


def _matrices(x: Any, name: str) -> Array:
    """Return an Array of matrices, or refuse one with too few axes."""
    call = f"xp.{name}()"
    found: Array = array_of(x, Array, call)
    if found.ndim < _TWO_AXES:
        raise ViewError(call, f"an array of {found.ndim} axes", "IX-XP-7", "pass matrices")
    return found


@fast(1, creates=True)
@document
def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    return create("zeros", (plain(shape),), dtype, device)


@fast(1)
@document
def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    return _alike("zeros", x, dtype=dtype, device=device)
