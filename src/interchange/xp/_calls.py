"""Calls of the computing library by functions of the namespace, and conversion of results.

Source: array API standard 2025.12.  The device is that of the first Array among the arguments;
without one it is the requested device, or the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import Array
from interchange._array.native_arrays import (
    backend_of_array,
    computing_with,
    finish,
    wrap,
    wrap_new,
)
from interchange._array.operands import (
    array_of,
    as_scalar,
    backend_for,
    foreign,
    is_foreign,
    operand,
)
from interchange._core import fast_function
from interchange._libraries.selection import backend_of, backend_of_host
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
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from interchange._libraries.backend import Backend
    from interchange._types.typing import Scalar

    from ._signatures import Binary, Unary

    F = TypeVar("F", bound=Callable[..., Any])


def unary(name: str) -> Unary:
    """Return the elementwise function `name` of the standard for one array."""
    call, is_special = f"xp.{name}()", name in VIEWS | FRESH

    def function(x: Array, /) -> Array:
        if type(x) is not Array:
            raise foreign(call, x)
        backend, native = computing_with(x)
        result = backend.function(name)(native)
        return finish(name, result, backend, x) if is_special else wrap(result, backend, Array)

    function.__name__ = name
    return fast(1)(document(function))


def binary(name: str) -> Binary:
    """Return the elementwise function `name` of the standard for two arrays."""
    call = f"xp.{name}()"

    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        backend = backend_for((x1, x2), Array, call)
        one, other = operand(x1, backend, Array, call), operand(x2, backend, Array, call)
        return wrap(backend.function(name)(one, other), backend, Array)

    function.__name__ = name
    return fast(2)(document(function))


def fast(operands: int, *, creates: bool = False) -> Callable[[F], F]:
    """Decorate a function: calls that need no Python are computed by the core.

    `operands`: how many positional arguments such a call has, and no keywords.
    `creates`: whether the arguments describe a new array, on the host.
    """
    host = backend_of_host if creates else None

    def decorate(function: F) -> F:
        return fast_function(function.__name__, function, operands, host)

    return decorate


def apply(name: str, x: Any, /, *args: Any, **keywords: Any) -> Array:
    """Return the result of the library's function for one array; other arguments are unchanged."""
    if type(x) is not Array:
        raise foreign(f"xp.{name}()", x)
    backend, native = computing_with(x)
    try:
        result = backend.function(name)(native, *args, **keywords)
    except (ValueError, IndexError, RuntimeError) as error:
        from ._refusals import explain  # for an error only

        explain(error, name, x, keywords)
        raise
    found: Array = finish(name, result, backend, x)
    return found


def apply_all(name: str, xs: Sequence[Any], /, *args: Any, **keywords: Any) -> Array:
    """Return the result of the library's function for several arrays or numbers."""
    backend, natives = natives_of(name, xs)
    return wrap(backend.function(name)(*natives, *args, **keywords), backend, Array)


def apply_many(name: str, xs: Sequence[Any], /, *args: Any, **keywords: Any) -> tuple[Array, ...]:
    """Return the several results of the library's function."""
    backend, natives = natives_of(name, xs)
    try:
        results = backend.function(name)(*natives, *args, **keywords)
    except (ValueError, IndexError, RuntimeError) as error:
        from ._refusals import explain  # for an error only

        explain(error, name, xs[0], keywords)
        raise
    if name not in VIEWS:
        return tuple(wrap(result, backend, Array) for result in results)
    likes = xs if len(xs) > 1 else [*xs] * len(results)
    return tuple(
        finish(name, result, backend, like) for result, like in zip(results, likes, strict=True)
    )


def natives_of(name: str, xs: Sequence[Any]) -> tuple[Backend, list[Any]]:
    """Return the library that computes with these, and the arguments for it."""
    call, xs = f"xp.{name}()", tuple(xs)
    backend = backend_for(xs, Array, call)
    return backend, [operand(x, backend, Array, call) for x in xs]


def optional(x: Any, like: Any, name: str) -> Any:
    """Return the argument for the library of `like` for an operand that may be None."""
    call = f"xp.{name}()"
    backend = backend_of_array(array_of(like, Array, call))
    return None if x is None else operand(x, backend, Array, call)


def plain(value: Any) -> Any:
    """Return ints and tuples of ints as Python's own, also for NumPy integers."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    if type(value) is Array:
        return value.__index__()
    return as_scalar(value)


# ---------------------------------------------------------------- element types and devices


def creator(name: str, device: Any, like: Any = None) -> Backend:
    """Return the library that creates arrays on a device; by default on that of `like`."""
    if device is None and like is None:
        return backend_of_host(name)
    call = f"xp.{name}()"
    if device is not None:
        there = Device.of(device, call)
        if there.is_host_accessible and there is not CPU:
            what = f"no library creates arrays on {there}"
            hint = "name one of `xp.__array_namespace_info__().devices()`"
            raise UnsupportedDeviceError(call, what, "IX-XP-3", hint)
        return backend_of(there, call)
    return backend_of_array(array_of(like, Array, call))


def element(dtype: Any, backend: Backend, name: str) -> Any:
    """Return the library's own object for a dtype; None for None."""
    if dtype is None:
        return None
    found = backend._native_dtypes.get(dtype) if type(dtype) is DType else None
    if found is not None:
        return found
    call = f"xp.{name}()"
    return backend.native_dtype(dtype_of(dtype, call), call)


def typed(dtype: Any, x: Any, name: str) -> Any:
    """Return the dtype object of the library that computes with an Array; None for None."""
    if dtype is None:
        return None
    return element(dtype, backend_of_array(array_of(x, Array, f"xp.{name}()")), name)


def dtype_of(dtype: Any, call: str) -> DType:
    """Return the element type that an argument names.

    Raises
    ------
    ViewError
        The type does not exist (IX-XP-7).
    ArgumentError
        It is not an element type (IX-ARGUMENT-1); it is an array (IX-XP-1).
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
    name: str, args: tuple[Any, ...], dtype: Any, device: Any, like: Any = None, **keywords: Any
) -> Array:
    """Return the result of one of the library's creation functions."""
    backend = creator(name, device, like)
    if dtype is not None:
        dtype = element(dtype, backend, name)
    result = call_creator(backend, name, args, dtype, **keywords)
    try:
        backend._dtype_of(result.dtype)
    except UnsupportedDTypeError:
        what = f"no element type holds {show(args)}"
        raise ViewError(f"xp.{name}()", what, "IX-XP-7", "pass smaller numbers") from None
    return wrap_new(result, backend, Array)


def call_creator(
    backend: Backend, name: str, args: tuple[Any, ...], dtype: Any, **keywords: Any
) -> Any:
    """Return what a creation function of a library returns, on the backend's device."""
    function = backend.function(name)
    if dtype is not None:
        keywords["dtype"] = dtype
    if not backend._creates_anywhere:
        return function(*args, **keywords)
    with backend.current():
        return function(*args, **backend.keywords(), **keywords)
