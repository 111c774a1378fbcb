"""The NumPy dtype of an element type, of ml_dtypes where NumPy has none.

Source: NumPy, data types; ml_dtypes.  Neither is imported before somebody asks.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol


class Named(Protocol):
    """An element type, as far as NumPy and ml_dtypes have names for it."""

    @property
    def typestr(self) -> object:
        """The type string of the array interface, or None."""

    @property
    def ml_dtypes_name(self) -> str | None:
        """What ml_dtypes calls it, or None."""


def numpy_dtype(dtype: Named) -> Any | None:
    """Return the NumPy dtype of `dtype`, or None where neither NumPy nor ml_dtypes has one."""
    import numpy as np

    if dtype.typestr is not None:
        return np.dtype(str(dtype.typestr))
    if dtype.ml_dtypes_name is None:
        return None
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ModuleNotFoundError:
        return None
    scalar = getattr(ml_dtypes, dtype.ml_dtypes_name, None)
    return None if scalar is None else np.dtype(scalar)
