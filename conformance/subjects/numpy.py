"""NumPy: host memory, both generations of DLPack.

Source: https://numpy.org/doc/stable/reference/arrays.interface.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..findings import CannotMakeError
from ..subject import Subject

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    import numpy as np

    if device != "cpu":
        raise CannotMakeError("NumPy has host memory only")
    try:
        x = np.zeros(shape, dtype)
    except TypeError as error:
        raise CannotMakeError(str(error)) from error
    x.flags.writeable = not readonly
    return x


def take(x: Any) -> Any:
    """Import by DLPack."""
    import numpy as np

    return np.from_dlpack(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(y.ravel().tolist())


def write(y: Any) -> None:
    """Set the first element."""
    y.flat[0] = 1


subject = Subject(
    "NumPy", make=make, take=take, read=read, write=write, distribution="numpy", preload=("numpy",)
)
