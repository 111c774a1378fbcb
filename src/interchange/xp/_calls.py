"""How a function of the namespace reaches the library that computes, and how results come back.

Source: array API standard 2025.12.  The first Array among the arguments says where; without one it
is the device that was asked for, or the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import Array
from interchange._array.native_arrays import backend_of_array, computing_with, finish, wrap
from interchange._array.operands import (
    array_of,
    as_scalar,
    backend_for,
    foreign,
    is_foreign,
    operand,
)
from interchange._libraries.selection import backend_of
from interchange._libraries.standard_names import FRESH, VIEWS
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import (
    ArgumentError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    ViewError,
    show,
)

from ._documentation import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._libraries.backend import Backend
    from interchange._types.typing import Scalar

    from ._signatures import Binary, Unary


def unary(name: str) -> Unary:
    """Return the elementwise function of one array that the standard calls `name`."""
    call, is_special = f"xp.{name}()", name in VIEWS | FRESH

    def function(x: Array, /) -> Array:
        if type(x) is not Array:
            raise foreign(call, x)
        backend, native = computing_with(x)
        result = backend.function(name)(native)
        return finish(name, result, backend, x) if is_special else wrap(result, backend, Array)

    function.__name__ = name
    return document(function)


def binary(name: str) -> Binary:
    """Return the elementwise function of two arrays that the standard calls `name`."""
    call = f"xp.{name}()"

    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        backend = backend_for((x1, x2), Array, call)
        one, other = operand(x1, backend, Array, call), operand(x2, backend, Array, call)
        return wrap(backend.function(name)(one, other), backend, Array)

    function.__name__ = name
    return document(function)


def apply(name: str, x: Any, /, *args: Any, **keywords: Any) -> Array:
    """Return what the library's function gives for one array; other arguments go as they are."""
    backend, native = computing_with(array_of(x, Array, f"xp.{name}()"))
    result = backend.function(name)(native, *args, **keywords)
    found: Array = finish(name, result, backend, x)
    return found


def apply_all(name: str, xs: Sequence[Any], /, *args: Any, **keywords: Any) -> Array:
    """Return what the library's function gives for several arrays or numbers."""
    backend, natives = natives_of(name, xs)
    return wrap(backend.function(name)(*natives, *args, **keywords), backend, Array)


def apply_many(name: str, xs: Sequence[Any], /, *args: Any, **keywords: Any) -> tuple[Array, ...]:
    """Return the several results of the library's function."""
    backend, natives = natives_of(name, xs)
    results = backend.function(name)(*natives, *args, **keywords)
    if name not in VIEWS:
        return tuple(wrap(result, backend, Array) for result in results)
    likes = xs if len(xs) > 1 else [*xs] * len(results)
    return tuple(
        finish(name, result, backend, like) for result, like in zip(results, likes, strict=True)
    )


def natives_of(name: str, xs: Sequence[Any]) -> tuple[Backend, list[Any]]:
    """Return the library that computes with these, and what it is given."""
    call, xs = f"xp.{name}()", tuple(xs)
    backend = backend_for(xs, Array, call)
    return backend, [operand(x, backend, Array, call) for x in xs]


def optional(x: Any, like: Any, name: str) -> Any:
    """Return what the library of `like` is given for an operand that may be None."""
    call = f"xp.{name}()"
    backend = backend_of_array(array_of(like, Array, call))
    return None if x is None else operand(x, backend, Array, call)


def plain(value: Any) -> Any:
    """Return ints and tuples of ints as Python's own, where NumPy's came."""
    if type(value) is int or value is None:
        return value
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    if type(value) is Array:
        return value.__index__()
    return as_scalar(value)


# ---------------------------------------------------------------- element types and devices


def creator(name: str, device: Any, like: Any = None) -> Backend:
    """Return the library that creates arrays on a device; on that of `like` if none is named."""
    call = f"xp.{name}()"
    if device is not None:
        there = Device.of(device, call)
        if there.is_host_accessible and there is not CPU:
            what = f"no library creates arrays on {there}"
            hint = "name one of `xp.__array_namespace_info__().devices()`"
            raise UnsupportedDeviceError(call, what, "IX-XP-3", hint)
        return backend_of(there, call)
    if like is None:
        return backend_of(CPU, call)
    return backend_of_array(array_of(like, Array, call))


def element(dtype: Any, backend: Backend, name: str) -> Any:
    """Return the library's own object for a dtype; None for None."""
    if dtype is None:
        return None
    call = f"xp.{name}()"
    return backend.native_dtype(dtype_of(dtype, call), call)


def typed(dtype: Any, x: Any, name: str) -> Any:
    """Return the object for a dtype of the library that computes with an Array; None for None."""
    if dtype is None:
        return None
    return element(dtype, backend_of_array(array_of(x, Array, f"xp.{name}()")), name)


def dtype_of(dtype: Any, call: str) -> DType:
    """Return the element type that an argument names.

    Raises
    ------
    ViewError
        It names one that does not exist (IX-XP-7).
    ArgumentError
        It names none at all (IX-ARGUMENT-1); it is an array (IX-XP-1).
    """
    if isinstance(dtype, DType):
        return dtype
    if is_foreign(dtype) and hasattr(dtype, "shape"):
        raise foreign(call, dtype)
    if isinstance(dtype, tuple):
        raise ArgumentError(call, f"dtype={show(dtype)}", "IX-ARGUMENT-1", "pass a dtype of xp")
    try:
        return DType.of(dtype, call)
    except UnsupportedDTypeError as error:
        hint = f"{error.hint}, or pass a dtype of xp"
        raise ViewError(call, error.what, "IX-XP-7", hint) from error


def create(
    name: str, *args: Any, dtype: Any, device: Any, like: Any = None, **keywords: Any
) -> Array:
    """Return what one of the library's creation functions gives."""
    backend = creator(name, device, like)
    with backend.current():
        result = backend.function(name)(
            *args, dtype=element(dtype, backend, name), **backend.keywords(), **keywords
        )
    try:
        backend.dtype_of(result.dtype)
    except UnsupportedDTypeError:
        what = f"no element type holds {show(args)}"
        raise ViewError(f"xp.{name}()", what, "IX-XP-7", "pass smaller numbers") from None
    return wrap(result, backend, Array)
