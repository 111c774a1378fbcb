"""Reductions, scans, sorting networks and counts, in the form of numba-cuda's users.

Source: NVIDIA, "Using CUDA Warp-Level Primitives"; Harris, "Parallel Prefix Sum (Scan) with CUDA";
Batcher, "Sorting Networks and Their Applications".
"""

from __future__ import annotations

import numpy as np

from interchange import cuda
from interchange.cuda import float32, int32, uint32

from . import Ported
from .manual import numbers

BLOCK = 64
BINS = 16
FULL = 0xFFFFFFFF


# ---------------------------------------------------------------- by shuffles


@cuda.jit(device=True)
def warp_sum(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(FULL, value, offset)
        offset //= 2
    return value


@cuda.jit
def sum_by_shuffles(x, out):
    partial = cuda.shared.array(BLOCK // 32, float32)
    lane = cuda.laneid
    warp = cuda.threadIdx.x // cuda.warpsize
    value = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value += x[i]
    value = warp_sum(value)
    if lane == 0:
        partial[warp] = value
    cuda.syncthreads()
    if warp == 0:
        value = partial[lane] if lane < BLOCK // 32 else float32(0)
        value = warp_sum(value)
        if lane == 0:
            cuda.atomic.add(out, 0, value)


@cuda.jit
def maximum_of_rows(x, out):
    row = cuda.blockIdx.x
    best = x[row, cuda.threadIdx.x]
    for step in (16, 8, 4, 2, 1):
        best = max(best, cuda.shfl_xor_sync(FULL, best, step))
    out[row] = best


@cuda.jit
def scan_by_shuffles(x, out):
    totals = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    value = x[t]
    step = 1
    while step < 32:
        before = cuda.shfl_up_sync(FULL, value, step)
        if lane >= step:
            value += before
        step <<= 1
    if lane == 31:
        totals[warp] = value
    cuda.syncthreads()
    for k in range(warp):
        value += totals[k]
    out[t] = value


@cuda.jit
def broadcast_first(x, out):
    t = cuda.grid(1)
    out[t] = cuda.shfl_sync(FULL, x[t], 0)


@cuda.jit
def compact(x, out, count):
    i = cuda.grid(1)
    keep = i < x.size and x[i] > 0
    mask = cuda.ballot_sync(FULL, keep)
    lane = cuda.laneid
    base = 0
    if lane == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(mask))
    base = cuda.shfl_sync(FULL, base, 0)
    if keep:
        out[base + cuda.popc(mask & ((1 << lane) - 1))] = x[i]


def run_compact(on, x, out, count):
    """Compact the parts of two warps, one after the other, so that their order is known."""
    for part in (x[:32], x[32:]):
        on(compact)[1, 32](part, out, count)


def expect_compact(x, out, count):
    """Return the elements above 0, and their number."""
    kept = x[x > 0]
    return {1: np.concatenate([kept, out[len(kept) :]]), 2: np.array([len(kept)], "i4")}


@cuda.jit
def vote(x, out):
    t = cuda.threadIdx.x
    is_even = x[t] % 2 == 0
    every = cuda.all_sync(FULL, is_even)
    some = cuda.any_sync(FULL, is_even)
    same = cuda.match_any_sync(FULL, x[t])
    cuda.syncwarp()
    out[t, 0] = every
    out[t, 1] = some
    out[t, 2] = cuda.popc(same)


def expect_votes(x, out):
    """Return whether all and some of a warp are even, and how many are equal."""
    found = np.zeros_like(out)
    for start in range(0, len(x), 32):
        warp = x[start : start + 32]
        even = warp % 2 == 0
        found[start : start + 32, 0], found[start : start + 32, 1] = even.all(), even.any()
        found[start : start + 32, 2] = [(warp == each).sum() for each in warp]
    return {1: found}


# ---------------------------------------------------------------- in shared memory


@cuda.jit
def scan_of_blocks(x, out, sums):
    buffers = cuda.shared.array((2, BLOCK), dtype=float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    now, other = 0, 1
    buffers[now, t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        now, other = other, now
        if t >= step:
            buffers[now, t] = buffers[other, t] + buffers[other, t - step]
        else:
            buffers[now, t] = buffers[other, t]
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = buffers[now, t]
    if t == BLOCK - 1:
        sums[cuda.blockIdx.x] = buffers[now, t]


@cuda.jit
def add_sums(out, sums):
    i = cuda.grid(1)
    if i < out.size:
        before = float32(0)
        for k in range(cuda.blockIdx.x):
            before += sums[k]
        out[i] += before


def run_scan(on, x, out, sums):
    """Scan every block, then add what is before it."""
    on(scan_of_blocks)[3, BLOCK](x, out, sums)
    on(add_sums)[3, BLOCK](out, sums)


@cuda.jit
def bitonic_sort(keys, values):
    k, v = cuda.shared.array(BLOCK, float32), cuda.shared.array(BLOCK, int32)
    t = cuda.threadIdx.x
    k[t], v[t] = keys[t], t
    cuda.syncthreads()
    width = 2
    while width <= BLOCK:
        step = width // 2
        while step > 0:
            partner = t ^ step
            if partner > t:
                rises = (t & width) == 0
                if (k[t] > k[partner]) == rises:
                    k[t], k[partner] = k[partner], k[t]
                    v[t], v[partner] = v[partner], v[t]
            cuda.syncthreads()
            step //= 2
        width *= 2
    keys[t] = k[t]
    values[t] = v[t]


@cuda.jit
def odd_even_step(x, phase):
    i = 2 * cuda.grid(1) + phase
    if i + 1 < x.size and x[i] > x[i + 1]:
        x[i], x[i + 1] = x[i + 1], x[i]


def run_odd_even(on, x):
    """Sort by as many phases as there are elements."""
    for phase in range(x.shape[0]):
        on(odd_even_step)[1, 16](x, phase % 2)


@cuda.jit
def transposed(x, out):
    tile = cuda.shared.array((8, 8 + 1), dtype=float32)
    x0, y0 = cuda.blockIdx.x * 8, cuda.blockIdx.y * 8
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if y0 + ty < x.shape[0] and x0 + tx < x.shape[1]:
        tile[ty, tx] = x[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < x.shape[1] and y0 + tx < x.shape[0]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


# ---------------------------------------------------------------- counts


@cuda.jit
def histogram(x, xmin, xmax, histogram_out):
    nbins = histogram_out.shape[0]
    bin_width = (xmax - xmin) / nbins
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        bin_number = int((x[i] - xmin) / bin_width)
        if bin_number >= 0 and bin_number < histogram_out.shape[0]:
            cuda.atomic.add(histogram_out, bin_number, 1)


@cuda.jit
def private_histogram(x, out):
    bins = cuda.shared.array(BINS, dtype=uint32)
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        bins[k] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < x.size:
        cuda.atomic.add(bins, x[i] % BINS, 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, k, bins[k])


@cuda.jit
def min_max(x, min_max_array):
    nelements = x.shape[0]
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    local_min = x[start]
    local_max = x[start]
    for i in range(start, nelements, stride):
        element = x[i]
        local_min = min(element, local_min)
        local_max = max(element, local_max)
    cuda.atomic.min(min_max_array, 0, local_min)
    cuda.atomic.max(min_max_array, 1, local_max)


@cuda.jit
def locked_sum(lock, x, out):
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[0] += x[cuda.blockIdx.x]
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def last_block_sum(x, partial, count, out):
    is_last = cuda.shared.array(1, dtype=np.bool_)
    t = cuda.threadIdx.x
    cuda.atomic.add(partial, cuda.blockIdx.x, x[cuda.grid(1)])
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        ticket = cuda.atomic.inc(count, 0, cuda.gridDim.x)
        is_last[0] = ticket == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0] and t == 0:
        total = 0
        for k in range(cuda.gridDim.x):
            total += cuda.atomic.add(partial, k, 0)
        out[0] = total


def integers(size, top, seed=4, dtype="i4"):
    """Return random integers below a number."""
    return np.random.default_rng(seed).integers(0, top, size).astype(dtype)


PROGRAMS = {
    "sum by shuffles": Ported(
        lambda on, x, out: on(sum_by_shuffles)[2, BLOCK](x, out),
        lambda: (numbers(300), np.zeros(1, "f4")),
        lambda x, out: {1: np.array([x.sum(dtype="f8")], "f4")},
        rtol=1e-5,
    ),
    "butterfly of shuffles": Ported(
        lambda on, x, out: on(maximum_of_rows)[3, 32](x, out),
        lambda: (numbers(3, 32, dtype="f8"), np.zeros(3)),
        lambda x, out: {1: x.max(axis=1)},
    ),
    "scan by shuffles": Ported(
        lambda on, x, out: on(scan_by_shuffles)[1, 96](x, out),
        lambda: (integers(96, 100), np.zeros(96, "i4")),
        lambda x, out: {1: np.cumsum(x).astype("i4")},
    ),
    "broadcast in a warp": Ported(
        lambda on, x, out: on(broadcast_first)[2, 32](x, out),
        lambda: (integers(64, 100), np.zeros(64, "i4")),
        lambda x, out: {1: np.repeat(x[::32], 32)},
    ),
    "compaction by ballots": Ported(
        run_compact,
        lambda: (integers(50, 9) - np.int32(4), np.zeros(50, "i4"), np.zeros(1, "i4")),
        expect_compact,
    ),
    "votes": Ported(
        lambda on, x, out: on(vote)[1, 64](x, out),
        lambda: (np.concatenate([integers(32, 5), integers(32, 2) * 2]), np.zeros((64, 3), "i4")),
        expect_votes,
    ),
    "scan of many blocks": Ported(
        run_scan,
        lambda: (np.arange(150, dtype="f4"), np.zeros(150, "f4"), np.zeros(3, "f4")),
        lambda x, out, sums: {1: np.cumsum(x)},
    ),
    "bitonic sort": Ported(
        lambda on, keys, places: on(bitonic_sort)[1, BLOCK](keys, places),
        lambda: (numbers(BLOCK), np.zeros(BLOCK, "i4")),
        lambda keys, places: {0: np.sort(keys), 1: np.argsort(keys).astype("i4")},
    ),
    "odd-even sort": Ported(run_odd_even, lambda: (integers(21, 50),), lambda x: {0: np.sort(x)}),
    "transpose by tiles": Ported(
        lambda on, x, out: on(transposed)[(2, 2), (8, 8)](x, out),
        lambda: (numbers(11, 13), np.zeros((13, 11), "f4")),
        lambda x, out: {1: x.T.copy()},
    ),
    "histogram": Ported(
        lambda on, x, low, high, out: on(histogram)[2, 32](x, low, high, out),
        lambda: (numbers(200), np.float32(0), np.float32(1), np.zeros(10, "i4")),
        lambda x, low, high, out: {
            3: np.bincount((x / np.float32(0.1)).astype(int), minlength=10).astype("i4")
        },
    ),
    "histogram in shared memory": Ported(
        lambda on, x, out: on(private_histogram)[2, 32](x, out),
        lambda: (integers(300, 100), np.zeros(BINS, "u4")),
        lambda x, out: {1: np.bincount(x % BINS, minlength=BINS).astype("u4")},
    ),
    "least and greatest": Ported(
        lambda on, x, out: on(min_max)[2, 16](x, out),
        lambda: (numbers(100) - np.float32(0.5), np.array([np.inf, -np.inf], "f4")),
        lambda x, out: {1: np.array([x.min(), x.max()])},
    ),
    "a lock by compare and swap": Ported(
        lambda on, lock, x, out: on(locked_sum)[4, 1](lock, x, out),
        lambda: (np.zeros(1, "i4"), np.arange(4.0), np.zeros(1)),
        lambda lock, x, out: {2: np.array([6.0])},
    ),
    "the last block": Ported(
        lambda on, *given: on(last_block_sum)[4, 8](*given),
        lambda: (integers(32, 100), np.zeros(4, "i4"), np.zeros(1, "u4"), np.zeros(1, "i4")),
        lambda x, partial, count, out: {3: np.array([x.sum()], "i4")},
    ),
}
