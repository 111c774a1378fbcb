"""array-api-strict: a strict implementation of the array API standard, on NumPy arrays.

Source: https://data-apis.org/array-api-strict/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.subject import Kind, Subject

from ._common import PLAIN, need_dtype, numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_DTYPES: Final = tuple(name for name in PLAIN if name != "float16")  # not in the standard


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array; a read-only one is a view of a read-only NumPy array."""
    need_device(device, ("cpu",), "array-api-strict")
    need_dtype(dtype, _DTYPES, "array-api-strict")

    import array_api_strict as xp

    return xp.asarray(numpy_array(shape, dtype, readonly=readonly), copy=False)


def take(x: Any) -> Any:
    """Import by DLPack."""
    import array_api_strict as xp

    return xp.from_dlpack(x)


def take_buffer(x: Any) -> Any:
    """Import by the buffer protocol."""
    import array_api_strict as xp

    return xp.asarray(x)


def _view(y: Any) -> Any:
    """Return the NumPy array in an array."""
    import numpy as np

    return np.asarray(y)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return list(_view(y).ravel().tolist())


def write(y: Any) -> None:
    """Set the first element."""
    import array_api_strict as xp

    y[(0,) * y.ndim] = xp.astype(xp.asarray(1), y.dtype)  # there is no implicit cast


subject: Subject = Subject(
    "array-api-strict",
    make=make,
    take=take,
    read=read,
    write=write,
    take_buffer=take_buffer,
    distribution="array-api-strict",
    preload=("array_api_strict",),
)

kinds: tuple[Kind, ...] = (
    Kind(
        "array-api-strict",
        subject,
        lambda x: _view(x).ctypes.data,
        library="array_api_strict",
        module="array_api_strict",
        target="array_api_strict",
        head="strict",
        readonly=lambda x: not _view(x).flags.writeable,
        order=2,
    ),
)
