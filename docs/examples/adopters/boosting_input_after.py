"""Input of a gradient-boosting library: its C functions take matrices as JSON of array interfaces.

`matrix(data)` returns the JSON of a dense matrix of numbers and the names of its columns, from
arrays and tables of any library.
"""

import json
from typing import Any, NamedTuple

import interchange as ix

NUMBERS = "bool", "integral", "real floating"
WIDE = {"float32", "float64", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))}


class Matrix(NamedTuple):
    """What the library is passed, and what owns the memory."""

    interface: bytes
    names: list[str] | None
    owner: Any


def joined(columns):
    """Return one array of columns of any type, in which nulls are NaN."""
    rows = next(iter(columns.values()))[0].size
    out = ix.empty((len(columns), rows), "float64")
    for axis, (values, valid) in enumerate(columns.values()):
        if valid is not None:
            filled = ix.xp.where(valid, values.astype("float64"), ix.xp.nan)
        else:
            filled = values
        ix.copyto(out[axis], filled, casting="same_kind")
    return out.T


def matrix(data):
    """Return the matrix of an array or a table."""
    names = None
    if hasattr(data, "__arrow_c_stream__"):
        columns = ix.from_arrow(data, columns=True, nulls="separate")
        names, data = list(columns), joined(columns)
    elif isinstance(data, (list, tuple)):
        data = ix.xp.asarray(data)
    data = ix.asarray(data).require(dtype=NUMBERS, ndim=2, name="data")
    if not data.device.is_host_accessible:
        data = data.cpu()
    if str(data.dtype) not in WIDE:  # bools, float16, bfloat16, float8
        data = data.astype("float32")
    return Matrix(json.dumps(data.__array_interface__).encode(), names, data)
