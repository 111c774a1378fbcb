"""Kernels on the CPU as loops over threads: the same results as with a coroutine for each thread.

Source: P. Jääskeläinen et al., "pocl: A Performance-Portable OpenCL Implementation".
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import float32, float64, int32, int64

pytestmark = pytest.mark.interop


def launched(function, grid, block, *arguments):
    """Return the arguments after a launch, with threads in loops and as coroutines; both agree."""
    left = []
    for debug in (False, True):
        kernel = cuda.jit(function, debug=debug)
        given = [np.copy(each) if isinstance(each, np.ndarray) else each for each in arguments]
        kernel[grid, block](*given)
        compiled = next(iter(kernel._compiled.values()))
        assert bool(compiled.frame_size) == (debug and compiled.program.has_barrier)
        left.append(given)
    for one, other in zip(*left, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    return left[0]


def reversed_parts(x, out, times):
    """Reverse in shared memory, several times, with variables that live across barriers."""
    held = cuda.shared.array(64, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    kept, flag = 0.0, t % 2 == 0
    if i < x.size:
        kept = x[i]
    for k in range(times):
        held[t] = kept
        cuda.syncthreads()
        kept = held[cuda.blockDim.x - 1 - t] + k
        if flag:
            kept += 0.5
        cuda.syncthreads()
    if i < x.size:
        out[i] = kept


@pytest.mark.parametrize("size", [0, 1, 63, 64, 200])
def test_variables_are_kept_for_every_thread(size):
    """Also bools, and for threads beyond a guard."""
    x = np.arange(float(size))

    launched(reversed_parts, 4, 64, x, np.zeros(size), np.int64(3))


def uniform(x, out, n):
    """Barriers in branches, loops and functions whose conditions are the same for a block."""
    held = cuda.shared.array((2, 32), int64)
    t = cuda.threadIdx.x
    held[0, t] = x[cuda.grid(1)]
    cuda.syncthreads()
    k, now = 0, 0
    while k < n and now < 2:
        k += 1
        if k == 2:
            continue
        if cuda.blockIdx.x == 1 or n > 9:
            shift(held, t, k)
        else:
            held[0, t] += k
            cuda.syncthreads()
        if k > 4:
            break
    out[cuda.grid(1)] = held[0, t] + k


def shift(held, t, k):
    """Shift by one; a function with two returns and barriers."""
    held[1, t] = held[0, (t + 1) % 32]
    cuda.syncthreads()
    if k == 3:
        held[0, t] = 7 * held[1, t]
        cuda.syncthreads()
        return
    held[0, t] = held[1, t]
    cuda.syncthreads()


@pytest.mark.parametrize("n", [0, 1, 3, 12])
def test_barriers_in_uniform_branches(n):
    """The block goes one way."""
    x = np.arange(96, dtype=np.int64)

    launched(uniform, 3, 32, x, np.zeros_like(x), np.int64(n))


def three_axes(out, left, top):
    """Write where two guards on two axes hold, and on the third not at its ends."""
    i, j, k = cuda.grid(3)
    if left <= i < out.shape[2] - 1 and not (j >= out.shape[1] or j == top) and k < out.shape[0]:
        out[k, j, i] += 1 + i + 10 * j + 100 * k


def returns(out, left, top):
    """The same with returns."""
    i, j, k = cuda.grid(3)
    if i < left or i + 1 >= out.shape[2]:
        return
    if j >= out.shape[1] or k >= out.shape[0]:
        return
    if j != top:
        out[k, j, i] += 1 + i + 10 * j + 100 * k


@pytest.mark.parametrize("kernel", [three_axes, returns])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 17), (4, 8, 24), (5, 9, 23)])
@pytest.mark.parametrize("left", [-3, 0, 1, 30])
def test_guards_limit_the_loops(kernel, shape, left):
    """All threads of a guard, and no other ones."""
    expected = np.zeros(shape, np.int32)
    k, j, i = np.indices(shape)
    there = (i >= left) & (i < shape[2] - 1) & (j != 2)
    expected[there] = (1 + i + 10 * j + 100 * k)[there]

    found = launched(kernel, (4, 3, 2), (8, 4, 3), np.zeros(shape, np.int32), left, 2)

    assert (found[0] == expected).all()


def narrow(x, low, high):
    """Guards of narrow and unsigned numbers, which may overflow."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i + low < high:
        x[i, 0] = 1
    if int32(cuda.threadIdx.x) + 2147483000 > high:
        x[i, 1] = 1


def unsigned(x, low, high):
    """Compare as unsigned numbers, below 0 too."""
    t = cuda.threadIdx.x
    if cuda.uint32(t) - cuda.uint32(low) < cuda.uint32(high):
        x[t, 0] = 1


def as_unsigned(x, low, high):
    """A uniform number below 0 is a large one."""
    t = cuda.threadIdx.x
    if cuda.uint64(t) < cuda.uint64(low):
        x[t, 0] = high


@pytest.mark.parametrize("kernel", [narrow, unsigned, as_unsigned])
@pytest.mark.parametrize("low", [0, 5, -5, 2147483600])
def test_guards_that_overflow(kernel, low):
    """They hold for the threads for which they are true after the overflow."""
    launched(kernel, 1, 1000, np.zeros((1000, 2), np.int8), np.int32(low), np.int32(40))


def extremes(x, out, n):
    """Choices of values, in a uniform condition and of the threads."""
    held = cuda.shared.array(32, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    kept = 0.0
    for _ in range(min(n, 3)):
        held[t] = abs(x[i]) + kept
        cuda.syncthreads()
        kept = max(held[t], held[31 - t])
        cuda.syncthreads()
    if t < min(n, 30):
        out[i] = kept


@pytest.mark.parametrize("n", [0, 2, 7, 40])
def test_choices_between_values_do_not_wait(n):
    """The functions min, max and abs leave a kernel with barriers to loops."""
    x = np.random.default_rng(n).normal(size=64)

    launched(extremes, 2, 32, x, np.zeros(64), np.int64(n))


def test_variables_of_threads_beyond_a_guard_are_kept():
    """What they assign before the guard is read after the barrier."""

    def kernel(x, out):
        held = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        mine = x[t] * float32(2)
        if t < 20:
            held[t] = mine
        cuda.syncthreads()
        out[t] = mine + held[(t + 1) % 20]

    x = np.arange(32, dtype="f4")
    (_, out) = launched(kernel, 1, 32, x, np.zeros_like(x))

    assert (out == 2 * x + 2 * ((x + 1) % 20)).all()


def divergent(out):
    """A barrier that a part of the threads does not reach."""
    if cuda.threadIdx.x > 3:
        return
    cuda.syncthreads()
    out[cuda.threadIdx.x] = 1


def by_memory(out):
    """A loop whose end a number in shared memory decides: all threads wait, as coroutines."""
    held = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        held[0] = 3
    cuda.syncthreads()
    while held[0] > 0:
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            held[0] -= 1
        cuda.syncthreads()
    out[cuda.threadIdx.x] = held[0] + 1


def test_other_barriers_are_those_of_coroutines():
    """Their threads may diverge, which is an error."""
    kernel = cuda.jit(divergent)
    with pytest.raises(Exception, match="CPY-BARRIER-1"):
        kernel[1, 8](np.zeros(8))
    out, kernel = np.zeros(8), cuda.jit(by_memory)
    kernel[1, 8](out)

    assert (out == 1).all()
    assert next(iter(kernel._compiled.values())).frame_size


def with_local(x, out):
    """A local array that lives across barriers, and one that does not."""
    mine = cuda.local.array(3, float32)
    other = cuda.local.array(2, float32)
    held = cuda.shared.array(16, float32)
    t = cuda.threadIdx.x
    for k in range(3):
        mine[k] = x[t] + k
    held[t] = mine[t % 3]
    cuda.syncthreads()
    other[0], other[1] = mine[0], mine[2]
    out[t] = held[15 - t] + mine[1] * other[t % 2]


def local_only(x, out):
    """A local array that every thread fills, without barriers."""
    mine = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i < x.size:
        for k in range(4):
            mine[(k + i) % 4] = x[i] * k
        out[i] = mine[0] + 2 * mine[1]


@pytest.mark.parametrize("kernel", [with_local, local_only])
def test_local_arrays_belong_to_a_thread(kernel):
    """In memory of their own."""
    x = np.arange(16, dtype="f4")

    launched(kernel, 1, 16, x, np.zeros_like(x))


def escapes(reals, limits, counts, out):
    """A loop with break and continue, whose end differs from thread to thread."""
    i = cuda.grid(1)
    if i < counts.size:
        x, y, flag = float32(0), 0.25, False
        count = int32(0)
        for k in range(limits[i]):
            x = x * x + reals[0] if k % 2 == 7 else x * x + cuda.float32(k & 3) * float32(0.3)
            if x > 40:
                flag = k > 3
                break
            count += int32(1)
            if count & 2:
                continue
            y += x
        counts[i] = count
        out[i] = y + x + flag


def newton(x, out):
    """Count down and halve until a number of the thread is small; then a square root."""
    i = cuda.grid(1)
    if i < x.size:
        left, steps, bits = x[i], 0, cuda.uint32(i)
        while left > 1 and steps < 60:
            left = left / 2 if bits & cuda.uint32(1) else math.sqrt(left)
            bits = bits >> cuda.uint32(1) | bits << cuda.uint32(31)
            steps += 1
        out[i] = left + steps


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100])
def test_loops_that_end_differently(size):
    """Vectors of threads go on until the last one has left the loop; those that left change not."""
    rng = np.random.default_rng(4)
    limits = rng.integers(-2, 30, size, np.int64)
    x = np.exp(rng.normal(size=size) * 40)

    launched(newton, 4, 32, x, np.zeros(size))
    reals = np.float32([0.3])
    launched(escapes, 4, 32, reals, limits, np.zeros(size, np.int32), np.zeros(size))


def test_such_loops_are_vectors():
    """Of 16 threads: LLVM vectorises a loop that it cannot enter otherwise."""
    types = float64[::1], float64[::1]

    assert "<16 x double>" in cuda.jit(newton).inspect_llvm(*types)


def place_of_thread():
    """A device function that reads an index."""
    return cuda.threadIdx.y + 10 * cuda.threadIdx.z


def of_rows(x, out):
    """Variables that cross a barrier, where y and z are used in a function only."""
    held = cuda.shared.array((2, 3, 5), int64)
    t = cuda.threadIdx.x
    mine = x[t] + place_of_thread()
    held[place_of_thread() // 10, place_of_thread() % 10, t] = mine
    cuda.syncthreads()
    out[place_of_thread() // 10, place_of_thread() % 10, t] = mine + held[0, 0, 4 - t]


def of_y(x, out):
    """The same, where z is not used and one plane of threads does what the others do."""
    t, y = cuda.threadIdx.x, cuda.threadIdx.y
    mine = x[t] + y
    cuda.syncthreads()
    out[1, y, t] = mine + cuda.threadIdx.x


def of_x(x, out):
    """The same, where only x is used."""
    t = cuda.threadIdx.x
    mine = x[t]
    cuda.syncthreads()
    out[1, 2, t] = mine + t


@pytest.mark.parametrize("kernel", [of_rows, of_y, of_x])
def test_blocks_with_axes_that_are_not_used(kernel):
    """Every thread has a place of its own."""
    x = np.arange(5) ** 2

    launched(kernel, 1, (5, 3, 2), x, np.zeros((2, 3, 5), np.int64))


@cuda.jit(device=True)
def halved(value, k):
    """Halve a value, and add."""
    return value * 0.5 + k


def calls(x, out):
    """Call one function more often than it is written in place, between barriers."""
    held = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    held[t] = x[t]
    cuda.syncthreads()
    kept = halved(halved(held[63 - t], 1), 2)
    cuda.syncthreads()
    held[t] = halved(halved(kept, 3), 4)
    cuda.syncthreads()
    out[t] = halved(held[(t + 1) % 64], 5)


def test_functions_that_are_called_between_barriers():
    """Five calls of one function: its threads are loops, as with fewer calls."""
    x = np.arange(64.0)

    launched(calls, 1, 64, x, np.zeros(64))
