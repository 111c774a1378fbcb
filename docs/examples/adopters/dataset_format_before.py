"""Rows of a data set as tensors: columns of Arrow become arrays of the library of a model.

`formatted(table, library)` returns a dict of the columns, with NumPy between Arrow and the library.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa


def chunk_to_numpy(chunk):
    """Return the elements of one chunk: an array, or a list of arrays of several lengths."""
    kind = chunk.type
    if pa.types.is_fixed_size_list(kind):
        values = chunk_to_numpy(chunk.flatten())
        return values.reshape(len(chunk), kind.list_size, *values.shape[1:])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if chunk.null_count:
            return [None if row is None else np.array(row) for row in chunk.to_pylist()]
        values, offsets = chunk_to_numpy(chunk.flatten()), chunk.offsets.to_numpy()
        offsets = offsets - offsets[0]
        return [values[start:stop] for start, stop in pairwise(offsets)]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return chunk.to_pylist()
    if pa.types.is_boolean(kind) or chunk.null_count:
        return chunk.to_numpy(zero_copy_only=False)  # nulls become NaN
    return chunk.to_numpy(zero_copy_only=True)


def column_to_numpy(column):
    """Return the elements of a column in any number of chunks."""
    parts = [chunk_to_numpy(chunk) for chunk in column.chunks]
    if not parts:
        return np.empty(0)
    if isinstance(parts[0], list):
        rows = [row for part in parts for row in part]
        return stacked(rows)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def stacked(rows):
    """Return rows as one array if they have one shape."""
    arrays = [row for row in rows if isinstance(row, np.ndarray)]
    if arrays and len(arrays) == len(rows):
        first = arrays[0]
        if all(row.shape == first.shape and row.dtype == first.dtype for row in arrays):
            return np.stack(arrays)
    return rows


def default_dtype(array):
    """Return the type that models get: int64 and float32, whatever the type of the column is."""
    if np.issubdtype(array.dtype, np.integer):
        return np.dtype(np.int64)
    if np.issubdtype(array.dtype, np.floating):
        return np.dtype(np.float32)
    return array.dtype


def to_numpy(array):
    """Return an array of NumPy."""
    return np.asarray(array, dtype=default_dtype(array))


def to_torch(array):
    """Return a tensor of PyTorch, whose memory is always writable."""
    import torch

    array = to_numpy(array)
    if not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array)


def to_jax(array):
    """Return an array of JAX, which has no 64-bit types by default."""
    import jax
    import jax.numpy as jnp

    array = to_numpy(array)
    if array.dtype == np.int64 and not jax.config.jax_enable_x64:
        array = array.astype(np.int32)
    return jnp.array(array)


LIBRARIES = {"numpy": to_numpy, "torch": to_torch, "jax": to_jax}


def formatted(table, library):
    """Return the columns of a table as arrays of a library; text remains text."""
    make, found = LIBRARIES[library], {}
    for name in table.column_names:
        values = column_to_numpy(table.column(name))
        if isinstance(values, np.ndarray):
            found[name] = make(values)
        else:
            found[name] = [make(row) if isinstance(row, np.ndarray) else row for row in values]
    return found
