"""``jit(fastmath=True)``: approximate and fused operations, on the CPU and in PTX.

Source: LLVM Language Reference, "Fast-Math Flags"; PTX ISA, "Floating Point Instructions".
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from interchange import cuda

from .ptx_kernels import any_ptx
from .ptx_machine import Machine

pytestmark = pytest.mark.interop

TYPES = [cuda.float32[::1]] * 3
APPROXIMATE = ("div.approx", "sqrt.approx", "fma.rn")


def blended(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] / y[i] + x[i] * y[i] + math.sqrt(x[i])


def undefined(x, y, out):
    i = cuda.grid(1)
    out[i] = 1 if math.isnan(x[i]) else 2 if math.isinf(x[i]) else y[i]


def test_operations_are_approximate_and_fused_only_if_requested():
    """Both kernels have the same results within a few units in the last place."""
    x = np.linspace(0.1, 2, 64, dtype=np.float32)
    y, wanted = x[::-1].copy(), np.zeros_like(x)
    cuda.jit(blended)[1, 64](x, y, wanted)
    kernel, out = cuda.jit(fastmath=True)(blended), np.zeros_like(x)
    kernel[1, 64](x, y, out)
    fast, usual = any_ptx(kernel, *TYPES), any_ptx(cuda.jit(blended), *TYPES)
    on_gpu = np.zeros_like(x)
    Machine(fast).launch("blended", (1,), (64,), [x, y, on_gpu])

    assert all(opcode in fast for opcode in APPROXIMATE)
    assert not any(opcode in usual for opcode in APPROXIMATE)
    np.testing.assert_array_max_ulp(out, wanted, 4)
    np.testing.assert_array_max_ulp(on_gpu, wanted, 4)


def test_nan_and_infinity_keep_their_meaning():
    """As with nvcc --use_fast_math."""
    x = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    y, out = np.full(4, 3, np.float32), np.zeros(4, np.float32)
    cuda.jit(fastmath=True)(undefined)[1, 4](x, y, out)

    assert out.tolist() == [1, 2, 2, 3]
