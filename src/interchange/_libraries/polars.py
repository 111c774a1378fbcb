"""Polars, whose columns are exported by Arrow.

Source: Polars, ``polars.Series``, ``polars.DataFrame``, data types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.export_guards import count_nulls
from interchange._protocols.protocol_attributes import attribute
from interchange._types.library import Library

if TYPE_CHECKING:
    from interchange._types.library import Loss


def _guard_arrow(x: Any) -> Loss | None:
    """Return what Arrow does not show of a column: that its elements are addresses of objects."""
    kinds = attribute(x, "dtypes") or [attribute(x, "dtype")]
    if "Object" not in map(str, kinds):
        return None
    return "the elements are objects of Python", "ARROW-TYPE-1", "turn them into numbers first"


def _hint(x: Any) -> str | None:
    """Return the hint for a lazy table, which has no elements yet."""
    is_lazy = callable(getattr(x, "collect_schema", None)) and not hasattr(x, "__dataframe__")
    return "collect it first, with `x.collect()`" if is_lazy and hasattr(x, "collect") else None


LIBRARY: Final = Library(
    "polars",
    arrow_guard=_guard_arrow,
    count_nulls=count_nulls,
    hint=_hint,
    instead_of_target="use `interchange.to_arrow(x)`, which `pl.Series` and `pl.DataFrame` take",
)
