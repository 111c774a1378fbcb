"""Functions that sort.

Source: array API standard 2025.12, Sorting Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._calls import apply, plain
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array


@document
def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    return apply("argsort", x, axis=plain(axis), descending=descending, stable=stable)


@document
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    return apply("sort", x, axis=plain(axis), descending=descending, stable=stable)
