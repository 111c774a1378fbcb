"""NumPy: host memory, both generations of DLPack, the buffer protocol and the array interface.

Source: https://numpy.org/doc/stable/reference/arrays.interface.html
"""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import EXTENDED, numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]


def make(shape: Shape, dtype: Any, device: str, readonly: bool) -> Any:
    """Return an array, also of element types that DLPack cannot represent."""
    need_device(device, ("cpu",), "NumPy")
    return numpy_array(shape, _dtype(dtype), readonly=readonly)


def _dtype(dtype: Any) -> Any:
    """Return an element type of NumPy, or of ml_dtypes if that is installed."""
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


def _make_plain(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array of an element type of NumPy itself, for the matrix."""
    if dtype in EXTENDED:
        raise CannotMakeError("see the row of ml_dtypes, which has it")
    return make(shape, dtype, device, readonly)


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

_KIND: Final = Kind(
    "NumPy",
    subject,
    lambda x: x.ctypes.data,
    library="numpy",
    module="numpy",
    target="numpy",
    head="NumPy",
    readonly=lambda x: not x.flags.writeable,
    make=_make_plain,
    order=1,
)
kinds: tuple[Kind, ...] = (
    _KIND,
    replace(_KIND, name="NumPy read-only", target=None, is_readonly=True),
    replace(
        _KIND,
        name="NumPy ml_dtypes",
        library="ml_dtypes",
        module="ml_dtypes",
        distribution="ml_dtypes",
        target=None,
        make=make,
        picks=lambda wanted: wanted if wanted in EXTENDED else "bfloat16",
    ),
)
kinds_on_devices: tuple[Kind, ...] = (
    replace(_KIND, name="NumPy, on the host", is_sample=False, order=101),
)
