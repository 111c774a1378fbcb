"""Functions about element types: promotion and limits.

Source: array API standard 2025.12, Data Type Functions.  `astype` is with the functions that copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from interchange._array import Array
from interchange._array.native_arrays import backend_of_array
from interchange._array.operands import SCALARS, as_scalar, operand
from interchange._libraries.selection import backend_of, backend_of_host
from interchange._types.devices import CPU
from interchange._types.dtype_table import KINDS
from interchange._types.dtypes import DType
from interchange._types.errors import ArgumentError, ViewError, show

from ._calls import dtype_of
from ._documentation import document

if TYPE_CHECKING:
    from interchange._libraries.backend import Backend


class FInfo(NamedTuple):
    """Limits of a floating-point type.

    Attributes
    ----------
    bits : int
        Size of an element; of its real part, for complex ones [bits].
    eps : float
        Distance from 1 to the next larger number.
    max, min : float
        Largest and smallest finite number.
    smallest_normal : float
        Smallest positive number of full precision.
    dtype : DType
        The real type.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IInfo(NamedTuple):
    """Limits of an integer type.

    Attributes
    ----------
    bits : int
        Size of an element [bits].
    max, min : int
        Largest and smallest number.
    dtype : DType
        The type.
    """

    bits: int
    max: int
    min: int
    dtype: DType


_IEEE = {"float16": (10, 5), "bfloat16": (7, 8), "float32": (23, 8), "float64": (52, 11)}
"""Type -> bits of fraction and of exponent."""


def _dtype(value: Any, call: str) -> DType:
    """Return the element type of an argument: the type itself, or that of an array."""
    return value.dtype if type(value) is Array else dtype_of(value, call)


@document
def can_cast(from_: Any, to: Any, /) -> bool:
    call = "xp.can_cast()"
    backend: Backend = backend_of_array(from_) if type(from_) is Array else backend_of(CPU, call)
    source = backend.native_dtype(_dtype(from_, call), call)
    target = backend.native_dtype(dtype_of(to, call), call)
    return bool(backend.function("can_cast")(source, target))


@document
def finfo(type: Any, /) -> FInfo:  # noqa: A002 - the standard's word
    call = "xp.finfo()"
    dtype = _dtype(type, call)
    if dtype.category == "complex floating":
        dtype = DType.of(f"float{dtype.bits // 2}")
    if dtype.name not in _IEEE:
        what = f"{dtype} is not an IEEE 754 floating-point type"
        raise ArgumentError(call, what, "IX-XP-7", f"pass one of {', '.join(_IEEE)}")
    fraction, exponent = _IEEE[dtype.name]
    bias = 2 ** (exponent - 1) - 1
    largest = (2.0 - 2.0**-fraction) * 2.0**bias
    return FInfo(dtype.bits, 2.0**-fraction, largest, -largest, 2.0 ** (1 - bias), dtype)


@document
def iinfo(type: Any, /) -> IInfo:  # noqa: A002 - the standard's word
    call = "xp.iinfo()"
    dtype = _dtype(type, call)
    if dtype.category == "signed integer":
        return IInfo(dtype.bits, 2 ** (dtype.bits - 1) - 1, -(2 ** (dtype.bits - 1)), dtype)
    if dtype.category == "unsigned integer":
        return IInfo(dtype.bits, 2**dtype.bits - 1, 0, dtype)
    raise ArgumentError(
        call, f"{dtype} is not an integer type", "IX-XP-7", "pass one, such as int32"
    )


@document
def isdtype(dtype: Any, kind: Any) -> bool:
    call = "xp.isdtype()"
    given = dtype_of(dtype, call)
    if isinstance(kind, tuple):
        return any(isdtype(given, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ViewError(call, f"kind={show(kind)}", "IX-XP-7", f"one of {', '.join(KINDS)}")
        return given.category in KINDS[kind]
    return given is dtype_of(kind, call)


@document
def result_type(*arrays_and_dtypes: Any) -> DType:
    call = "xp.result_type()"
    backend, key = _key_of(arrays_and_dtypes, call)
    known = None if key is None else backend._promotions.get(key)
    if known is not None:
        return known
    if not any(type(x) is Array or not _is_number(x) for x in arrays_and_dtypes):
        what = f"the arguments {show(arrays_and_dtypes)} contain neither an array nor a dtype"
        raise ViewError(call, what, "IX-XP-7", "pass at least one")
    given = [_promoted(x, backend, call) for x in arrays_and_dtypes]
    found: DType = backend._dtype_of(backend.function("result_type")(*given))
    if key is not None:
        backend._promotions[key] = found
    return found


def _key_of(given: tuple[Any, ...], call: str) -> tuple[Backend, tuple[DType, ...] | None]:
    """Return the library that promotes, and the types that decide; None if more than types do.

    Some libraries promote an array of no axes as a number.
    """
    backend, types, is_whole = None, [], True
    for x in given:
        if type(x) is Array:
            if backend is None:
                backend = backend_of_array(x)
            is_whole = is_whole and x.shape != () and x.device is backend.device
            types.append(x.dtype)
        elif type(x) is DType:
            types.append(x)
        else:
            is_whole = False
    if backend is None:
        backend = backend_of_host(call)
    return backend, tuple(types) if is_whole and types else None


def _is_number(x: Any) -> bool:
    """Whether an argument is a scalar."""
    return isinstance(as_scalar(x), SCALARS)


def _promoted(x: Any, backend: Backend, call: str) -> Any:
    """Return the library's value for an argument of ``result_type``."""
    if type(x) is Array or _is_number(x):
        return operand(x, backend, Array, call)
    return backend.native_dtype(dtype_of(x, call), call)
