"""Kernels over any array, written in Python: the CUDA Python dialect.

Source: CUDA Python Specification 0.2.  They are typed by its rules, compiled by LLVM (the extra
``kernels``), and run on the CPU over whatever `interchange.asarray` takes.
"""

from __future__ import annotations

from .errors import KernelError
from .intrinsics import (
    blockDim,
    blockIdx,
    grid,
    gridDim,
    gridsize,
    shared,
    syncthreads,
    threadIdx,
)
from .kernel import Kernel, jit
from .types import (
    ArrayType,
    ScalarType,
    Signature,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    intp,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)

__all__ = [  # noqa: RUF022 - as everywhere
    "ArrayType", "Kernel", "KernelError", "ScalarType", "Signature", "blockDim", "blockIdx",
    "bool_", "complex128", "complex64", "float32", "float64", "grid", "gridDim", "gridsize",
    "int16", "int32", "int64", "int8", "intp", "jit", "shared", "syncthreads", "threadIdx",
    "uint16", "uint32", "uint64", "uint8", "void",
]  # fmt: skip
