"""Clusters, graphs, sparse matrices, records and bits, in the form of numba-cuda's users.

Source: numba-cuda's manual (records, device functions, debugging); Lloyd, "Least squares
quantization in PCM".
"""

from __future__ import annotations

import numpy as np

from interchange import cuda
from interchange.cuda import float32

from . import Ported
from .manual import numbers
from .scans import integers

PARTICLE = np.dtype([("x", "f4"), ("v", "f4"), ("id", "i4")], align=True)
UNREACHED = -1


# ---------------------------------------------------------------- clusters


@cuda.jit(device=True)
def distance(point, center):
    total = float32(0)
    for a in range(point.shape[0]):
        away = point[a] - center[a]
        total += away * away
    return total


@cuda.jit
def assign_points(points, centers, labels):
    i = cuda.grid(1)
    if i >= points.shape[0]:
        return
    best, nearest = distance(points[i], centers[0]), 0
    for c in range(1, centers.shape[0]):
        d = distance(points[i], centers[c])
        if d < best:
            best, nearest = d, c
    labels[i] = nearest


@cuda.jit
def sum_points(points, labels, sums, counts):
    i = cuda.grid(1)
    if i < points.shape[0]:
        c = labels[i]
        for a in range(points.shape[1]):
            cuda.atomic.add(sums, (c, a), points[i, a])
        cuda.atomic.add(counts, c, 1)


@cuda.jit
def move_centers(centers, sums, counts):
    c, a = cuda.grid(2)
    if c < centers.shape[0] and a < centers.shape[1]:
        if counts[c] > 0:
            centers[c, a] = sums[c, a] / counts[c]
        sums[c, a] = 0
    cuda.syncthreads()
    if a == 0 and c < centers.shape[0]:
        counts[c] = 0


def run_k_means(on, points, centers, labels, sums, counts):
    """Assign and move three times."""
    for _ in range(3):
        on(assign_points)[2, 32](points, centers, labels)
        on(sum_points)[2, 32](points, labels, sums, counts)
        on(move_centers)[1, (4, 2)](centers, sums, counts)


def make_clusters():
    """Return points around three centers, and the room for sums."""
    points = numbers(60, 2) + np.repeat(np.arange(3) * 2, 20)[:, None].astype("f4")
    centers = points[[0, 25, 45]].copy()
    zeros = np.zeros(60, "i4"), np.zeros((3, 2), "f4"), np.zeros(3, "i4")
    return points, centers, *zeros


def expect_clusters(points, centers, labels, sums, counts):
    """Return the centers after three rounds, and the labels of the last."""
    centers = centers.astype("f8")
    for _ in range(3):
        away = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
        labels = away.argmin(axis=1)
        centers = np.stack([points[labels == c].mean(axis=0) for c in range(len(centers))])
    return {1: centers.astype("f4"), 2: labels.astype("i4")}


# ---------------------------------------------------------------- graphs and sparse matrices


@cuda.jit
def spmv(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < y.shape[0]:
        total = 0.0
        start, stop = indptr[row], indptr[row + 1]
        for k in range(start, stop):
            total += data[k] * x[indices[k]]
        y[row] = total


def make_csr():
    """Return a matrix in compressed rows, a vector, and the room for the product."""
    dense = numbers(14, 9, dtype="f8")
    dense[dense < 0.6] = 0
    rows, columns = np.nonzero(dense)
    indptr = np.searchsorted(rows, np.arange(15)).astype("i4")
    return dense[rows, columns], columns.astype("i4"), indptr, numbers(9, dtype="f8"), np.zeros(14)


def expect_spmv(data, indices, indptr, x, y):
    """Return the product."""
    rows = np.repeat(np.arange(14), np.diff(indptr))
    return {4: np.bincount(rows, data * x[indices], minlength=14)}


@cuda.jit
def visit(indptr, neighbours, level, current, changed):
    v = cuda.grid(1)
    if v >= level.shape[0] or level[v] != current:
        return
    for k in range(indptr[v], indptr[v + 1]):
        w = neighbours[k]
        if cuda.atomic.cas(level, w, UNREACHED, current + 1) == UNREACHED:
            changed[0] = True


def run_search(on, indptr, neighbours, level, changed):
    """Visit level by level."""
    for current in range(6):
        on(visit)[1, 32](indptr, neighbours, level, current, changed)


def make_graph():
    """Return a ring of 12 vertices, with the distance of the first known."""
    neighbours = np.array([[(v - 1) % 12, (v + 1) % 12] for v in range(12)], "i4").ravel()
    level = np.full(12, UNREACHED, "i4")
    level[0] = 0
    return np.arange(0, 25, 2, dtype="i4"), neighbours, level, np.zeros(1, "?")


# ---------------------------------------------------------------- records, tuples, bits, options


@cuda.jit
def move_particles(particles, box, dt):
    i = cuda.grid(1)
    low, high = box
    if i < particles.shape[0]:
        p = particles[i]
        p.x += p.v * dt
        if p.x < low or p.x > high:
            p.v = -p.v
            p["id"] = -1


def make_particles():
    """Return particles, some of which will leave the box."""
    found = np.zeros(20, PARTICLE)
    found["x"], found["v"] = numbers(20), numbers(20, seed=4) - np.float32(0.5)
    found["id"] = np.arange(20)
    return found, (np.float32(0.1), np.float32(0.9)), np.float32(0.5)


def expect_particles(particles, box, dt):
    """Return moved particles."""
    found = particles.copy()
    found["x"] += found["v"] * dt
    left = (found["x"] < box[0]) | (found["x"] > box[1])
    found["v"][left] *= -1
    found["id"][left] = -1
    return {0: found}


@cuda.jit
def hamming(a, b, out, mask):
    i = cuda.grid(1)
    if i < a.size:
        bits = a[i] ^ b[i]
        if mask is not None:
            bits &= mask
        out[i, 0] = cuda.popc(bits)
        out[i, 1] = cuda.clz(bits)
        out[i, 2] = cuda.ffs(bits)
        out[i, 3] = cuda.brev(bits)


def expect_hamming(a, b, out, mask):
    """Return counts of bits, and the reversed bits."""
    bits = [f"{x:032b}" for x in a ^ b]
    rows = [
        (x.count("1"), 32 - len(x.lstrip("0")), (x[::-1] + "1").index("1") + 1, int(x[::-1], 2))
        for x in bits
    ]
    rows = [(n, lead, 0 if n == 0 else first, back) for n, lead, first, back in rows]
    return {2: np.array(rows, "u4")}


@cuda.jit
def normalize_rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        row, target = x[i, 1:], out[i]
        total = 0.0
        for k in range(len(row)):
            total += abs(row[k])
        norm = total or 1.0
        for k in range(len(row)):
            target[k] = row[k] / norm
        target[-1] = x[i, -1]


def expect_rows(x, out):
    """Return rows divided by the sum of sizes, and the last element."""
    total = np.abs(x[:, 1:]).sum(axis=1, keepdims=True)
    total[total == 0] = 1
    return {1: np.concatenate([x[:, 1:] / total, x[:, -1:]], axis=1)}


@cuda.jit
def ufuncs_of_numbers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        whole, rest = divmod(x[i], np.float64(0.5))
        out[i, 0] = np.sqrt(np.abs(x[i])) + np.exp2(whole)
        out[i, 1] = np.maximum(rest, np.float64(0.25)) * np.sign(x[i])
        out[i, 2] = round(x[i]) + int(x[i]) + float(bool(x[i]))


def expect_ufuncs(x, out):
    """Return the same by NumPy."""
    whole, rest = np.divmod(x, 0.5)
    third = np.round(x) + np.trunc(x) + (x != 0)
    first = np.sqrt(np.abs(x)) + np.exp2(whole)
    return {1: np.stack([first, np.maximum(rest, 0.25) * np.sign(x), third], axis=1)}


PROGRAMS = {
    "k-means": Ported(run_k_means, make_clusters, expect_clusters, rtol=1e-5),
    "sparse product": Ported(
        lambda on, *given: on(spmv)[1, 16](*given), make_csr, expect_spmv, rtol=1e-12
    ),
    "breadth-first search": Ported(
        run_search,
        make_graph,
        lambda indptr, neighbours, level, changed: {
            2: np.minimum(np.arange(12), 12 - np.arange(12)).astype("i4")
        },
    ),
    "records of particles": Ported(
        lambda on, particles, box, dt: on(move_particles)[1, 32](particles, box, dt),
        make_particles,
        expect_particles,
    ),
    "bits": Ported(
        lambda on, a, b, out, mask: on(hamming)[1, 32](a, b, out, mask),
        lambda: (
            integers(20, 2**31, dtype="u4"),
            np.where(
                np.arange(20) == 3,
                integers(20, 2**31, dtype="u4"),
                integers(20, 2**31, 9, dtype="u4"),
            ),
            np.zeros((20, 4), "u4"),
            None,
        ),
        expect_hamming,
    ),
    "rows as views": Ported(
        lambda on, x, out: on(normalize_rows)[1, 8](x, out),
        lambda: (numbers(6, 7, dtype="f8") * (np.arange(6) > 0)[:, None], np.zeros((6, 7))),
        expect_rows,
        rtol=1e-12,
    ),
    "ufuncs of numbers": Ported(
        lambda on, x, out: on(ufuncs_of_numbers)[1, 32](x, out),
        lambda: (np.linspace(-3, 3, 25), np.zeros((25, 3))),
        expect_ufuncs,
        rtol=1e-12,
        atol=1e-12,
    ),
}
