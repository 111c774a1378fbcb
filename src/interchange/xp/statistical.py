"""Functions that reduce elements along axes, or along all.

Source: array API standard 2025.12, Statistical Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, plain, typed
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array

    Axes = int | tuple[int, ...] | None


def _typed(name: str, x: Any, axis: Any, dtype: Any, **keywords: Any) -> Array:
    """Return the result of a function with a `dtype` argument."""
    return apply(name, x, axis=plain(axis), dtype=typed(dtype, x, name), **keywords)


@document
def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    return _typed("cumulative_prod", x, axis, dtype, include_initial=include_initial)


@document
def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    return _typed("cumulative_sum", x, axis, dtype, include_initial=include_initial)


@document
def max_(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    return apply("max", x, axis=plain(axis), keepdims=keepdims)


@document
def mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    return apply("mean", x, axis=plain(axis), keepdims=keepdims)


@document
def min_(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    return apply("min", x, axis=plain(axis), keepdims=keepdims)


@document
def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    return _typed("prod", x, axis, dtype, keepdims=keepdims)


@document
def std(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    return apply("std", x, axis=plain(axis), correction=correction, keepdims=keepdims)


@document
def sum_(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    return _typed("sum", x, axis, dtype, keepdims=keepdims)


@document
def var(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    return apply("var", x, axis=plain(axis), correction=correction, keepdims=keepdims)
