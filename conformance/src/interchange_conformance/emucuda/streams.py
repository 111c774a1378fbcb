"""Conversions of streams, addresses and lengths to numbers for C.

Source: the ``__cuda_stream__`` protocol of cuda.core; ``CUstream`` and ``CUdeviceptr`` of
cuda.bindings, which `int` accepts.  ctypes would silently truncate larger numbers.
"""

from __future__ import annotations

import numbers
from typing import Any, Final

_LARGEST: Final = 2**64 - 1


def handle_of(stream: Any) -> int:
    """Return the handle of a stream.

    Parameters
    ----------
    stream : int, or object with ``__cuda_stream__`` or ``__int__``
        0 and 1 are the legacy, 2 is the per-thread default stream.

    Raises
    ------
    TypeError
        `stream` is none of these.
    ValueError
        The number is not a handle: it is negative, or has more than 64 bits.

    Examples
    --------
    >>> handle_of(2)
    2
    """
    described = getattr(stream, "__cuda_stream__", None)
    if described is not None:
        # an attribute in early versions of cuda.core
        _version, stream = described() if callable(described) else described
    if not _is_whole(stream):
        raise TypeError(
            f"{stream!r} is not a stream: pass a handle, such as 1 for the legacy and 2 for the"
            " per-thread default stream, or an object with __cuda_stream__"
        )
    return _within(stream, "stream", _LARGEST)


def whole(value: Any, name: str, largest: int = _LARGEST) -> int:
    """Return a number as an int, if it is from 0 to `largest`.

    Parameters
    ----------
    value : int, or object with ``__int__``
        Such as a ``CUdeviceptr``.
    name : str
        Its name in errors.
    largest : int, optional
        The largest number allowed; by default, that of 64 bits.

    Raises
    ------
    TypeError
        It is not an integer.
    ValueError
        It is out of range.
    """
    if not _is_whole(value):
        raise TypeError(f"{name} is {value!r}: pass an int, or an object with __int__")
    return _within(value, name, largest)


def _is_whole(value: Any) -> bool:
    """Return whether a value is an integer or converts to one; a bool is not."""
    if isinstance(value, numbers.Number):
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return hasattr(value, "__int__")


def _within(value: Any, name: str, largest: int) -> int:
    """Return a number as an int, unless it is out of range."""
    number = int(value)
    if not 0 <= number <= largest:
        raise ValueError(f"{name} {number:#x} is out of range: it must be from 0 to {largest:#x}")
    return number
