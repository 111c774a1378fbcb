"""Programs in the form of numba-cuda's manual: positions of threads, tiles, atomics, grid sync.

Source: numba-cuda's manual, "Writing CUDA Kernels", "Memory management", "Examples".
"""

from __future__ import annotations

import math

import numpy as np

from interchange import cuda
from interchange.cuda import float32, int32

from . import Ported

TPB = 8
WIDTH = np.int64(32)


def numbers(*shape, seed=3, dtype="f4"):
    """Return random numbers."""
    return np.random.default_rng(seed).random(shape).astype(dtype)


# ---------------------------------------------------------------- positions of threads


@cuda.jit
def increment_by_one(an_array):
    tx = cuda.threadIdx.x
    ty = cuda.blockIdx.x
    bw = cuda.blockDim.x
    pos = tx + ty * bw
    if pos < an_array.size:
        an_array[pos] += 1


@cuda.jit
def increment_a_2D_array(an_array):
    x, y = cuda.grid(2)
    if x < an_array.shape[0] and y < an_array.shape[1]:
        an_array[x, y] += 1


@cuda.jit
def add_scaled(x, y, out, factor=2.0):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] = x[i] * np.float32(factor) + y[i]


@cuda.jit
def laplacian(volume, out):
    i, j, k = cuda.grid(3)
    nx, ny, nz = volume.shape
    if 0 < i < nx - 1 and 0 < j < ny - 1 and 0 < k < nz - 1:
        total = -6 * volume[i, j, k]
        for step in (-1, 1):
            total += volume[i + step, j, k] + volume[i, j + step, k] + volume[i, j, k + step]
        out[i, j, k] = total


def expect_laplacian(volume, out):
    """Return the sums over the neighbours within."""
    inner = volume[1:-1, 1:-1, 1:-1]
    total = -6 * inner
    for axis in range(3):
        for step in (-1, 1):
            total = total + np.roll(volume, step, axis)[1:-1, 1:-1, 1:-1]
    out = out.copy()
    out[1:-1, 1:-1, 1:-1] = total
    return {1: out}


# ---------------------------------------------------------------- products of matrices


@cuda.jit
def matmul(A, B, C):
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.0
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp


@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = (A.shape[1] + TPB - 1) // TPB
    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


# ---------------------------------------------------------------- reductions


@cuda.jit
def array_sum(data):
    tid = cuda.threadIdx.x
    size = len(data)
    if tid < size:
        i = cuda.grid(1)
        shr = cuda.shared.array(WIDTH, int32)
        shr[tid] = data[i]
        cuda.syncthreads()
        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                shr[tid] += shr[tid + s]
            s *= 2
            cuda.syncthreads()
        if tid == 0:
            data[tid] = shr[tid]


@cuda.jit
def max_example(result, values):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    bdim = cuda.blockDim.x
    i = (bid * bdim) + tid
    if i < len(values):
        cuda.atomic.max(result, 0, values[i])


@cuda.jit
def max_of_3D(result, values):
    i, j, k = cuda.grid(3)
    cuda.atomic.max(result, (0, 1, 2), values[i, j, k])


@cuda.jit
def dynamic_views(out):
    dyn_floats = cuda.shared.array(0, dtype=float32)
    dyn_ints = cuda.shared.array(0, dtype=int32)
    half = dyn_floats[16:]
    t = cuda.threadIdx.x
    if t < 16:
        dyn_ints[t] = t * t
        half[t] = t + 0.5
    cuda.syncthreads()
    if t < 16:
        out[t] = dyn_ints[15 - t] + half[15 - t]


# ---------------------------------------------------------------- the grid together


@cuda.jit
def solve_heat_equation(buf_0, buf_1, timesteps, k):
    i = cuda.grid(1)
    if i >= len(buf_0):
        return
    grid = cuda.cg.this_grid()
    for step in range(timesteps):
        if (step % 2) == 0:
            data = buf_0
            next_data = buf_1
        else:
            data = buf_1
            next_data = buf_0
        curr_temp = data[i]
        if i == 0:
            next_temp = curr_temp + k * (data[i + 1] - (2 * curr_temp))
        elif i == len(data) - 1:
            next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp))
        else:
            next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp) + data[i + 1])
        next_data[i] = next_temp
        grid.sync()


def expect_heat(first, second, timesteps, k):
    """Return the temperatures after the last steps."""
    buffers = [first.copy(), second.copy()]
    for step in range(timesteps):
        data = np.pad(buffers[step % 2], 1)
        buffers[(step + 1) % 2] = data[1:-1] + k * (data[:-2] - 2 * data[1:-1] + data[2:])
    return dict(enumerate(buffers))


@cuda.jit
def sessionize(user_id, timestamp, results):
    gid = cuda.grid(1)
    size = len(user_id)
    if gid >= size:
        return
    is_first_datapoint = gid == 0
    if not is_first_datapoint:
        new_user = user_id[gid] != user_id[gid - 1]
        timed_out = timestamp[gid] - timestamp[gid - 1] > 30
        is_sess_boundary = new_user or timed_out
    else:
        is_sess_boundary = True
    results[gid] = gid if is_sess_boundary else 0
    grid = cuda.cg.this_grid()
    grid.sync()
    if is_sess_boundary:
        look_ahead = gid + 1
        while look_ahead < size and results[look_ahead] == 0:
            results[look_ahead] = gid
            look_ahead += 1


def expect_sessions(user_id, timestamp, results):
    """Return the first place of every session."""
    starts = np.ones(len(user_id), bool)
    starts[1:] = (np.diff(user_id) != 0) | (np.diff(timestamp) > 30)
    return {2: np.maximum.accumulate(np.where(starts, np.arange(len(results)), 0))}


# ---------------------------------------------------------------- functions of devices


@cuda.jit(device=True)
def clamped(value, low=0.0, high=1.0):
    if value < low:
        return low
    if value > high:
        return high
    return value


@cuda.jit(device=True)
def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@cuda.jit
def to_polar(points, out):
    i = cuda.grid(1)
    if i < points.shape[0]:
        r, phi = polar(points[i, 0], points[i, 1])
        out[i, 0] = clamped(r, high=0.75)
        out[i, 1] = phi


def expect_polar(points, out):
    """Return radius and angle."""
    r = np.minimum(np.hypot(points[:, 0], points[:, 1]), 0.75)
    return {1: np.stack([r, np.arctan2(points[:, 1], points[:, 0])], 1).astype(out.dtype)}


@cuda.jit(device=True)
def normal_distribution(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


@cuda.jit
def black_scholes(call, put, S, X, T, R, V):
    i = cuda.grid(1)
    if i >= S.shape[0]:
        return
    sqrt_t = math.sqrt(T[i])
    d1 = (math.log(S[i] / X[i]) + (R + 0.5 * V * V) * T[i]) / (V * sqrt_t)
    d2 = d1 - V * sqrt_t
    exp_rt = math.exp(-1.0 * R * T[i])
    call[i] = S[i] * normal_distribution(d1) - X[i] * exp_rt * normal_distribution(d2)
    put[i] = X[i] * exp_rt * (1.0 - normal_distribution(d2)) - S[i] * (
        1.0 - normal_distribution(d1)
    )


def make_options():
    """Return prices, strikes and times, and the room for results."""
    s, x, t = (numbers(20, seed=seed, dtype="f8") * 20 + 5 for seed in (1, 2, 3))
    return np.zeros(20), np.zeros(20), s, x, t / 10, 0.02, 0.3


def expect_options(call, put, s, x, t, r, v):
    """Return the prices of options."""
    phi = np.vectorize(lambda z: 0.5 * (1 + math.erf(z / math.sqrt(2))))
    d1 = (np.log(s / x) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    paid = x * np.exp(-r * t)
    return {0: s * phi(d1) - paid * phi(d2), 1: paid * phi(-d2) - s * phi(-d1)}


# ---------------------------------------------------------------- their arguments and results

PROGRAMS = {
    "increment by one": Ported(
        lambda on, x: on(increment_by_one)[5, 8](x),
        lambda: (np.arange(37, dtype="f4"),),
        lambda x: {0: x + 1},
    ),
    "increment a matrix": Ported(
        lambda on, x: on(increment_a_2D_array)[(3, 3), (4, 4)](x),
        lambda: (np.arange(99.0).reshape(9, 11),),
        lambda x: {0: x + 1},
    ),
    "grid stride with a default": Ported(
        lambda on, x, y, out: on(add_scaled)[2, 8](x, y, out),
        lambda: (numbers(37), numbers(37, seed=4), np.zeros(37, "f4")),
        lambda x, y, out: {2: x * np.float32(2) + y},
    ),
    "Laplacian in 3-D": Ported(
        lambda on, x, out: on(laplacian)[(2, 2, 2), (4, 4, 4)](x, out),
        lambda: (numbers(6, 7, 5, dtype="f8"), np.zeros((6, 7, 5))),
        expect_laplacian,
        rtol=1e-12,
        atol=1e-12,
    ),
    "matmul": Ported(
        lambda on, a, b, c: on(matmul)[(2, 2), (8, 8)](a, b, c),
        lambda: (numbers(9, 7), numbers(7, 11), np.zeros((9, 11), "f4")),
        lambda a, b, c: {2: a @ b},
        rtol=1e-5,
    ),
    "fast matmul": Ported(
        lambda on, a, b, c: on(fast_matmul)[(2, 2), (TPB, TPB)](a, b, c),
        lambda: (numbers(9, 13), numbers(13, 11), np.zeros((9, 11), "f4")),
        lambda a, b, c: {2: a @ b},
        rtol=1e-5,
    ),
    "array sum": Ported(
        lambda on, x: on(array_sum)[1, int(WIDTH)](x),
        lambda: (np.arange(32, dtype="i4"),),
        lambda x: {0: np.array([x.sum(), *x[1:]], "i4")},
    ),
    "maximum by an atomic": Ported(
        lambda on, result, x: on(max_example)[4, 16](result, x),
        lambda: (np.zeros(1), numbers(60, dtype="f8")),
        lambda result, x: {0: np.array([x.max()])},
    ),
    "maximum by an atomic at a tuple": Ported(
        lambda on, result, x: on(max_of_3D)[(2, 2, 2), (2, 1, 2)](result, x),
        lambda: (np.zeros((2, 2, 3), "f4"), numbers(4, 2, 4)),
        lambda result, x: {
            0: np.where(np.arange(12).reshape(2, 2, 3) == 5, x.max(), np.float32(0))
        },
    ),
    "views of dynamic shared memory": Ported(
        lambda on, out: on(dynamic_views)[1, 32, 0, 128](out),
        lambda: (np.zeros(16, "f4"),),
        lambda out: {0: (np.arange(16)[::-1] ** 2 + np.arange(16)[::-1] + 0.5).astype("f4")},
    ),
    "heat equation": Ported(
        lambda on, a, b, steps, k: on(solve_heat_equation)[3, 8](a, b, steps, k),
        lambda: (np.eye(1, 24)[0] * 100, np.zeros(24), 7, 0.25),
        expect_heat,
        rtol=1e-12,
    ),
    "sessions of clicks": Ported(
        lambda on, users, times, out: on(sessionize)[3, 14](users, times, out),
        lambda: (
            np.repeat(np.arange(6), 7),
            np.cumsum(np.random.default_rng(5).integers(1, 40, 42)),
            np.zeros(42, "i8"),
        ),
        expect_sessions,
    ),
    "tuples from device functions": Ported(
        lambda on, x, out: on(to_polar)[2, 16](x, out),
        lambda: (numbers(23, 2) - np.float32(0.5), np.zeros((23, 2), "f4")),
        expect_polar,
        rtol=1e-5,
        atol=1e-6,
    ),
    "Black and Scholes": Ported(
        lambda on, *given: on(black_scholes)[2, 16](*given),
        make_options,
        expect_options,
        rtol=1e-9,
        atol=1e-9,
    ),
}
