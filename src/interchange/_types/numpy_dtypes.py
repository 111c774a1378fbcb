"""NumPy of a supported release, the NumPy or ml_dtypes dtype of an element type, and its hash.

Source: NumPy, data types; ``hashdescr.c``; ml_dtypes.  Neither is imported before the dtype is
requested; hashing imports neither.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from importlib.util import find_spec
from typing import Any, Final, Protocol

from interchange.abi._patterns import compiled

from .dtype_table import NATIVE
from .errors import BackendUnavailableError

_USER_FLAGS: Final = 0x40  # `numpy.dtype.flags` of dtypes of ml_dtypes, from 0.5.2 on
_FLAGS_AS_INT: Final = (2, 4)  # first release of NumPy that hashes them so; a byte before
_WIDEST: Final = ctypes.alignment(ctypes.c_longlong)  # [bytes], of one number

LEAST: Final = (2, 1)
"""The first supported release of NumPy: its arrays accept ``max_version``."""
REQUIREMENT: Final = f"numpy>={LEAST[0]}.{LEAST[1]}"
"""The same, for installers."""
_RELEASE: Final = r"(\d+)\.(\d+)"


class Named(Protocol):
    """The names of an element type in NumPy and ml_dtypes."""

    @property
    def name(self) -> str:
        """Its own name."""

    @property
    def typestr(self) -> object:
        """The type string of the array interface, or None."""

    @property
    def ml_dtypes_name(self) -> str | None:
        """Its name in ml_dtypes, or None."""

    @property
    def kind(self) -> str:
        """The letter of its kind in NumPy."""

    @property
    def category(self) -> str | None:
        """Its kind for ``isdtype``."""

    @property
    def itemsize(self) -> int:
        """Size of one element [bytes]."""


@functools.cache
def load_numpy() -> Any:
    """Return NumPy, which is imported here.

    Raises BackendUnavailableError: NumPy is not installed, or older than interchange requires
        (IX-NUMPY-1).
    """
    try:
        import numpy as np
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise _refuse("NumPy is not installed") from error
    if is_too_old(np.__version__):
        raise _refuse(f"NumPy {np.__version__} is loaded")
    return np


def _refuse(what: str) -> BackendUnavailableError:
    """Return the error that there is no NumPy of a supported release."""
    return BackendUnavailableError(
        "interchange", what, "IX-NUMPY-1", f"pip install '{REQUIREMENT}'"
    )


def has_numpy() -> bool:
    """Whether NumPy is installed; it is not imported."""
    return "numpy" in sys.modules or find_spec("numpy") is not None


def is_too_old(release: str) -> bool:
    """Whether a release of NumPy is older than interchange requires.

    Examples
    --------
    >>> is_too_old("1.26.4"), is_too_old("2.1.0rc1")
    (True, False)
    """
    found = compiled(_RELEASE).match(release)
    return found is not None and (int(found[1]), int(found[2])) < LEAST


_found: Final[dict[str, Any]] = {}
"""Name of an element type -> its NumPy dtype, once it was needed."""


def numpy_dtype(dtype: Named) -> Any | None:
    """Return the NumPy dtype of `dtype`, or None if neither NumPy nor ml_dtypes has one."""
    found = _found.get(dtype.name)
    if found is None:
        found = _dtype_in(load_numpy(), dtype)
        if found is not None:
            _found[dtype.name] = found
    return found


def _dtype_in(np: Any, dtype: Named) -> Any | None:
    """Return the same for any release of NumPy."""
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
    """Return the hash of the NumPy dtype of `dtype`, or None if there is none.

    If the library that defines the dtype is not imported, the hash is computed as it does.
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
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        release = tuple(map(int, version("numpy").split(".")[:2]))
    except (PackageNotFoundError, ValueError):  # then no dtype of NumPy is compared with it
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
