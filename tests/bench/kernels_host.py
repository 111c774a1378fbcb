"""Times kernels on the CPU with the same in OpenCL C on PoCL, Numba, NumPy, and Numba's simulator.

Source: the OpenCL C specification; Numba's documentation, "Automatic parallelization with @jit" and
"Debugging CUDA Python with the CUDA Simulator".  ``python tests/bench/kernels_host.py`` needs LLVM;
PoCL (``pocl-opencl-icd`` and ``pyopencl``), Numba and numba-cuda have rows if they are installed.
Rounds are interleaved and paired: the result for each kernel is the median of the ratios, and of
the times.  ``--write FILE`` writes a table of Markdown, which the guide "Write kernels in Python"
shows.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
os.environ["OMP_WAIT_POLICY"] = "passive"  # Numba's threads would keep a core after their loop
os.environ["INTERCHANGE_CACHE_DIR"] = ""  # code of an earlier commit is not measured
sys.path.insert(0, str(HERE))

from kernels_timed import TILE, add, product, seen, write_page  # noqa: E402 - the folder is not a package

from interchange import cuda  # noqa: E402 - as above
from interchange.cuda import float32  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE, BLOCK, WIDTH = 1 << 24, 256, 512
ROUNDS = 25
SIDE, ROUNDS_OF_POINT = 4096, 100
LIBRARIES = ("numpy", "llvmlite", "pyopencl", "numba", "numba-cuda")
QUARTER, TWO, FOUR = np.float32(0.25), np.float32(2), np.float32(4)
OPENCL = """
kernel void add(global const float *x, global const float *y, global float *out)
{
    size_t i = get_global_id(0);
    out[i] = x[i] + y[i];
}

kernel void stencil(global const float *u, global float *out)
{
    size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);
    if (0 < i && i < get_global_size(1) - 1 && 0 < j && j < n - 1)
        out[i * n + j] = 0.25f * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1]
                                  + u[i * n + j + 1]);
}

kernel void mandelbrot(global const float *reals, global const float *imags, global int *counts)
{
    size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);
    float x = 0, y = 0, real = reals[j], imag = imags[i];
    int count = 0;
    while (count < 100 && x * x + y * y <= 4) {
        float next = x * x - y * y + real;
        y = 2 * x * y + imag;
        x = next;
        count++;
    }
    counts[i * n + j] = count;
}

kernel void waves(global const float *x, global float *out)
{
    size_t i = get_global_id(0);
    float sum = 0;
    for (int k = 1; k <= 16; k++)
        sum = sum * 0.5f + x[i] * k;
    out[i] = sqrt(fabs(sum)) / (1 + x[i] * x[i]);
}

kernel void sums(global const float *x, global float *out)
{
    local float part[256];
    int t = get_local_id(0);
    part[t] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = 128; half_ > 0; half_ /= 2) {
        if (t < half_)
            part[t] += part[t + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        out[get_group_id(0)] = part[0];
}

kernel void product(global const float *a, global const float *b, global float *c)
{
    local float part_a[16][16], part_b[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    size_t column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float sum = 0;
    for (size_t k = 0; k < n; k += 16) {
        part_a[y][x] = a[row * n + k + x];
        part_b[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < 16; i++)
            sum += part_a[y][i] * part_b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
"""


@cuda.jit
def stencil(u, out):  # type: ignore[no-untyped-def]
    j, i = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        out[i, j] = QUARTER * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@cuda.jit
def mandelbrot(reals, imags, counts):  # type: ignore[no-untyped-def]
    j, i = cuda.grid(2)
    if i < counts.shape[0] and j < counts.shape[1]:
        x, y, real, imag = float32(0), float32(0), reals[j], imags[i]
        count = 0
        while count < ROUNDS_OF_POINT and x * x + y * y <= FOUR:
            x, y = x * x - y * y + real, TWO * x * y + imag
            count += 1
        counts[i, j] = count


@cuda.jit
def waves(x, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = float32(0)
        for k in range(1, 17):
            total = total * float32(0.5) + x[i] * float32(k)
        out[i] = math.sqrt(math.fabs(total)) / (1 + x[i] * x[i])


@cuda.jit
def sums(x, out):  # type: ignore[no-untyped-def]
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


class Case(NamedTuple):
    """A kernel and its launch; `numpy` computes the same, in full or as a sample of it."""

    kernel: Any
    title: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[np.ndarray, ...]
    numpy: Callable[..., np.ndarray]


def cases() -> list[Case]:
    """Return the statements to measure."""
    x = np.random.default_rng(3).normal(size=LARGE).astype("f4")
    y, out, parts = x[::-1].copy(), np.empty_like(x), np.empty(LARGE // BLOCK, "f4")
    a, b = (each[: WIDTH * WIDTH].reshape(WIDTH, WIDTH).copy() for each in (x, y))
    u = x.reshape(SIDE, SIDE)
    reals, imags = np.linspace(-2, 1, 1024, dtype="f4"), np.linspace(-1.2, 1.2, 1024, dtype="f4")
    line, tiles = (LARGE // BLOCK,), (WIDTH // TILE,) * 2
    return [
        Case(add, "vector add, 2^24 float32", line, (BLOCK,), (x, y, out), np.add),
        Case(stencil, f"stencil of 4 neighbours, {SIDE} x {SIDE} float32", (SIDE // 32, SIDE // 8),
             (32, 8), (u, np.zeros_like(u)), _stencil),
        Case(mandelbrot, "Mandelbrot set, 1024 x 1024, 100 steps", (1024 // 16,) * 2, (16, 16),
             (reals, imags, np.zeros((1024, 1024), "i4")), _mandelbrot),
        Case(waves, "16 steps of a recurrence, 2^24 float32", line, (BLOCK,), (x, out), _waves),
        Case(sums, "sums of 256 in shared memory, 2^24 float32", line, (BLOCK,), (x, parts), _sums),
        Case(product, f"tiled product, {WIDTH} x {WIDTH} float32", tiles, (TILE, TILE),
             (a, b, np.empty_like(a)), np.matmul),
    ]  # fmt: skip


def _stencil(u: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Compute the stencil."""
    around = u[:-2, 1:-1] + u[2:, 1:-1]
    around += u[1:-1, :-2]
    around += u[1:-1, 2:]
    return np.multiply(around, QUARTER, out=out[1:-1, 1:-1])


def _mandelbrot(reals: np.ndarray, imags: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Count the steps."""
    c = reals + 1j * imags[:, None]
    z, out[...] = np.zeros_like(c), 0
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS_OF_POINT):
            out += z.real * z.real + z.imag * z.imag <= FOUR
            z = z * z + c
    return out


def _waves(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Compute the recurrence."""
    total = np.zeros_like(x)
    for k in range(1, 17):
        total = total * np.float32(0.5) + x * np.float32(k)
    np.divide(np.sqrt(np.abs(total)), 1 + x * x, out=out)
    return out


def _sums(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Compute the sums."""
    return np.sum(x.reshape(-1, BLOCK), axis=1, out=out)


# ---------------------------------------------------------------- the others


def opencl(case: Case) -> Callable[[], Any] | None:
    """Return what runs a case on PoCL, over the same memory, or None."""
    try:
        cl = importlib.import_module("pyopencl")
    except ImportError:
        return None
    device = next(d for p in cl.get_platforms() if "Portable" in p.name for d in p.get_devices())
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, OPENCL).build()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=each) for each in case.arguments]
    kernel = getattr(program, case.kernel.__name__)
    size = tuple(g * b for g, b in zip(case.grid, case.block, strict=True))

    def run() -> None:
        kernel(queue, size, case.block, *buffers)
        queue.finish()

    return run


def parallel(case: Case) -> Callable[[], Any] | None:
    """Return what runs a case in a parallel loop of Numba, or None."""
    try:
        numba = importlib.import_module("numba")
    except ImportError:
        return None

    def add(x, y, out):  # type: ignore[no-untyped-def]
        for i in numba.prange(x.shape[0]):
            out[i] = x[i] + y[i]

    def stencil(u, out):  # type: ignore[no-untyped-def]
        for i in numba.prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                out[i, j] = QUARTER * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    python = {"add": add, "stencil": stencil}.get(case.kernel.__name__)
    compiled = numba.njit(parallel=True)(python) if python else None
    return (lambda: compiled(*case.arguments)) if compiled else None


_SIMULATED = """
import json, sys, time
sys.path.insert(0, {folder!r})
import numpy as np
from numba import cuda

def add(x, y, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i] + y[i]

x = np.ones(1024, "f4")
kernel = cuda.jit(add)
kernel[1, 32](x[:32], x[:32], x[:32].copy())
start = time.perf_counter()
kernel[4, 256](x, x, x.copy())
print(json.dumps((time.perf_counter() - start) / 1024))
"""


def simulated() -> float | None:
    """Return the time of a thread of the vector add in Numba's simulator [s], or None."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SIMULATED.format(folder=str(HERE))],
        capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )  # fmt: skip
    return float(json.loads(done.stdout)) if not done.returncode else None


# ---------------------------------------------------------------- the table


def paired(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float, float]:
    """Return the median of the ratios of both, and the medians of their times [ms]."""
    times: list[tuple[float, float]] = []
    for round_ in range(ROUNDS + 1):
        found = []
        for run in (first, second):
            start = time.perf_counter()
            run()
            found.append((time.perf_counter() - start) * 1e3)
        if round_:  # the first compiles, and touches memory
            times.append((found[0], found[1]))
    ratio = statistics.median(a / b for a, b in times)
    return ratio, *(statistics.median(column) for column in zip(*times, strict=True))


def rows() -> tuple[list[str], list[str]]:
    """Return a row of the table for each case, and the sentence after it."""
    found, tail = [], []
    for case in cases():

        def ours(case: Case = case) -> None:
            case.kernel[case.grid, case.block](*case.arguments)

        def in_numpy(case: Case = case) -> None:
            case.numpy(*case.arguments[:-1], out=case.arguments[-1])

        to_numpy, mine, numpys = paired(ours, in_numpy)
        cells = []
        for other in (opencl(case), parallel(case)):
            if other is None:
                cells += ["", ""]
                continue
            ratio, mine, others = paired(ours, other)
            cells += [f"{others:.1f}", f"{ratio:.2f}"]
        found.append(
            f"| {case.title} | {mine:.1f} | {' | '.join(cells)} | {numpys:.1f} | {to_numpy:.2f} |"
        )
        if case.kernel is add:
            threads = prod(case.grid) * prod(case.block)
            each = simulated()
            if each is not None:
                times = each / (mine / 1e3 / threads)
                said = f"Numba's simulator takes {each * 1e6:.0f} us for a thread of the vector"
                tail.append(f"{said} add: {times:,.0f} times as long.")
    return found, tail


def table() -> str:
    """Return the figures as Markdown."""
    found, tail = rows()
    lines = [
        seen(f"{platform.machine()} with {os.cpu_count()} cores", LIBRARIES),
        "",
        "| Kernel | here [ms] | PoCL [ms] | ratio | Numba [ms] | ratio | NumPy [ms] | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
        *found,
    ]
    return "\n".join([*lines, "", *tail, ""])


if __name__ == "__main__":
    write_page(__doc__, lambda _: table())
