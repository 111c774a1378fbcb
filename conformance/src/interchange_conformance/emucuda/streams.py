"""Numbers by any name, to what C takes: streams to handles, addresses, lengths.

Source: the ``__cuda_stream__`` protocol of cuda.core; ``CUstream`` and ``CUdeviceptr`` of
cuda.bindings, which `int` takes.  C would silently cut off what is too large.
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
        0 and 1 stand for the legacy, 2 for the per-thread default stream.

    Raises
    ------
    TypeError
        `stream` is none of these.
    ValueError
        The number is no handle: it is negative, or has more than 64 bits.

    Examples
    --------
    >>> handle_of(2)
    2
    """
    described = getattr(stream, "__cuda_stream__", None)
    if described is not None:
        # cuda.core had it as an attribute before it became a method
        _version, stream = described() if callable(described) else described
    if not _is_whole(stream):
        raise TypeError(
            f"{stream!r} is no stream: pass a handle, or an object with __cuda_stream__ or __int__"
        )
    return _within(stream, "stream", _LARGEST)


def whole(value: Any, name: str, largest: int = _LARGEST) -> int:
    """Return a number as an int, if it is one from 0 to `largest`.

    Parameters
    ----------
    value : int, or object with ``__int__``
        Such as a ``CUdeviceptr``.
    name : str
        What it is, for errors.
    largest : int, optional
        The last number in range; that of 64 bits, unless told.

    Raises
    ------
    TypeError
        It is no whole number.
    ValueError
        It is out of range.
    """
    if not _is_whole(value):
        raise TypeError(f"{name} is {value!r}: pass an int, or an object with __int__")
    return _within(value, name, largest)


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number, or an object that stands for one; a truth value is not."""
    if isinstance(value, numbers.Number):
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return hasattr(value, "__int__")


def _within(value: Any, name: str, largest: int) -> int:
    """Return a number as an int, unless it is out of range."""
    number = int(value)
    if not 0 <= number <= largest:
        raise ValueError(f"{name} {number:#x} is out of range: it is to be from 0 to {largest:#x}")
    return number
