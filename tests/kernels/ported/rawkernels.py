"""Programs in the form of CuPy's ``jit.rawkernel``.

Source: CuPy's manual, "User-Defined Kernels: JIT kernel definition".
"""

from __future__ import annotations

import numpy as np

from interchange.cuda.cupyx import jit

from . import Ported
from .manual import numbers
from .scans import integers


@jit.rawkernel()
def elementwise_copy(x, y, size):
    tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    ntid = jit.gridDim.x * jit.blockDim.x
    for i in range(tid, size, ntid):
        y[i] = x[i]


@jit.rawkernel()
def reduction(x, y, size):
    tid = jit.threadIdx.x
    ntid = jit.blockDim.x
    value = np.float32(0)
    for i in range(tid, size, ntid):
        value += x[i]
    smem = jit.shared_memory(np.float32, 64)
    smem[tid] = value
    jit.syncthreads()
    if tid == np.uint32(0):
        value = np.float32(0)
        for i in range(ntid):
            value += smem[i]
        y[0] = value


@jit.rawkernel()
def count(x, out):
    i = jit.grid(1)
    if i < x.size:
        jit.atomic_add(out, x[i], 1)


@jit.rawkernel(device=True)
def squared(x, scale):
    return x * x * scale


@jit.rawkernel()
def squares(x, out):
    i = jit.grid(1)
    if i < len(out):
        out[i] = squared(x[i], np.float64(3))


@jit.rawkernel()
def shifted(x, out):
    lane = jit.laneid()
    value = x[lane]
    for step in (1, 2):
        value = jit.shfl_down_sync(0xFFFFFFFF, value, step)
    if lane + 3 < jit.warpsize:
        out[lane] = value


def expect_shifted(x, out):
    """Return each element of three lanes further on."""
    out = out.copy()
    out[:29] = x[3:]
    return {1: out}


PROGRAMS = {
    "CuPy: copy": Ported(
        lambda on, x, y, size: on(elementwise_copy)((2,), (16,), (x, y, size)),
        lambda: (numbers(70), np.zeros(70, "f4"), np.uint32(70)),
        lambda x, y, size: {1: x},
    ),
    "CuPy: reduction": Ported(
        lambda on, x, y, size: on(reduction)[1, 64](x, y, size),
        lambda: (numbers(200), np.zeros(1, "f4"), np.uint32(200)),
        lambda x, y, size: {1: np.array([x.sum()], "f4")},
        rtol=1e-5,
    ),
    "CuPy: counts": Ported(
        lambda on, x, out: on(count)[2, 32](x, out),
        lambda: (integers(60, 9), np.zeros(9, "i4")),
        lambda x, out: {1: np.bincount(x, minlength=9).astype("i4")},
    ),
    "CuPy: device function": Ported(
        lambda on, x, out: on(squares)[1, 32](x, out),
        lambda: (numbers(20, dtype="f8"), np.zeros(20)),
        lambda x, out: {1: x * x * 3},
    ),
    "CuPy: shuffles": Ported(
        lambda on, x, out: on(shifted)[1, 32](x, out),
        lambda: (integers(32, 100), np.zeros(32, "i4")),
        expect_shifted,
    ),
}
