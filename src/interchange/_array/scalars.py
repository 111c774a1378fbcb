"""Conversion of elements to Python scalars.

Source: array API standard 2025.12, ``array.__bool__``, ``__int__``, ``__float__``, ``__complex__``,
``__index__``; Python's data model, ``__str__`` and ``__format__``.
"""

from __future__ import annotations

import sys
from typing import Any

from interchange._protocols import host
from interchange._types.dtype_table import KINDS
from interchange._types.errors import ArgumentError, ViewError
from interchange._types.numpy_dtypes import numpy_dtype

from .native_arrays import computing_with, ndarray_of
from .pickling import bytes_of, fetch
from .transfers import copy

INTEGERS = frozenset(KINDS["integral"])
_ASKING = frozenset({"index", "as_index", "range"})
"""Names of functions that ask for an index only."""


class ScalarMethods:
    """Methods that convert elements to Python scalars; the host waits for pending work."""

    __slots__ = ()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; a number for a 0-d array."""
        return on_host(self, "Array.tolist()").tolist()

    def tobytes(self) -> bytes:
        """Return the elements in C order, contiguous, with the bytes they have in memory.

        Device memory is copied to the host.

        Raises
        ------
        UnsupportedDeviceError
            The host cannot access the memory (DLP-DEV-6).
        DriverUnavailableError
            The driver of the device is not installed (IX-DRIVER-1).

        Examples
        --------
        >>> import interchange as ix
        >>> ix.from_buffer(b"abc")[::-1].tobytes()
        b'cba'
        """
        call = "Array.tobytes()"
        array: Any = self
        dense, order = fetch(array, call)
        if order != "C":
            dense = copy(dense, "C", call, None)
        return bytes(bytes_of(dense, readonly=True))

    def item(self) -> Any:
        """Return the one element as a Python number.

        Raises
        ------
        ViewError
            The array does not have exactly one element (IX-ELEMENT-2).
        """
        found = on_host(self, "Array.item()")
        if found.size != 1:
            what = f"an array of {found.size} elements"
            raise ViewError("Array.item()", what, "IX-ELEMENT-2", _one_element(self))
        return found.item()

    def __contains__(self, value: Any) -> bool:
        """Return whether an element equals `value`."""
        found: Any = self == value
        if type(found) is not type(self):
            return bool(found)
        return bool(on_host(found, "in").any())

    def __bool__(self) -> bool:
        """Return the truth value of the element of a 0-d array.

        Raises
        ------
        ViewError
            The array has axes, and so perhaps many elements or none (IX-ELEMENT-1).
        """
        array: Any = self
        if array.shape:
            what = f"the truth value of an array of shape {array.shape} is ambiguous"
            raise ViewError("bool()", what, "IX-ELEMENT-1", _one_truth(array))
        return bool(self.item())

    def __int__(self) -> int:
        return int(_number(self, "int()"))

    def __float__(self) -> float:
        return float(_number(self, "float()"))

    def __complex__(self) -> complex:
        return complex(_number(self, "complex()"))

    def __index__(self) -> int:
        array: Any = self
        if array.dtype.category not in INTEGERS:
            what = f"elements are {array.dtype}"
            raise ArgumentError("operator.index()", what, "IX-ARGUMENT-1", "pass whole numbers")
        if array.ndim == 1 and array.size and array.itemsize > 1 and _may_be_bytearray():
            what = f"an array of shape {array.shape}"
            hint = f"{_one_element(array)}, or convert the bytes with `bytearray(x.tobytes())`"
            raise ViewError("operator.index()", what, "IX-ELEMENT-1", hint)
        return int(_number(self, "operator.index()"))

    def __str__(self) -> str:
        """Return the element of a 0-d array as NumPy prints scalars, else the repr.

        The repr is also returned for elements that cannot be read here.
        """
        array: Any = self
        if array.shape or not _is_readable(array):
            return repr(self)
        return str(_alone(array, "str()"))

    def __format__(self, spec: str, /) -> str:
        """Return the element of a 0-d array in a format; ``str()`` if the format is empty.

        Raises
        ------
        ArgumentError
            A format is given, and the array has axes (IX-ELEMENT-1).
        """
        return format(_alone(self, f"format(..., {spec!r})"), spec) if spec else str(self)


def _one_element(array: Any) -> str:
    """Return how to get one number from an array that has axes."""
    if array.size == 1:
        return "use its only element, `x.item()`"
    if not array.size:
        return "check `x.size` first, since the array has no elements"
    first = ", ".join("0" * array.ndim)
    return f"index one element, as in `x[{first}]`, or convert all with `x.tolist()`"


def _one_truth(array: Any) -> str:
    """Return how to get one truth value from an array that has axes."""
    if array.size == 1:
        return "use its only element, `x.item()`"
    if not array.size:
        return "use `x.size`, since the array has no elements"
    return "use `xp.any(x)` or `xp.all(x)`"


def _is_readable(array: Any) -> bool:
    """Whether elements can be shown: read by the host or the library, with a NumPy type."""
    if array.dtype.is_packed or numpy_dtype(array.dtype) is None:
        return False
    return array.device.is_host_accessible or hasattr(array, "_library")


def on_host(array: Any, call: str) -> Any:
    """Return an ndarray of the elements: shared, or copied by the library that computes there."""
    kept = ndarray_of(array)
    if kept is not None:
        return kept
    if not array.device.is_host_accessible and hasattr(array, "_library"):
        backend, native = computing_with(array)
        return backend.to_host(native)
    return host.as_ndarray(array, call)


def _may_be_bytearray() -> bool:
    """Whether ``bytearray()`` may be asking for an index, as far as the caller's names show.

    Before Python 3.12, ``bytearray()`` iterates if a TypeError is raised, and takes an element as a
    byte; other functions then read a sequence, as ``numpy.moveaxis`` does for its axes.
    """
    if sys.version_info >= (3, 12):
        return False
    names = sys._getframe(2).f_code.co_names
    return "bytearray" in names or _ASKING.isdisjoint(names)


def _number(array: Any, call: str) -> Any:
    """Return the element of a 0-d array as a Python number."""
    kept = ndarray_of(array)
    if kept is not None and not kept.ndim:
        return kept.item()
    return _alone(array, call).item()


def _alone(array: Any, call: str) -> Any:
    """Return an ndarray of the element of a 0-d array."""
    kept = ndarray_of(array)
    if kept is not None and not kept.ndim:
        return kept
    if array.shape:
        what = f"an array of shape {array.shape}"
        raise ArgumentError(call, what, "IX-ELEMENT-1", _one_element(array))
    return on_host(array, call)
