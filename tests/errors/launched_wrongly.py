"""A kernel that programs of the tables launch wrongly: kernels are defined in files."""

from __future__ import annotations

from interchange import cuda


@cuda.jit
def double(a):
    """Double each element."""
    place = cuda.grid(1)
    if place < a.size:
        a[place] = 2 * a[place]
