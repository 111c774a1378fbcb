"""Common code of the descriptions: names of element types, host memory, reading of host memory.

For libraries that do not allocate memory, or that describe memory without reading it.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import struct
import sys
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Shape = tuple[int, ...]
    Load = Callable[[int, int], bytes]

SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
REAL: Final = (*SIGNED, *UNSIGNED, *FLOATS)
PLAIN: Final = ("bool", *REAL, *COMPLEX)
"""Element types of NumPy that other libraries also have."""
EXTENDED: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
"""Element types that NumPy has from ml_dtypes."""

_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "bfloat16": "H",  # the upper half of a float32
    "float32": "f",
    "float64": "d",
    "complex64": "ff",
    "complex128": "dd",
}


def need_dtype(dtype: str, known: Collection[str], library: str) -> None:
    """Refuse an element type that a library does not support."""
    if dtype not in known:
        raise CannotMakeError(f"{library} has no {dtype}")


def need_writable(readonly: bool, library: str) -> None:
    """Refuse to make read-only memory."""
    if readonly:
        raise CannotMakeError(f"{library} cannot say that memory is read-only")


def numpy_array(shape: Shape, dtype: str, *, readonly: bool = False) -> Any:
    """Return a NumPy array, for libraries that do not allocate memory."""
    import numpy as np

    try:
        x = np.zeros(shape, dtype)
    except ValueError as error:  # too many axes
        raise CannotMakeError(f"{len(shape)} axes: {error}") from error
    x.flags.writeable = not readonly
    return x


def numpy_dtype(name: str) -> Any:
    """Return the dtype of NumPy or ml_dtypes with a name."""
    import numpy as np

    return np.dtype(
        getattr(importlib.import_module("ml_dtypes"), name) if name in EXTENDED else name
    )


def described(address: int, x: Any, load: Load | None = None) -> list[Any]:
    """Return the elements of a one-dimensional object that only describes memory."""
    import numpy as np

    dtype = numpy_dtype(str(x.dtype).rpartition(".")[2])
    (length,), (step,) = x.shape, x.strides or (1,)
    data = (load or load_host)(address, ((length - 1) * step + 1) * dtype.itemsize)
    return list(np.ndarray((length,), dtype, data, 0, (step * dtype.itemsize,)).tolist())


def itemsize(dtype: str) -> int:
    """Return the size of an element [bytes]."""
    return struct.calcsize(f"={_FORMATS[dtype]}")


def load_host(address: int, nbytes: int) -> bytes:
    """Return the bytes at a host address."""
    return ctypes.string_at(address, nbytes)


def elements(
    address: int, shape: Shape, strides: Shape | None, dtype: str, load: Load = load_host
) -> list[Any]:
    """Return the elements of described memory, in C order.

    Parameters
    ----------
    address : int
        Address of the first element.
    shape : tuple of int
        Extents [elements].
    strides : tuple of int or None
        Strides [elements]; None for C order.
    dtype : str
        Name of the element type.
    load : callable, optional
        ``load(address, nbytes)`` -> bytes; reads host memory by default.
    """
    if dtype not in _FORMATS:
        raise NotApplicable(f"the kit cannot read numbers of {dtype}")
    size = itemsize(dtype)
    if strides is None:
        strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    indices = itertools.product(*map(range, shape))
    offsets = [sum(i * step for i, step in zip(index, strides, strict=True)) for index in indices]
    if not offsets:
        return []
    low = min(offsets)
    data = load(address + low * size, (max(offsets) - low + 1) * size)
    return [_number(data, (offset - low) * size, dtype) for offset in offsets]


def _number(data: bytes, at: int, dtype: str) -> Any:
    """Return the element at a byte offset."""
    number, *rest = struct.unpack_from(f"={_FORMATS[dtype]}", data, at)
    if dtype == "bfloat16":
        return struct.unpack("=f", struct.pack("=I", number << 16))[0]
    return complex(number, rest[0]) if rest else number


_ONES: Final = {"float8_e4m3fn": b"\x38", "float8_e5m2": b"\x3c"}


def one(dtype: str) -> bytes:
    """Return the bytes of an element of value 1."""
    if dtype in _ONES:
        return _ONES[dtype]
    if dtype == "bfloat16":
        return struct.pack("=f", 1)[2:] if sys.byteorder == "little" else struct.pack("=f", 1)[:2]
    numbers = (1, 0)[: len(_FORMATS[dtype])]
    return struct.pack(f"={_FORMATS[dtype]}", *numbers)
