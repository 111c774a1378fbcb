"""The words of contracts: the values that each accepts, and their normal form.

Rule: IX-REQUIRE-1.  Source: array API standard 2025.12, ``isdtype`` (kinds of types).
"""

from __future__ import annotations

from operator import index as as_index, is_
from typing import Any, Final

from interchange._types.devices import Device, is_index
from interchange._types.dtype_table import KINDS
from interchange._types.dtypes import DType, all_dtypes
from interchange._types.errors import ArgumentError, UnsupportedDTypeError, show
from interchange._types.indices import is_bool

ORDERS: Final = ("C", "F", "A")
"""C order (the last axis runs fastest), F order (the first one does), or either."""
_MOST_AXES: Final = 64


def kept(value: Any) -> Any:
    """Return an immutable value: tuples for lists, ints for integers."""
    if isinstance(value, (list, set, frozenset, tuple)):
        found = tuple(map(kept, value))
        is_same = type(value) is tuple and all(map(is_, found, value))
        return value if is_same else found
    if isinstance(value, int) or is_bool(value) or not hasattr(type(value), "__index__"):
        return value
    try:
        return as_index(value)
    except TypeError:  # for instance arrays with several elements
        return value


def choices(value: Any) -> tuple[Any, ...]:
    """Return the allowed values as a tuple."""
    return tuple(value) if isinstance(value, (list, set, frozenset, tuple)) else (value,)


def _refuse(call: str, what: str, hint: str) -> ArgumentError:
    """Return the error for an invalid value of a word."""
    return ArgumentError(call, what, "IX-ARGUMENT-1", hint)


def read_dtypes(given: Any, call: str) -> tuple[tuple[DType, ...], tuple[str, ...]]:
    """Return the allowed element types, and each part of the choice as text."""
    found: list[DType] = []
    said = []
    for one in choices(given):
        if isinstance(one, str) and one in KINDS:
            kinds = KINDS[one]
            found += [dtype for dtype in all_dtypes() if dtype.category in kinds]
            said.append(one)
        else:
            dtype = _named(one, call)
            found.append(dtype)
            said.append(str(dtype))
    if not found:
        raise _refuse(call, f"dtype={show(given)} leaves no choice", "name a type or a kind")
    return tuple(found), tuple(said)


def _named(given: Any, call: str) -> DType:
    """Return the type with that name; the error for an unknown name suggests a similar one."""
    try:
        return DType.of(given, call)
    except UnsupportedDTypeError as error:
        if not isinstance(given, str) or not error.what.endswith("is unknown"):
            raise  # the error of an ambiguous name lists its readings
        import difflib  # slow to import

        names = [*KINDS, *map(str, all_dtypes())]
        like = difflib.get_close_matches(given, names, 1)
        if not like:
            raise
        raise type(error)(call, error.what, error.rule, f"did you mean {like[0]!r}?") from None


def read_ndims(given: Any, call: str) -> tuple[int, ...]:
    """Return the allowed numbers of axes."""
    found = choices(given)
    if not found or not all(is_index(one) and 0 <= one <= _MOST_AXES for one in found):
        what = f"ndim={show(given)} is not a number of axes"
        raise _refuse(call, what, f"pass an int from 0 to {_MOST_AXES}, or a tuple of them")
    return tuple(map(int, found))


def read_order(given: Any, call: str) -> str:
    """Return an order that is "C", "F" or "A"."""
    if not isinstance(given, str) or given not in ORDERS:
        raise _refuse(call, f"order={show(given)}", "pass 'C', 'F', or 'A' for either")
    return given


def read_device(given: Any, call: str) -> tuple[Device, bool]:
    """Return a device, and whether any other device of its type is allowed."""
    return Device.of(given, call), isinstance(given, str) and ":" not in given


def read_writable(given: Any, call: str) -> bool:
    """Return whether memory must be writable."""
    if not isinstance(given, bool):
        raise _refuse(call, f"writable={show(given)} is not a bool", "pass True or False")
    return given


def read_align(given: Any, call: str) -> int:
    """Return an alignment [bytes]."""
    if not is_index(given) or not 0 < given < 2**31 or given & (given - 1):
        what = f"align={show(given)} is not an alignment"
        raise _refuse(call, what, "pass a power of two [bytes], such as 64")
    return int(given)
