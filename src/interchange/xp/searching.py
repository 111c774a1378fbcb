"""Functions that search.

Source: array API standard 2025.12, Searching Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, apply_all, apply_many, fast, optional, plain
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array


@document
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return apply("argmax", x, axis=plain(axis), keepdims=keepdims)


@document
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return apply("argmin", x, axis=plain(axis), keepdims=keepdims)


@fast(1)
@document
def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    return apply("count_nonzero", x, axis=plain(axis), keepdims=keepdims)


@document
def nonzero(x: Array, /) -> tuple[Array, ...]:
    return apply_many("nonzero", (x,))


@document
def searchsorted(
    x1: Array, x2: Any, /, *, side: str = "left", sorter: Array | None = None
) -> Array:
    return apply_all(
        "searchsorted", (x1, x2), side=side, sorter=optional(sorter, x1, "searchsorted")
    )


@document
def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    return apply_all("where", (condition, x1, x2))
