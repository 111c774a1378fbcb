"""Arrays of a vector index: arguments and results of all libraries.

A compiled index takes addresses.  Results are of the library of the arguments.
"""

from vector_search import Store

import interchange as ix

VECTORS = ix.Contract(dtype=("integral", "real floating"), ndim=2, device="cpu")
OUT = {"order": "C", "device": "cpu", "writable": True}


@ix.accepts_arrays(x=VECTORS)
def vectors(x, width):
    """Return vectors as the index takes them."""
    return x.require(shape=(None, width), name="x").astype("float32", copy=False).contiguous()


def memory(given, shape, dtype):
    """Return memory for a result."""
    if given is None:
        return ix.empty(shape, dtype)
    return ix.asarray(given).require(dtype=dtype, shape=shape, **OUT, name="a result")


def result(memory, given, x):
    """Return a result to the caller: what was passed, or an array as the argument."""
    if given is not None:
        return given
    try:
        return ix.like(memory, x)
    except ix.UnsupportedDTypeError:  # JAX has no int64 by default
        return ix.like(memory.astype("int32"), x)


class Index:
    """Vectors of float32, of which the nearest are searched."""

    def __init__(self, width):
        self.width, self.store = width, Store(width)

    def add(self, x):
        """Add vectors."""
        x = vectors(x, self.width)
        self.store.add(len(x), x.ptr)

    def search(self, x, k, distances=None, labels=None):
        """Return squared distances and numbers of the nearest vectors, k of each query."""
        rows = vectors(x, self.width)
        near = memory(distances, (len(rows), k), "float32")
        numbers = memory(labels, (len(rows), k), "int64")
        self.store.search(len(rows), rows.ptr, k, near.ptr, numbers.ptr)
        return result(near, distances, x), result(numbers, labels, x)

    def reconstruct(self, first, count, out=None):
        """Return stored vectors: an Array, or in the memory that is passed."""
        rows = memory(out, (count, self.width), "float32")
        self.store.reconstruct(first, count, rows.ptr)
        return rows if out is None else out
