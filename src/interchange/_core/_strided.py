"""Copies of strided elements within host memory in the ctypes core.

Source: dlpack.h 1.3, ``DLTensor.strides``.  NumPy's loops do what C does in the native core, but
for overlapping memory, which NumPy 2.4 copies wrongly along one axis of two positive strides.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from interchange._types.layout import byte_bounds
from interchange._types.numpy_dtypes import load_numpy

if TYPE_CHECKING:
    from interchange._types.layout import Ints


def copy_strided(
    shape: Ints,
    itemsize: int,
    target: int,
    steps: Ints,
    source: int,
    source_steps: Ints,
    /,
) -> None:
    """Copy strided elements within host memory, as if the source were copied first."""
    if 0 in shape:
        return
    to, low, high = _elements(shape, itemsize, target, steps)
    given, first, end = _elements(shape, itemsize, source, source_steps)
    if low < end and first < high:
        given = given.copy()
    to[...] = given


def _elements(shape: Ints, itemsize: int, ptr: int, steps: Ints) -> tuple[Any, int, int]:
    """Return an ndarray of the elements as bytes, their first address, and the one after them."""
    low, high = byte_bounds(shape, steps, itemsize)
    memory = (ctypes.c_char * (high - low)).from_address(ptr + low)
    strides = tuple(step * itemsize for step in steps)
    kind = f"V{itemsize}"
    return load_numpy().ndarray(shape, kind, memory, -low, strides), ptr + low, ptr + high
