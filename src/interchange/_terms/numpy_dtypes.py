"""The NumPy dtype of an element type, of ml_dtypes where NumPy has none.

Source: NumPy, data types; ml_dtypes.  Neither is imported before somebody asks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dtypes import DType


def numpy_dtype(dtype: DType) -> Any | None:
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
