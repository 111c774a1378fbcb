"""NumPy: host memory, both generations of DLPack, the buffer protocol and the array interface.

Source: https://numpy.org/doc/stable/reference/arrays.interface.html
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._common import numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: Any, device: str, readonly: bool) -> Any:
    """Return an array, of elements that DLPack has no words for too."""
    need_device(device, ("cpu",), "NumPy")
    return numpy_array(shape, _dtype(dtype), readonly=readonly)


def _dtype(dtype: Any) -> Any:
    """Return an element type of NumPy's, or of ml_dtypes where that is installed."""
    import numpy as np

    try:
        return np.dtype(dtype)
    except TypeError as error:
        unknown = error
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), dtype))
    raise CannotMakeError(f"NumPy has no {dtype}: {unknown}")


def take(x: Any) -> Any:
    """Import by DLPack."""
    import numpy as np

    return np.from_dlpack(x)


def take_with(x: Any, copy: bool | None = None, device: Any = None) -> Any:
    """Import by DLPack, with the standard's keywords."""
    import numpy as np

    return np.from_dlpack(x, copy=copy, device=device)


def take_interface(x: Any) -> Any:
    """Import by the buffer protocol or, failing that, by the array interface."""
    import numpy as np

    return np.asarray(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.ravel().tolist())


def write(y: Any) -> None:
    """Set the first element."""
    y.flat[0] = 1


subject: Subject = Subject(
    "NumPy",
    make=make,
    take=take,
    take_with=take_with,
    read=read,
    write=write,
    take_buffer=take_interface,
    take_array_interface=take_interface,
    distribution="numpy",
    preload=("numpy",),
)
