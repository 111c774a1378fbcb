"""Functions that test elements, and compute differences.

Source: array API standard 2025.12, Utility Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, optional, plain
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array

    Axes = int | tuple[int, ...] | None


@document
def all_(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    return apply("all", x, axis=plain(axis), keepdims=keepdims)


@document
def any_(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    return apply("any", x, axis=plain(axis), keepdims=keepdims)


@document
def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    ends: dict[str, Any] = {"prepend": prepend, "append": append}
    given = {name: optional(end, x, "diff") for name, end in ends.items() if end is not None}
    return apply("diff", x, axis=plain(axis), n=plain(n), **given)
