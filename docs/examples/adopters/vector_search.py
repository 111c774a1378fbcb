"""Exhaustive search for nearest vectors; stands for a compiled library, which takes addresses."""

import ctypes

import numpy as np


def memory(address, shape, kind):
    """Return the memory at an address as an array of NumPy."""
    size = int(np.prod(shape))
    return np.ctypeslib.as_array((kind * size).from_address(address)).reshape(shape)


class Store:
    """Copies of vectors of float32."""

    def __init__(self, width):
        self.width, self.rows = width, np.empty((0, width), "f4")

    def add(self, count, vectors):
        """Append vectors."""
        new = memory(vectors, (count, self.width), ctypes.c_float)
        self.rows = np.concatenate([self.rows, new])

    def search(self, count, queries, k, distances, labels):
        """Write squared distances and numbers of the nearest vectors, k of each query."""
        x = memory(queries, (count, self.width), ctypes.c_float)
        found = ((x[:, None] - self.rows) ** 2).sum(-1)
        order = np.argsort(found, axis=1, kind="stable")[:, :k]
        memory(labels, (count, k), ctypes.c_int64)[:] = order
        memory(distances, (count, k), ctypes.c_float)[:] = np.take_along_axis(found, order, 1)

    def reconstruct(self, first, count, out):
        """Write stored vectors."""
        memory(out, (count, self.width), ctypes.c_float)[:] = self.rows[first : first + count]
