"""Functions that kernels call: compiled once for types of arguments, on both targets.

Source: LLVM Language Reference, "Functions"; PTX ISA, "Function Calls".
"""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import float32, float64, int32, int64
from interchange.cuda.llvm.compiled import locked
from interchange.cuda.llvm.ptx import ptx_module

from .ptx_kernels import unlinked_ptx
from .ptx_machine import Machine
from .test_sources import defined

pytestmark = pytest.mark.interop
called = cuda.jit(device=True, inline="never")


@called
def clipped(x, low, high=2.5):
    if x < low:
        return low
    if x > high:
        return high
    return x


@called
def bounds(x, n):
    return (x > n, x), (clipped(x, 0), n)


@called
def product(z, w):
    return z * w


@called
def first_above(x, limit):
    for i in range(x.shape[0]):
        for k in (0, 1):
            if x[i] > limit + k:
                return i + k
    return -1


@called
def swap(x, i, k):
    x[i], x[k] = x[k], x[i]


@called
def total(pair, scale=1):
    x, (y, n) = pair
    return (x + y) * scale + n


@called
def place():
    return cuda.grid(1)


def numbers(out, x, z):
    i = place()
    if i < x.shape[0]:
        (is_above, value), (low, n) = bounds(x[i], 2)
        out[i, 0] = value * 10 + low + n + (100 if is_above else 0)
        out[i, 1] = product(z, z).real + first_above(x, x[i])
        out[i, 2] = total((x[i], (i, True)), scale=3)


def arrays(out, x, z):
    shared = cuda.shared.array(8, float64)
    own = cuda.local.array(3, int32)
    t = cuda.threadIdx.x
    shared[t] = t
    cuda.syncthreads()
    if t == 0:
        swap(shared, 1, 2)
        swap(shared[2:], 0, 1)
    for k in range(3):
        own[k] = t * 10 + k
    swap(own, 0, 2)
    cuda.syncthreads()
    if t < x.shape[0]:
        out[t, 0] = shared[t]
        out[t, 1] = own[0] + first_above(own, 3) * z.real
        swap(out[t], 1, 2)


def given():
    return np.zeros((5, 3)), np.array([-1, 0.5, 2, 3, 7]), np.complex64(1 + 2j)


TYPES = (float64[:, ::1], float64[::1], cuda.complex64)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("function", [numbers, arrays])
def test_called_functions_give_the_results_of_inlined_ones(function, debug):
    """Numbers, tuples, and arrays of all memory spaces are passed; on the CPU and in PTX."""
    kernel = cuda.jit(function, debug=debug)
    inlined = cuda.jit(races=True)(function)
    found, wanted = given(), given()
    kernel[1, 8](*found)
    inlined[1, 8](*wanted)

    assert inlined.typed(*TYPES).functions == {}
    assert any(kernel.typed(*TYPES).functions.values())
    assert np.abs(wanted[0]).sum() > 0
    assert np.array_equal(found[0], wanted[0])
    if not debug:
        left = given()
        Machine(unlinked_ptx(kernel, *TYPES)).launch(function.__name__, (1,), (8,), left)
        assert np.array_equal(left[0], wanted[0])


def chain(length):
    """Return a kernel with functions that each call the next one twice."""
    lines = [f"def f{k}(x):\n    return f{k + 1}(x) + f{k + 1}(x + 1)\n" for k in range(length)]
    text = "".join([*lines, f"def f{length}(x):\n    return x * 3 + 1\n"])
    scope = {}
    for name in reversed(range(length + 1)):
        scope[f"f{name}"] = defined(text, f"f{name}", **scope)
    return cuda.jit(defined("def doublings(o, x):\n    o[0] = f0(x)\n", "doublings", **scope))


def test_a_chain_of_doublings_is_not_inlined_without_limit():
    """Of 2,048 calls, those of 12 functions are emitted; it took 13 s, and must take below 1 s."""
    kernel, out = chain(11), np.zeros(1, np.int64)
    start = time.thread_time()
    compiled = kernel.compile(int64[::1], int64)
    spent = time.thread_time() - start
    kernel[1, 1](out, 5)
    with locked():
        ptx = str(ptx_module(kernel.typed(int64[::1], int64)))

    assert out[0] == sum(3 * (5 + n.bit_count()) + 1 for n in range(2048))
    for text in (compiled.llvm, ptx):
        assert len(re.findall(r'^define internal .*@"function_f', text, re.MULTILINE)) <= 11
        assert len(re.findall(r"= *mul i64 .*, 3$", text, re.MULTILINE)) <= 4
        assert text.count("\n") < 2000
    assert spent < 1


def test_inline_always_inserts_each_call():
    """There is no function in the code, and one for calls that are not to be inlined."""
    always = cuda.jit(lambda_like, device=True, inline="always")
    never = cuda.jit(lambda_like, device=True, inline="never")
    text = "def k(o):\n    o[0] = f(1.0) + f(o[1]) + f(2.0) + f(3.0) + f(4.0)\n"
    kernels = [cuda.jit(defined(text, "k", f=each)) for each in (always, never, lambda_like)]
    functions = [len(kernel.typed(float32[::1]).functions) for kernel in kernels]

    assert functions == [0, 2, 1]


def lambda_like(x):
    return x * 2 + 1


@called
def waits(x):
    cuda.syncthreads()
    return x + 1


def test_a_function_with_a_barrier_is_inlined():
    """Only the function of a thread can be suspended."""
    kernel = cuda.jit(defined("def k(o):\n    o[cuda.threadIdx.x] = w(w(1))\n", "k",
                              cuda=cuda, w=waits))  # fmt: skip
    out = np.zeros(40, np.int32)
    kernel[1, 40](out)
    program = kernel.typed(int32[::1])

    assert (out == 3).all()
    assert program.has_barrier
    assert [*program.functions.values()] == [None]


@called
def positive(x):
    if x < 0:
        raise ValueError("negative")
    return x


@called
def nested_positive(x):
    return positive(x) + 1


def test_raise_in_a_called_function_ends_the_thread():
    """It is reported in debug mode."""
    text = "def k(o, x):\n    i = cuda.grid(1)\n    o[i] = n(x[i])\n"
    kernel = defined(text, "k", cuda=cuda, n=nested_positive)
    out, x = np.zeros(4), np.array([1.0, -1, 2, -2])
    cuda.jit(kernel)[1, 4](out, x)

    assert out.tolist() == [2, 0, 3, 0]
    with pytest.raises(Exception, match="ValueError: negative"):
        cuda.jit(kernel, debug=True)[1, 4](out, x)


def test_writes_of_a_called_function_need_a_writable_array():
    """The argument of the kernel is named."""
    kernel = cuda.jit(defined("def k(a):\n    f(a, 0, 1)\n", "k", f=swap))
    x = np.zeros(2)
    x.flags.writeable = False

    with pytest.raises(Exception, match=r"\[CPY-ARG-2\]"):
        kernel[1, 1](x)
