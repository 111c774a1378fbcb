"""Kernels in the form of CuPy: every name of ``cupyx.jit``, and what is refused.

Source: CuPy, "Custom kernels" (JIT kernel definition).
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import float64, int32
from interchange.cuda.cupyx import jit

from .ptx_kernels import InterpretedKernel

pytestmark = pytest.mark.interop

ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


@jit.rawkernel(device=True)
def sum_of_range(n):
    total = 0
    for i in jit.range(1, n, 2, unroll=4):
        total += i
    for i in jit.range(n, unroll=True):
        total += i
    return total


@jit.rawkernel()
def all_names(x, out):
    t = jit.threadIdx.x
    i, _ = jit.grid(2)
    n, _ = jit.gridsize(2)
    static = jit.shared_memory(np.int32, 32)
    other = jit.shared_memory(dtype=np.int32, size=32)
    dynamic = jit.shared_memory(np.int32, None)
    static[t] = x[i]
    other[t] = i
    dynamic[t] = sum_of_range(t)
    jit.syncthreads()
    value = static[jit.blockDim.x - 1 - t] + 1000 * other[31 - t] + n
    value += jit.shfl_down_sync(0xFFFFFFFF, value, 1, width=2) * (t % 2 == 0)
    value += jit.shfl_up_sync(0xFFFFFFFF, t, 1) + jit.shfl_xor_sync(0xFFFFFFFF, t, 3)
    value += jit.shfl_sync(0xFFFFFFFF, t, 5)
    jit.syncwarp()
    out[i] = value + dynamic[t] + jit.laneid() * jit.warpsize
    out[i] += jit.gridDim.x + jit.blockIdx.x


def expect_all(x):
    """Return what the kernel stores, for two blocks of 32 threads."""
    i = np.arange(64)
    t = i % 32
    value = x.reshape(2, 32)[:, ::-1].ravel() + 1000 * i.reshape(2, 32)[:, ::-1].ravel() + 64
    value = value + np.where(t % 2 == 0, np.roll(value, -1), 0)
    value = value + np.maximum(t - 1, 0) + (t ^ 3) + 5
    ranges = np.array([sum(range(1, n, 2)) + sum(range(n)) for n in range(32)])
    return value + ranges[t] + t * 32 + 2 + i // 32


def on_cpu(kernel):
    return kernel


@pytest.mark.parametrize("target", [on_cpu, InterpretedKernel])
def test_the_names_of_cupy_have_their_meaning(target):
    """As machine code of the CPU and as PTX; two shared arrays have different memory."""
    x, out = np.arange(64, dtype="i4") * 7, np.zeros(64, "i8")

    target(all_names)((2,), (32,), (x, out), shared_mem=128)

    assert out.tolist() == expect_all(x).tolist()


@pytest.mark.parametrize("name", ATOMICS)
def test_an_atomic_operation_is_that_of_numba(name):
    """It has another name only."""
    same = {"and": "and_", "or": "or_"}.get(name, name)

    assert getattr(jit, f"atomic_{name}") is getattr(cuda.atomic, same)


def test_both_forms_of_a_launch_are_taken():
    """Sizes are ints or tuples, and the stream may be left out."""
    found = []
    for launch in (
        lambda *given: all_names((2,), (32,), given, 128),
        lambda *given: all_names((2, 1), 32, list(given), shared_mem=128, stream=None),
        all_names[2, 32, None, 128],
    ):
        out = np.zeros(64, "i8")
        launch(np.ones(64, "i4"), out)
        found.append(out.tolist())

    assert found[0] == found[1] == found[2] == expect_all(np.ones(64)).tolist()


def test_numpy_mode_is_refused():
    """Types follow one specification."""
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-JIT-1\]"):
        jit.rawkernel(mode="numpy")


def test_arguments_that_are_no_tuple_are_refused():
    """One array is a tuple of one."""
    with pytest.raises(ix.ArgumentError, match=r"no tuple.*\[CPY-LAUNCH-1\]"):
        all_names((1,), (32,), np.zeros(64))


def no_size(x):
    x[0] = len(jit.shared_memory(np.int32))


def computed_size(x):
    jit.shared_memory(np.int32, len(x))


def zero_size(x):
    x[0] = len(jit.shared_memory(np.int32, 0))


def lane_of(x):
    x[0] = jit.laneid(1)


def computed_unroll(x):
    for i in jit.range(3, unroll=len(x)):
        x[i] = 1


def another_keyword(x):
    for i in jit.range(stop=3):
        x[i] = 1


def keyword_of_python(x):
    for i in range(3, unroll=4):
        x[i] = 1


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (no_size, "CPY-SHARED-1"),
        (computed_size, "CPY-SHARED-1"),
        (zero_size, "CPY-SHARED-1"),
        (lane_of, "CPY-CALL-1"),
        (computed_unroll, "CPY-NPM-3"),
        (another_keyword, "CPY-NPM-3"),
        (keyword_of_python, "CPY-NPM-3"),
    ],
)
def test_wrong_calls_in_kernels_are_refused(function, rule):
    """Sizes and `unroll` are constants."""
    with pytest.raises(cuda.KernelError, match=rf"\[{rule}\]"):
        jit.rawkernel()(function).typed(float64[::1])


@pytest.mark.parametrize("name", ["laneid", "shared_memory", "range", "atomic_add"])
def test_a_name_of_kernels_is_refused_outside(name):
    """The error is that of every function that kernels call."""
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-NAME-2\]"):
        getattr(jit, name)(int32)
