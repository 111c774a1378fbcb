"""Stencils, bodies, transforms and layers of networks, in the form of numba-cuda's users.

Source: numba-cuda's manual (local and constant memory, random numbers); Cooley and Tukey, "An
algorithm for the machine calculation of complex Fourier series"; Ba et al., "Layer Normalization";
Milakov and Gimelshein, "Online normalizer calculation for softmax"; Blackman and Vigna, "Scrambled
Linear Pseudorandom Number Generators".
"""

from __future__ import annotations

import math

import numpy as np

from interchange import cuda
from interchange.cuda import complex64, float32
from interchange.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float32,
)

from . import Ported
from .manual import numbers
from .scans import warp_sum

WEIGHTS = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], "f4") / np.float32(16)
N = 16  # points of a transform
RADIUS = 2
EPSILON = 1e-5


# ---------------------------------------------------------------- stencils


@cuda.jit
def blur(image, out):
    weights = cuda.const.array_like(WEIGHTS)
    x, y = cuda.grid(2)
    h, w = image.shape
    if x >= w or y >= h:
        return
    total: float32 = 0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            row = min(max(y + dy, 0), h - 1)
            column = min(max(x + dx, 0), w - 1)
            total += weights[dy + 1, dx + 1] * image[row, column]
    out[y, x] = total


def expect_blur(image, out):
    """Return the weighted sums, with the borders repeated."""
    wide = np.pad(image, 1, mode="edge")
    h, w = image.shape
    return {1: sum(WEIGHTS[i, j] * wide[i : i + h, j : j + w] for i in range(3) for j in range(3))}


@cuda.jit
def halo_mean(x, out):
    tile = cuda.shared.array(16 + 2 * RADIUS, dtype=float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = x.shape[0]
    tile[t + RADIUS] = x[i] if i < n else 0
    if t < RADIUS:
        tile[t] = x[i - RADIUS] if i >= RADIUS else 0
        right = i + cuda.blockDim.x
        tile[t + RADIUS + cuda.blockDim.x] = x[right] if right < n else 0
    cuda.syncthreads()
    if i < n:
        total = float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            total += tile[t + RADIUS + k]
        out[i] = total / (2 * RADIUS + 1)


@cuda.jit
def game_of_life(board, out):
    y, x = cuda.grid(2)
    h, w = board.shape
    if y < h and x < w:
        alive = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy == 0 and dx == 0:
                    continue
                alive += board[(y + dy) % h, (x + dx) % w]
        out[y, x] = 1 if alive == 3 or (board[y, x] and alive == 2) else 0


def expect_life(board, out):
    """Return the next generation on a torus."""
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    alive = sum(np.roll(board, shift, (0, 1)).astype(int) for shift in shifts)
    return {1: ((alive == 3) | ((board == 1) & (alive == 2))).astype(board.dtype)}


@cuda.jit
def median_of_nine(image, out):
    y, x = cuda.grid(2)
    h, w = image.shape
    if y < 1 or x < 1 or y >= h - 1 or x >= w - 1:
        return
    window = cuda.local.array(9, dtype=image.dtype)
    n = 0
    for row in range(y - 1, y + 2):
        for column in range(x - 1, x + 2):
            value = image[row, column]
            k = n
            while k > 0 and window[k - 1] > value:
                window[k] = window[k - 1]
                k -= 1
            window[k] = value
            n += 1
    out[y, x] = window[4]


def expect_median(image, out):
    """Return the medians within, 0 at the borders."""
    h, w = image.shape
    views = [image[i : h - 2 + i, j : w - 2 + j] for i in range(3) for j in range(3)]
    out = out.copy()
    out[1:-1, 1:-1] = np.median(np.stack(views), axis=0)
    return {1: out}


# ---------------------------------------------------------------- bodies, and complex numbers


@cuda.jit(device=True, inline="always")
def attraction(position, other, force, softening=1e-3):
    dx = other[0] - position[0]
    dy = other[1] - position[1]
    dz = other[2] - position[2]
    squared = dx * dx + dy * dy + dz * dz + np.float32(softening)
    strength = other[3] / (squared * math.sqrt(squared))
    force[0] += dx * strength
    force[1] += dy * strength
    force[2] += dz * strength


@cuda.jit
def forces_of_bodies(bodies, forces):
    i, t = cuda.grid(1), cuda.threadIdx.x
    n = bodies.shape[0]
    mine = cuda.local.array(4, float32)
    total = cuda.local.array(3, float32)
    tile = cuda.shared.array((8, 4), float32)
    for k in range(3):
        total[k] = 0
    for k in range(4):
        mine[k] = bodies[i, k] if i < n else 0
    for start in range(0, n, 8):
        for k in range(4):
            tile[t, k] = bodies[start + t, k] if start + t < n else 0
        cuda.syncthreads()
        for j in range(8):
            attraction(mine, tile[j], total)
        cuda.syncthreads()
    if i < n:
        for k in range(3):
            forces[i, k] = total[k]


def expect_forces(bodies, forces):
    """Return the sums of the forces."""
    wide = bodies.astype("f8")
    away = wide[None, :, :3] - wide[:, None, :3]
    squared = (away**2).sum(axis=2) + 1e-3
    strength = wide[None, :, 3] / squared**1.5
    return {1: (away * strength[:, :, None]).sum(axis=1).astype("f4")}


@cuda.jit(device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    height, width = image.shape
    pixel_x, pixel_y = (max_x - min_x) / width, (max_y - min_y) / height
    startX, startY = cuda.grid(2)
    gridX = cuda.gridDim.x * cuda.blockDim.x
    gridY = cuda.gridDim.y * cuda.blockDim.y
    for x in range(startX, width, gridX):
        real = min_x + x * pixel_x
        for y in range(startY, height, gridY):
            imag = min_y + y * pixel_y
            image[y, x] = mandel(real, imag, iters)


def expect_mandel(min_x, max_x, min_y, max_y, image, iters):
    """Return the numbers of iterations."""
    h, w = image.shape
    found = np.zeros_like(image)
    for y in range(h):
        for x in range(w):
            real, imag = min_x + x * ((max_x - min_x) / w), min_y + y * ((max_y - min_y) / h)
            c, z, count = complex(real, imag), 0j, iters
            for i in range(iters):
                z = z * z + c
                if z.real**2 + z.imag**2 >= 4:
                    count = i
                    break
            found[y, x] = count
    return {4: found}


@cuda.jit
def fft(x, out):
    even = cuda.shared.array((2, N), dtype=complex64)
    t = cuda.threadIdx.x
    even[0, t] = x[cuda.brev(t) >> 28]
    cuda.syncthreads()
    source, half = 0, 1
    while half < N:
        k = t % (2 * half)
        first = t - k + k % half
        angle = -math.pi * (k % half) / half
        twiddle = complex64(math.cos(angle), math.sin(angle))
        odd = twiddle * even[source, first + half]
        sign = 1 if k < half else -1
        even[1 - source, t] = even[source, first] + sign * odd
        cuda.syncthreads()
        source = 1 - source
        half *= 2
    out[t] = even[source, t]


# ---------------------------------------------------------------- layers of networks


@cuda.jit
def layer_norm(x, gamma, beta, out, eps):
    row = x[cuda.blockIdx.x]
    target = out[cuda.blockIdx.x]
    n = row.shape[0]
    lane = cuda.threadIdx.x
    total = float32(0)
    squares = float32(0)
    for k in range(lane, n, cuda.warpsize):
        value = np.float32(row[k])
        total += value
        squares += value**2
    mean = cuda.shfl_sync(0xFFFFFFFF, warp_sum(total), 0) / n
    variance = cuda.shfl_sync(0xFFFFFFFF, warp_sum(squares), 0) / n - mean * mean
    scale = 1 / math.sqrt(variance + eps)
    for k in range(lane, n, cuda.warpsize):
        target[k] = (row[k] - mean) * scale * gamma[k] + beta[k]


def expect_layer_norm(x, gamma, beta, out, eps):
    """Return normalised rows."""
    wide = x.astype("f8")
    mean, variance = wide.mean(axis=1, keepdims=True), wide.var(axis=1, keepdims=True)
    return {3: ((wide - mean) / np.sqrt(variance + eps) * gamma + beta).astype("f2")}


@cuda.jit
def attention(q, k, v, out):
    i = cuda.grid(1)
    if i >= q.shape[0]:
        return
    width = q.shape[1]
    best, norm = float32(-math.inf), float32(0)
    mixed = cuda.local.array(8, dtype=float32)
    for c in range(width):
        mixed[c] = 0
    for j in range(k.shape[0]):
        score = float32(0)
        for c in range(width):
            score += q[i, c] * k[j, c]
        score /= math.sqrt(np.float32(width))
        before = best
        best = max(best, score)
        shrink, weight = math.exp(before - best), math.exp(score - best)
        norm = norm * shrink + weight
        for c in range(width):
            mixed[c] = mixed[c] * shrink + weight * v[j, c]
    for c in range(width):
        out[i, c] = mixed[c] / norm


def expect_attention(q, k, v, out):
    """Return the mean of values, weighted by the softmax of scores."""
    scores = (q.astype("f8") @ k.T) / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {3: ((weights / weights.sum(axis=1, keepdims=True)) @ v).astype("f4")}


@cuda.jit(fastmath=True)
def gelu(x, out):
    i = cuda.grid(1)
    if i < len(x):
        cubed = x[i] ** 3
        inner = np.float32(0.7978845608) * (x[i] + np.float32(0.044715) * cubed)
        out[i] = np.float32(0.5) * x[i] * (1 + np.tanh(inner))


@cuda.jit
def rounded_to_halves(x, out):
    i = cuda.grid(1)
    if i < x.size:
        assert x[i] >= 0, "a negative number"
        out[i, 0] = float32(cuda.bfloat16(x[i]))
        out[i, 1] = float32(np.float16(x[i]))


def expect_halves(x, out):
    """Return numbers rounded to even, in 8 and in 11 bits."""
    bits = x.view("u4").astype("u8")
    short = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    wide = short.astype("u4").view("f4")
    return {1: np.stack([wide, x.astype("f2").astype("f4")], 1)}


# ---------------------------------------------------------------- random numbers


@cuda.jit
def compute_pi(rng_states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for i in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


@cuda.jit
def random_walk(rng_states, steps, out):
    i = cuda.grid(1)
    place = float32(0)
    for _ in range(steps):
        place += xoroshiro128p_normal_float32(rng_states, i)
    out[i] = place / math.sqrt(float32(steps))


MASK = 2**64 - 1


def advanced(s0, s1):
    """Return the next state of a generator: xoroshiro128+ of 2016, by Blackman and Vigna."""
    s1 ^= s0
    first = (s0 << 55 | s0 >> 9) & MASK
    return first ^ s1 ^ (s1 << 14 & MASK), (s1 << 36 | s1 >> 28) & MASK


def jumped(s0, s1):
    """Return the state after 2**64 numbers."""
    found = 0, 0
    for bit in range(128):
        if (0xD86B048B86AA9922 << 64 | 0xBEAC0467EBA5FACB) >> bit & 1:
            found = found[0] ^ s0, found[1] ^ s1
        s0, s1 = advanced(s0, s1)
    return found


def uniform_numbers(seed, generators, count):
    """Return the numbers from 0 to 1 that each of several generators draws."""
    z = seed + 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    state = z ^ z >> 31, z ^ z >> 31
    drawn = np.empty((generators, count))
    for row in drawn:
        s0, s1 = state
        for k in range(count):
            row[k] = ((s0 + s1 & MASK) >> 11) / 2**53
            s0, s1 = advanced(s0, s1)
        state = jumped(*state)
    return drawn.astype("f4")


def expect_pi(iterations, out):
    """Return four times the share of points in a circle."""
    x, y = np.moveaxis(uniform_numbers(1, len(out), 2 * iterations).reshape(len(out), -1, 2), 2, 0)
    return {1: (4.0 * (x**2 + y**2 <= 1).sum(axis=1) / iterations).astype("f4")}


def expect_walks(steps, out):
    """Return sums of normal numbers, by the method of Box and Muller."""
    drawn = uniform_numbers(2, len(out), 2 * steps).astype("f8")
    u, v = drawn[:, ::2], drawn[:, 1::2]
    normal = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    return {1: (normal.sum(axis=1) / np.sqrt(steps)).astype("f4")}


def run_pi(on, iterations, out):
    """Estimate pi, by states of this program."""
    states = create_xoroshiro128p_states(out.shape[0], seed=1)
    on(compute_pi)[1, out.shape[0]](states, iterations, out)


def run_walks(on, steps, out):
    """Walk, by states of this program."""
    states = create_xoroshiro128p_states(out.shape[0], seed=2)
    on(random_walk)[1, out.shape[0]](states, steps, out)


PROGRAMS = {
    "blur with constant weights": Ported(
        lambda on, image, out: on(blur)[(2, 2), (8, 8)](image, out),
        lambda: (numbers(9, 13), np.zeros((9, 13), "f4")),
        expect_blur,
        rtol=1e-5,
    ),
    "means of a halo": Ported(
        lambda on, x, out: on(halo_mean)[3, 16](x, out),
        lambda: (numbers(41), np.zeros(41, "f4")),
        lambda x, out: {1: np.convolve(x, np.ones(5, "f4") / np.float32(5), "same")},
        rtol=1e-5,
    ),
    "game of life": Ported(
        lambda on, board, out: on(game_of_life)[(2, 2), (8, 8)](board, out),
        lambda: ((numbers(9, 12) < 0.4).astype("u1"), np.zeros((9, 12), "u1")),
        expect_life,
    ),
    "median of nine": Ported(
        lambda on, image, out: on(median_of_nine)[(2, 2), (8, 8)](image, out),
        lambda: (numbers(9, 12), np.zeros((9, 12), "f4")),
        expect_median,
    ),
    "bodies": Ported(
        lambda on, bodies, forces: on(forces_of_bodies)[3, 8](bodies, forces),
        lambda: (numbers(19, 4), np.zeros((19, 3), "f4")),
        expect_forces,
        rtol=1e-3,
        atol=1e-3,
    ),
    "Mandelbrot": Ported(
        lambda on, *given: on(mandel_kernel)[(2, 2), (4, 4)](*given),
        lambda: (-2.0, 1.0, -1.0, 1.0, np.zeros((9, 13), "u1"), 20),
        expect_mandel,
    ),
    "FFT": Ported(
        lambda on, x, out: on(fft)[1, N](x, out),
        lambda: ((numbers(N) + 1j * numbers(N, seed=9)).astype("c8"), np.zeros(N, "c8")),
        lambda x, out: {1: np.fft.fft(x).astype("c8")},
        rtol=1e-4,
        atol=1e-5,
    ),
    "LayerNorm of float16": Ported(
        lambda on, *given: on(layer_norm)[4, 32](*given),
        lambda: (
            numbers(4, 50, dtype="f2"),
            numbers(50, seed=5),
            numbers(50, seed=6),
            np.zeros((4, 50), "f2"),
            np.float32(EPSILON),
        ),
        expect_layer_norm,
        rtol=2e-3,
        atol=2e-3,
    ),
    "attention": Ported(
        lambda on, *given: on(attention)[1, 8](*given),
        lambda: (
            *(numbers(n, 6, seed=n) for n in (7, 9)),
            numbers(9, 6, seed=5),
            np.zeros((7, 6), "f4"),
        ),
        expect_attention,
        rtol=1e-4,
    ),
    "GELU with fast math": Ported(
        lambda on, x, out: on(gelu)[2, 16](x, out),
        lambda: (numbers(30) * np.float32(4) - np.float32(2), np.zeros(30, "f4")),
        lambda x, out: {
            1: x / 2 * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)))
        },
        rtol=1e-4,
        atol=1e-5,
    ),
    "rounding to half precision": Ported(
        lambda on, x, out: on(rounded_to_halves)[2, 32](x, out),
        lambda: (numbers(50), np.zeros((50, 2), "f4")),
        expect_halves,
    ),
    "pi by random points": Ported(
        run_pi,
        lambda: (200, np.zeros(16, "f4")),
        expect_pi,
        rtol=1e-6,
    ),
    "random walks": Ported(
        run_walks,
        lambda: (50, np.zeros(32, "f4")),
        expect_walks,
        rtol=1e-4,
        atol=1e-5,
    ),
}
