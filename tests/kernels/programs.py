"""Textbook kernels with arguments, and the results of NumPy with the same arithmetic.

Source: CUDA C++ Programming Guide (tiles); Harris, "Optimizing Parallel Reduction in CUDA";
Hillis
and Steele, "Data Parallel Algorithms" (scan); Black and Scholes, by Abramowitz and Stegun
26.2.17.
NumPy adds in the order of a thread, so that the bits are the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interchange import cuda
from interchange.cuda.types import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

TILE, BLOCK, MOST = 4, 32, 64
ROUNDS = np.int32(24)


class Case(NamedTuple):
    """A launch: sizes, arguments, and expected results; `scale` if the last bits may differ, in
    units in the last place of that number; and the size of dynamic shared memory [bytes].
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    expected: dict[int, np.ndarray]
    scale: float = 0.0
    dynamic: int = 0


class Program(NamedTuple):
    """A kernel, and a function that creates a case of a size; `size` is for slow machines."""

    kernel: Any
    make: Callable[[int], Case]
    size: int = 37


def type_of(value: Any) -> Any:
    """Return the type of a NumPy argument: a number or an array."""
    element, in_c_order = BY_NAME[value.dtype.name], value.flags.c_contiguous
    is_array = isinstance(value, np.ndarray)
    return cuda.ArrayType(element, value.ndim, in_c_order) if is_array else element


def types_of(arguments: tuple[Any, ...]) -> list[Any]:
    """Return the types of NumPy arguments."""
    return list(map(type_of, arguments))


def _random(size: Any, dtype: Any = np.float32, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size).astype(dtype)


def _blocks(size: int, of: int = BLOCK) -> int:
    return max(1, -(-size // of))


# ---------------------------------------------------------------- one element per thread


@cuda.jit
def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def _vector_add(n: int) -> Case:
    x, y = _random(n), _random(n, seed=8)
    return Case((_blocks(n),), (BLOCK,), (x, y, np.zeros_like(x)), {2: x + y})


@cuda.jit
def saxpy(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


def _saxpy(n: int) -> Case:
    a, x, y = np.float32(2.5), _random(n), _random(n, seed=8)
    return Case((2,), (8,), (a, x, y), {2: a * x + y})


@cuda.jit
def integers(x, y, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    a, b = x[i], y[i]
    out[i, 0] = a // b
    out[i, 1] = a % b
    out[i, 2] = (a << (b & 7)) ^ ~(a >> (b & 31))
    out[i, 3] = a * b - (a | b)
    out[i, 4] = -a if a < b <= 9 or not b else a & b


def _integers(n: int) -> Case:
    rng = np.random.default_rng(3)
    x = rng.integers(-(2**31), 2**31, n, np.int32)
    y = rng.integers(-9, 12, n, np.int32)
    y[y == 0] = -7
    last = np.where((x < y) & (y <= 9), -x, x & y)
    columns = (x // y, x % y, (x << (y & 7)) ^ ~(x >> (y & 31)), x * y - (x | y), last)
    out = np.zeros((n, 5), np.int32)
    return Case((_blocks(n),), (BLOCK,), (x, y, out), {2: np.stack(columns, 1).astype(np.int32)})


@cuda.jit
def calculator(codes, x, y, out):
    """Compute what a code selects, by a jump to one of many branches."""
    i = cuda.grid(1)
    if i >= codes.size:
        return
    code = codes[i]
    if code == 0:
        out[i] = x[i] + y[i]
    elif code == 1:
        out[i] = x[i] // y[i]
    elif code == 2:
        out[i] = 7
        codes[i] = 5
    elif code == 3:
        out[i] = x[0] * y[0]
    elif code == 4:
        out[i] += x[i] & 255
    elif code == 5:
        out[i] = x[i] % y[i]
    elif code == 6:
        for _ in range(y[i]):
            out[i] ^= x[i]


def _calculator(n: int) -> Case:
    rng = np.random.default_rng(13)
    codes = rng.integers(0, 9, n, np.int32)
    x, y = rng.integers(-99, 99, n, np.int64), rng.integers(1, 9, n, np.int64)
    old = np.arange(n, dtype=np.int64)
    first = x[:1] * y[:1] + 0 * x
    even = np.where(y % 2, old ^ x, old)
    options = (x + y, x // y, 0 * x + 7, first, old + (x & 255), x % y, even)
    found = np.select([codes == k for k in range(7)], options, old)
    left = np.where(codes == 2, 5, codes).astype(np.int32)
    return Case((_blocks(n),), (BLOCK,), (codes, x, y, old), {0: left, 3: found})


@cuda.jit
def conversions(x, as_bytes, as_longs, as_halves, as_floats, is_large):
    i = cuda.grid(1)
    if i < x.size:
        as_bytes[i] = cuda.uint8(x[i])
        as_longs[i] = cuda.int64(x[i])
        as_halves[i] = cuda.int16(x[i]) + cuda.int16(as_bytes[i])
        as_floats[i] = cuda.float32(x[i]) + cuda.float32(as_longs[i])
        is_large[i] = not (x[i] < 100.0)


def _conversions(n: int) -> Case:
    x = _random(n, np.float64) * 1e3
    x[::5] *= 1e20
    with np.errstate(invalid="ignore"):
        bytes_ = np.trunc(x).clip(0, 255).astype(np.uint8)
        limit = np.iinfo(np.int64).max
        longs = np.where(np.abs(x) < 2.0**63, x, 0).astype(np.int64)
        longs[x >= 2.0**63], longs[x <= -(2.0**63)] = limit, -limit - 1
        shorts = np.trunc(x).clip(-(2**15), 2**15 - 1).astype(np.int16)
        shorts = shorts + bytes_.astype(np.int16)
    floats = x.astype(np.float32) + longs.astype(np.float32)
    expected = dict(enumerate((bytes_, longs, shorts, floats, x >= 100), 1))
    empty = tuple(np.zeros_like(each) for each in expected.values())
    return Case((_blocks(n),), (BLOCK,), (x, *empty), expected)


# ---------------------------------------------------------------- cooperating threads


@cuda.jit
def matrix_product(a, b, c):
    left = cuda.shared.array((TILE, TILE), cuda.float32)
    right = cuda.shared.array((TILE, TILE), cuda.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = cuda.float32(0)
    for first in range(0, a.shape[1], TILE):
        left[y, x] = 0
        right[y, x] = 0
        if row < a.shape[0] and first + x < a.shape[1]:
            left[y, x] = a[row, first + x]
        if first + y < b.shape[0] and column < b.shape[1]:
            right[y, x] = b[first + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def _matrix_product(n: int) -> Case:
    a, b = _random((n, n + 2)), _random((n + 2, max(0, n - 1)), seed=8)
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        c += a[:, k, None] * b[k]
    grid = (_blocks(c.shape[1], TILE), _blocks(c.shape[0], TILE))
    return Case(grid, (TILE, TILE), (a, b, np.zeros_like(c)), {2: c})


@cuda.jit
def block_sums(x, sums):
    held = cuda.shared.array(BLOCK, cuda.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    held[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    width = BLOCK // 2
    while width:
        if t < width:
            held[t] += held[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = held[0]


def _block_sums(n: int) -> Case:
    x, blocks = _random(n, np.float64), _blocks(n)
    held = np.zeros(blocks * BLOCK)
    held[:n] = x
    held = held.reshape(blocks, BLOCK)
    while held.shape[1] > 1:
        half = held.shape[1] // 2
        held = held[:, :half] + held[:, half:]
    return Case((blocks,), (BLOCK,), (x, np.zeros(blocks)), {1: held[:, 0]})


@cuda.jit
def prefix_sums(x, out):
    held = cuda.shared.array((2, BLOCK), cuda.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    now = 0
    held[now, t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        value = held[now, t]
        if t >= step:
            value += held[now, t - step]
        held[1 - now, t] = value
        now = 1 - now
        step *= 2
        cuda.syncthreads()
    if i < out.size:
        out[i] = held[now, t]


def _prefix_sums(n: int) -> Case:
    x, blocks = np.random.default_rng(5).integers(-99, 99, n, np.int32), _blocks(n)
    padded = np.zeros(blocks * BLOCK, np.int32)
    padded[:n] = x
    sums = padded.reshape(blocks, BLOCK).cumsum(1, dtype=np.int32).reshape(-1)[:n]
    return Case((blocks,), (BLOCK,), (x, np.zeros_like(x)), {1: sums})


@cuda.jit
def fourier(x, roots, bits):
    """Transform up to `MOST` complex numbers in one block, a thread for each butterfly."""
    held = cuda.shared.array(MOST, cuda.complex64)
    t, half = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(t, 2 * half, half):
        place, rest = 0, k
        for _ in range(bits):
            place = place << 1 | rest & 1
            rest >>= 1
        held[place] = x[k]
    cuda.syncthreads()
    width = 1
    while width < 2 * half:
        low = t // width * width * 2 + t % width
        a = held[low]
        b = held[low + width] * roots[t % width * (half // width)]
        held[low] = a + b
        held[low + width] = a - b
        cuda.syncthreads()
        width *= 2
    x[t] = held[t]
    x[t + half] = held[t + half]


def _fourier(n: int) -> Case:
    bits = max(1, min(MOST, n).bit_length() - 1)
    size = 1 << bits
    x = (_random(size) + 1j * _random(size, seed=8)).astype(np.complex64)
    roots = np.exp(-2j * np.pi * np.arange(size // 2) / size).astype(np.complex64)
    places = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(size)]
    held, width = x[places], 1
    while width < size:
        a, b = held.reshape(-1, 2, width).swapaxes(0, 1)
        b = _product(b, roots[:: size // 2 // width])
        held, width = np.stack((a + b, a - b), 1).reshape(-1), 2 * width
    return Case((1,), (size // 2,), (x.copy(), roots, np.int32(bits)), {0: held})


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a product of complex numbers without the fused operations that NumPy may use."""
    found = np.empty_like(a)
    found.real = a.real * b.real - a.imag * b.imag
    found.imag = a.real * b.imag + a.imag * b.real
    return found


# ---------------------------------------------------------------- loops in each thread


@cuda.jit
def histogram(data, first, width, counts):
    bin_ = cuda.grid(1)
    if bin_ >= counts.size:
        return
    low = first + bin_ * width
    high = low + width
    count = 0
    for k in range(data.size):
        if low <= data[k] < high:
            count += 1
    counts[bin_] = count


def _histogram(n: int) -> Case:
    data = np.random.default_rng(9).integers(0, 256, n, np.uint8)
    counts = np.bincount(data // 32, minlength=8).astype(np.int32)
    arguments = (data, np.int64(0), np.int64(32), np.zeros_like(counts))
    return Case((2,), (5,), arguments, {3: counts})


@cuda.jit
def mandelbrot(left, top, step, counts):
    column, row = cuda.grid(2)
    if row >= counts.shape[0] or column >= counts.shape[1]:
        return
    real, imag = left + column * step, top - row * step
    x, y = cuda.float64(0), cuda.float64(0)
    counts[row, column] = ROUNDS
    for k in range(ROUNDS):
        x, y = x * x - y * y + real, 2 * x * y + imag
        if x * x + y * y > 4:
            counts[row, column] = k
            break


def _mandelbrot(n: int) -> Case:
    rows, columns = n // 2, n
    left, top, step = np.float64(-2), np.float64(1.25), np.float64(3 / max(1, n))
    real = left + np.arange(columns) * step + np.zeros((rows, 1))
    imag = np.zeros(columns) + (top - np.arange(rows) * step)[:, None]
    counts = np.full((rows, columns), ROUNDS, np.uint16)
    x, y = np.zeros_like(real), np.zeros_like(real)
    with np.errstate(all="ignore"):
        for k in range(ROUNDS):
            x, y = x * x - y * y + real, 2 * x * y + imag
            counts[(x * x + y * y > 4) & (counts == ROUNDS)] = k
    grid = (_blocks(columns, 8), _blocks(rows, 4))
    return Case(grid, (8, 4), (left, top, step, np.zeros_like(counts)), {3: counts})


@cuda.jit
def stencil(u, out, c):
    j, i = cuda.grid(2)
    rows, columns = u.shape
    if i < rows and j < columns:
        out[i, j] = u[i, j]
        if 0 < i < rows - 1 and 0 < j < columns - 1:
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i, j] += c * (around - 4 * u[i, j])


def _stencil(n: int) -> Case:
    u, c = _random((n, n // 2 + 1), np.float64), np.float64(0.2)
    out = u.copy()
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    out[1:-1, 1:-1] += c * (around - 4 * u[1:-1, 1:-1])
    grid = (_blocks(u.shape[1], 8), _blocks(n, 4))
    return Case(grid, (8, 4), (u, np.zeros_like(u), c), {1: out})


SOFT, ONE = np.float32(0.01), np.float32(1)


@cuda.jit
def forces(bodies, accelerations):
    i = cuda.grid(1)
    if i >= bodies.shape[0]:
        return
    ax, ay, az = cuda.float32(0), cuda.float32(0), cuda.float32(0)
    for j in range(bodies.shape[0]):
        x = bodies[j, 0] - bodies[i, 0]
        y = bodies[j, 1] - bodies[i, 1]
        z = bodies[j, 2] - bodies[i, 2]
        square = x * x + y * y + z * z + SOFT
        inverse = ONE / math.sqrt(square)
        pull = bodies[j, 3] * inverse * inverse * inverse
        ax += pull * x
        ay += pull * y
        az += pull * z
    accelerations[i, 0] = ax
    accelerations[i, 1] = ay
    accelerations[i, 2] = az


def _forces(n: int) -> Case:
    bodies = np.abs(_random((n, 4)))
    found = np.zeros((n, 3), np.float32)
    for body in bodies:
        x, y, z = (body[:3] - bodies[:, :3]).T
        inverse = ONE / np.sqrt(x * x + y * y + z * z + SOFT)
        pull = body[3] * inverse * inverse * inverse
        found += np.stack((pull * x, pull * y, pull * z), 1)
    return Case((_blocks(n),), (BLOCK,), (bodies, np.zeros_like(found)), {1: found})


ROOT = 1 / math.sqrt(2 * math.pi)


def below(d):
    """Return the normal distribution function of a number."""
    k = 1 / (1 + 0.2316419 * math.fabs(d))
    tail = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
    tail = k * (0.319381530 + k * (-0.356563782 + k * tail))
    tail *= ROOT * math.exp(-0.5 * d * d)
    if d > 0:
        return 1 - tail
    return tail


@cuda.jit
def black_scholes(price, strike, years, rate, volatility, prices):
    i = cuda.grid(1)
    if i >= price.size:
        return
    root = volatility * math.sqrt(years[i])
    drift = (rate + volatility * volatility / 2) * years[i]
    one = (math.log(price[i] / strike[i]) + drift) / root
    two = one - root
    paid = strike[i] * math.exp(-rate * years[i])
    prices[0, i] = price[i] * below(one) - paid * below(two)
    prices[1, i] = paid * below(-two) - price[i] * below(-one)


def _black_scholes(n: int) -> Case:
    rng = np.random.default_rng(11)
    price, strike, years = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.2, 9, n)
    rate, volatility = np.float64(0.02), np.float64(0.3)
    root = volatility * np.sqrt(years)
    one = (np.log(price / strike) + (rate + volatility * volatility / 2) * years) / root
    paid = strike * np.exp(-rate * years)
    call = price * _below(one) - paid * _below(one - root)
    put = paid * _below(root - one) - price * _below(-one)
    prices = np.stack((call, put))
    arguments = (price, strike, years, rate, volatility, np.zeros_like(prices))
    return Case((_blocks(n),), (BLOCK,), arguments, {5: prices}, scale=100.0)


def _below(d: np.ndarray) -> np.ndarray:
    k = 1 / (1 + 0.2316419 * np.abs(d))
    tail = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
    tail = k * (0.319381530 + k * (-0.356563782 + k * tail))
    tail *= ROOT * np.exp(-0.5 * d * d)
    return np.where(d > 0, 1 - tail, tail)


PROGRAMS = {
    "vector_add": Program(vector_add, _vector_add),
    "saxpy": Program(saxpy, _saxpy),
    "integers": Program(integers, _integers),
    "calculator": Program(calculator, _calculator),
    "conversions": Program(conversions, _conversions),
    "matrix_product": Program(matrix_product, _matrix_product, 5),
    "block_sums": Program(block_sums, _block_sums),
    "prefix_sums": Program(prefix_sums, _prefix_sums),
    "fourier": Program(fourier, _fourier, 16),
    "histogram": Program(histogram, _histogram),
    "mandelbrot": Program(mandelbrot, _mandelbrot, 9),
    "stencil": Program(stencil, _stencil, 7),
    "forces": Program(forces, _forces, 9),
    "black_scholes": Program(black_scholes, _black_scholes, 9),
}
"""Name -> program."""
