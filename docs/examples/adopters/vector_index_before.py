"""Arrays of a vector index: arguments and results of two libraries, each with its own code.

A compiled index takes addresses.  Its methods exist once for NumPy and once for PyTorch, and
results are of the library of the arguments.
"""

import sys

import numpy as np
from vector_search import Store


def is_tensor(x):
    """Tell whether an argument is of PyTorch, without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def numpy_vectors(x, width):
    """Return vectors of NumPy as the index takes them."""
    if not isinstance(x, np.ndarray):
        message = f"expected an array of NumPy, not {type(x)}"
        raise TypeError(message)
    if x.ndim != 2 or x.shape[1] != width:
        message = f"expected vectors of {width} numbers, not shape {x.shape}"
        raise ValueError(message)
    return np.ascontiguousarray(x, dtype=np.float32)


def torch_vectors(x, width):
    """Return vectors of PyTorch as the index takes them."""
    import torch

    if x.ndim != 2 or x.shape[1] != width:
        message = f"expected vectors of {width} numbers, not shape {tuple(x.shape)}"
        raise ValueError(message)
    if x.device.type != "cpu":
        message = "a tensor of a GPU is not allowed for an index of the host"
        raise ValueError(message)
    if not x.is_contiguous():
        message = "the tensor is not contiguous"
        raise ValueError(message)
    if x.dtype != torch.float32:
        message = f"the elements are {x.dtype}, not float32"
        raise ValueError(message)
    return x


def torch_address(x):
    """Return the address of a tensor's elements."""
    return x.untyped_storage().data_ptr() + x.storage_offset() * x.element_size()


def numpy_result(given, shape, dtype):
    """Return memory for a result of NumPy."""
    if given is None:
        return np.empty(shape, dtype)
    if not isinstance(given, np.ndarray):
        message = "results are arrays of NumPy, as the arguments"
        raise TypeError(message)
    if given.shape != shape or given.dtype != dtype or not given.flags.c_contiguous:
        message = f"a result has shape {shape}, type {np.dtype(dtype)} and C order"
        raise ValueError(message)
    return given


def torch_result(given, shape, dtype):
    """Return memory for a result of PyTorch."""
    import torch

    if given is None:
        return torch.empty(shape, dtype=dtype)
    if not is_tensor(given):
        message = "results are tensors, as the arguments"
        raise TypeError(message)
    if tuple(given.shape) != shape or given.dtype != dtype or not given.is_contiguous():
        message = f"a result has shape {shape}, type {dtype} and C order"
        raise ValueError(message)
    return given


class Index:
    """Vectors of float32, of which the nearest are searched."""

    def __init__(self, width):
        self.width, self.store = width, Store(width)

    def add(self, x):
        """Add vectors."""
        if is_tensor(x):
            x = torch_vectors(x, self.width)
            self.store.add(len(x), torch_address(x))
        else:
            x = numpy_vectors(x, self.width)
            self.store.add(len(x), x.ctypes.data)

    def search(self, x, k, distances=None, labels=None):
        """Return squared distances and numbers of the nearest vectors, k of each query."""
        if is_tensor(x):
            return self._search_torch(x, k, distances, labels)
        return self._search_numpy(x, k, distances, labels)

    def _search_numpy(self, x, k, distances, labels):
        """Search for vectors of NumPy."""
        x = numpy_vectors(x, self.width)
        distances = numpy_result(distances, (len(x), k), np.float32)
        labels = numpy_result(labels, (len(x), k), np.int64)
        addresses = distances.ctypes.data, labels.ctypes.data
        self.store.search(len(x), x.ctypes.data, k, *addresses)
        return distances, labels

    def _search_torch(self, x, k, distances, labels):
        """Search for vectors of PyTorch."""
        import torch

        x = torch_vectors(x, self.width)
        distances = torch_result(distances, (len(x), k), torch.float32)
        labels = torch_result(labels, (len(x), k), torch.int64)
        addresses = torch_address(distances), torch_address(labels)
        self.store.search(len(x), torch_address(x), k, *addresses)
        return distances, labels

    def reconstruct(self, first, count, out=None):
        """Return stored vectors: of NumPy, or in the memory that is passed."""
        if is_tensor(out):
            import torch

            out = torch_result(out, (count, self.width), torch.float32)
            self.store.reconstruct(first, count, torch_address(out))
        else:
            out = numpy_result(out, (count, self.width), np.float32)
            self.store.reconstruct(first, count, out.ctypes.data)
        return out
