"""Nulls in columns, which ``__array__`` would replace by NaN or by objects (AI-MASK-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._types.libraries import inherited, libraries_of

from .protocol_attributes import attribute, supports_arrow

if TYPE_CHECKING:
    from interchange._types.library import Loss


def count_nulls(x: Any) -> int:
    """Return how many elements of a column are null, or of the columns of a table.

    The column has ``null_count``: a number, or a method that returns a number or a table of them.
    """
    count = getattr(x, "null_count", None)
    if type(count) is int:
        return count
    if callable(count):
        count = count()
        return count if type(count) is int else int(sum(sum(row) for row in count.rows()))
    return sum(map(count_nulls, getattr(x, "columns", ())))


def describe_nulls(count: int, x: Any) -> Loss:
    """Return the loss of `count` nulls."""
    fill = next((word for word in ("fill_null", "fillna") if hasattr(x, word)), None)
    filled = "fill them first" if fill is None else f"fill them first, with `x.{fill}(0)`"
    if supports_arrow(x):
        filled += ", or take data and mask with `interchange.from_arrow(x, nulls='separate')`"
    hint = f"{filled}, or pass `copy=True` to accept what its __array__ returns"
    return f"{count} of the elements are null", "AI-MASK-1", hint


def find_nulls(x: Any) -> Loss | None:
    """Return what a column would lose through ``__array__``: which elements are null."""
    count = inherited(type(x), lambda library: library.count_nulls)
    found = 0 if count is None else count(x)
    return describe_nulls(found, x) if found else None


def is_column(x: object) -> bool:
    """Whether ``__array__`` of `x` copies elements that an ndarray cannot represent."""
    return inherited(type(x), lambda library: library.count_nulls) is not None


def prefers_array_method(x: Any) -> bool:
    """Whether an object that supports Arrow is imported by ``__array__``.

    So are arrays of any number of axes, tables, which have two, and what Arrow would convert.
    """
    if attribute(x, "__array__") is None:
        return False
    for library in libraries_of(type(x)):
        if library.unwrap is not None:
            return prefers_array_method(library.unwrap(x))
        if library.prefers_array_method is not None:
            return library.prefers_array_method(x)
    from .conversion_hints import names_of  # few need it

    return attribute(x, "ndim") is not None or bool(names_of(x))
