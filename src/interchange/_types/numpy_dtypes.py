"""The NumPy dtype of an element type, of ml_dtypes where NumPy has none, and its hash.

Source: NumPy, data types; ``hashdescr.c``; ml_dtypes.  Neither is imported before the dtype is
asked for, nor to hash.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from typing import Any, Final, Protocol

from .dtype_table import NATIVE
from .numpy_release import load_numpy

_USER_FLAGS: Final = 0x40  # `numpy.dtype.flags` of what ml_dtypes makes, from 0.5.2 on
_FLAGS_AS_INT: Final = (2, 4)  # release of NumPy that hashes them so; a byte before
_WIDEST: Final = ctypes.alignment(ctypes.c_longlong)  # [bytes], of one number


class Named(Protocol):
    """An element type, as far as NumPy and ml_dtypes have names for it."""

    @property
    def typestr(self) -> object:
        """The type string of the array interface, or None."""

    @property
    def ml_dtypes_name(self) -> str | None:
        """What ml_dtypes calls it, or None."""

    @property
    def kind(self) -> str:
        """The letter of its kind in NumPy."""

    @property
    def category(self) -> str | None:
        """The word for it that ``isdtype`` takes."""

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes]."""


def numpy_dtype(dtype: Named) -> Any | None:
    """Return the NumPy dtype of `dtype`, or None where neither NumPy nor ml_dtypes has one."""
    return _dtype_in(load_numpy(), dtype)


def _dtype_in(np: Any, dtype: Named) -> Any | None:
    """Return the same of NumPy, whatever its release."""
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


def numpy_hash(dtype: Named) -> int | None:
    """Return the hash of the NumPy dtype of `dtype`, or None where there is none.

    Where the library that makes the dtype is not imported, the hash is computed as it does.
    """
    if dtype.typestr is None and dtype.ml_dtypes_name is None:
        return None
    maker = "numpy" if dtype.typestr is not None else "ml_dtypes"
    if maker in sys.modules:
        import numpy as np

        found = _dtype_in(np, dtype)
        return None if found is None else hash(found)
    return _computed_hash(dtype)


def _computed_hash(dtype: Named) -> int:
    """Return the hash that the installed release of NumPy gives to the dtype, as it computes it."""
    from importlib.metadata import PackageNotFoundError, version  # which takes long

    try:
        release = tuple(map(int, version("numpy").split(".")[:2]))
    except (PackageNotFoundError, ValueError):  # then no dtype of NumPy is compared with
        release = _FLAGS_AS_INT
    flags = 0 if dtype.typestr is not None else _USER_FLAGS
    order = NATIVE if dtype.typestr is None or dtype.itemsize > 1 else "|"
    parts = 2 if dtype.category == "complex floating" else 1
    return hash(
        (
            dtype.kind.encode(),
            order.encode(),
            flags if release >= _FLAGS_AS_INT else bytes([flags]),
            dtype.itemsize,
            min(dtype.itemsize // parts, _WIDEST),
        )
    )
