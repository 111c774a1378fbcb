"""Functions that tests of launches compile: each of them makes kernels of its own."""

from __future__ import annotations

from interchange import cuda


def add(x, y, out):
    """Add two arrays."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i] + y[i]


def add_one(x):
    """Add 1 to each element."""
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] += 1


def turn(x):
    """Rotate the elements by one, through a barrier of the grid."""
    i = cuda.grid(1)
    kept = x[(i + 1) % x.size]
    cuda.cg.this_grid().sync()
    x[i] = kept
