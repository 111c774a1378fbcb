"""Narwhals, whose frames and series wrap those of other libraries."""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Library


def _unwrap(x: Any) -> Any:
    """Return the frame or series that `x` wraps."""
    return x.to_native()


LIBRARY: Final = Library("narwhals", unwrap=_unwrap)
