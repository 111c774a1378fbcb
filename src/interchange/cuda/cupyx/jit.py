"""The names of ``cupyx.jit`` for kernels: ``@jit.rawkernel()`` and what kernels call.

Source: CuPy, "Custom kernels" (JIT kernel definition), "User-Defined Kernels" (JIT kernels).  Most
names are those of `interchange.cuda` in another spelling; types follow the same specification.
"""

from __future__ import annotations

from interchange.cuda.cooperative import cg
from interchange.cuda.intrinsics import (
    blockDim,
    blockIdx,
    grid,
    gridDim,
    gridsize,
    syncthreads,
    threadIdx,
)
from interchange.cuda.rawkernels import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_dec,
    atomic_exch,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    laneid,
    range,  # noqa: A004 - CuPy's name
    shared_memory,
)
from interchange.cuda.warps import (
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncwarp,
    warpsize,
)

from .rawkernel import RawKernel, rawkernel

__all__ = [
    "RawKernel", "atomic_add", "atomic_and", "atomic_cas", "atomic_dec", "atomic_exch",
    "atomic_inc", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "blockDim",
    "blockIdx", "cg", "grid", "gridDim", "gridsize", "laneid", "range", "rawkernel",
    "shared_memory", "shfl_down_sync", "shfl_sync", "shfl_up_sync", "shfl_xor_sync", "syncthreads",
    "syncwarp", "threadIdx", "warpsize",
]  # fmt: skip
