"""NumPy: host memory, both generations of DLPack, the buffer protocol and the array interface.

Source: https://numpy.org/doc/stable/reference/arrays.interface.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..subject import Subject
from ._common import PLAIN, need_dtype, numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, ("cpu",), "NumPy")
    need_dtype(dtype, PLAIN, "NumPy")
    return numpy_array(shape, dtype, readonly=readonly)


def take(x: Any) -> Any:
    """Import by DLPack."""
    import numpy as np

    return np.from_dlpack(x)


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


subject = Subject(
    "NumPy",
    make=make,
    take=take,
    read=read,
    write=write,
    take_buffer=take_interface,
    take_array_interface=take_interface,
    distribution="numpy",
    preload=("numpy",),
)
