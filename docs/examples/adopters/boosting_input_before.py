"""Input of a gradient-boosting library: its C functions take matrices as JSON of array interfaces.

`matrix(data)` returns the JSON of a dense matrix of numbers and the names of its columns, from
arrays and tables of the libraries that are known here.
"""

import json
import sys
from typing import Any, NamedTuple

import numpy as np


class Matrix(NamedTuple):
    """What the library is passed, and what owns the memory."""

    interface: bytes
    names: list[str] | None
    owner: Any


def is_a(data, module, *names):
    """Tell whether an object is of a type of a module, without importing the module."""
    found = sys.modules.get(module)
    return found is not None and isinstance(data, tuple(getattr(found, name) for name in names))


def of_numpy(data, names=None):
    """Return the matrix of an array of NumPy."""
    if data.ndim != 2:
        message = f"a matrix has two axes, this array has {data.ndim}"
        raise ValueError(message)
    if data.dtype.hasobject or data.dtype.kind not in "biuf":
        message = f"elements of type {data.dtype} are not numbers"
        raise ValueError(message)
    if data.dtype in (np.bool_, np.float16):
        data = data.astype(np.float32)
    if not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    record = dict(data.__array_interface__)
    record.pop("descr", None)
    return Matrix(json.dumps(record).encode(), names, data)


def of_pandas(data):
    """Return the matrix of a frame of pandas."""
    import pandas as pd

    names, columns = [str(name) for name in data.columns], []
    for name in data.columns:
        column = data[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            message = f"column {name} is categorical"
            raise TypeError(message)
        if not pd.api.types.is_numeric_dtype(column.dtype):
            message = f"column {name} has no numbers"
            raise ValueError(message)
        if pd.api.types.is_extension_array_dtype(column.dtype):
            columns.append(column.to_numpy(dtype=np.float32, na_value=np.nan))
        else:
            columns.append(column.to_numpy())
    return of_numpy(np.column_stack(columns), names)


def of_pyarrow(data):
    """Return the matrix of a table of pyarrow."""
    import pyarrow as pa

    columns = []
    for name in data.column_names:
        column = data.column(name)
        kind = column.type
        tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean
        if not any(test(kind) for test in tests):
            message = f"column {name} has no numbers"
            raise ValueError(message)
        if column.null_count or pa.types.is_boolean(kind):
            column = column.cast(pa.float32())
        columns.append(column.to_numpy())
    return of_numpy(np.column_stack(columns), data.column_names)


def of_polars(data):
    """Return the matrix of a frame of polars."""
    import polars as pl

    for name, kind in zip(data.columns, data.dtypes, strict=True):
        if not (kind.is_numeric() or kind == pl.Boolean):
            message = f"column {name} has no numbers"
            raise ValueError(message)
    return of_pyarrow(data.to_arrow())


def of_torch(data):
    """Return the matrix of a tensor of PyTorch."""
    import torch

    if data.device.type != "cpu":
        data = data.cpu()
    data = data.detach()
    if data.dtype == torch.bfloat16:
        data = data.to(torch.float32)
    return of_numpy(data.numpy())


def of_cupy(data):
    """Return the matrix of an array of CuPy."""
    return of_numpy(data.get())


def matrix(data):
    """Return the matrix of data of a known library."""
    if isinstance(data, np.ndarray):
        return of_numpy(data)
    if is_a(data, "pandas", "DataFrame"):
        return of_pandas(data)
    if is_a(data, "pyarrow", "Table"):
        return of_pyarrow(data)
    if is_a(data, "polars", "DataFrame"):
        return of_polars(data)
    if is_a(data, "torch", "Tensor"):
        return of_torch(data)
    if is_a(data, "cupy", "ndarray"):
        return of_cupy(data)
    if hasattr(data, "__array__"):
        return of_numpy(np.asarray(data))
    if isinstance(data, (list, tuple)):
        return of_numpy(np.array(data))
    message = f"unknown data of type {type(data)}"
    raise TypeError(message)
