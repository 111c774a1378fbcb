"""Times launches of kernels, and kernels, on a GPU or on the emulated driver, beside other ways.

Source: `paired`; CUDA driver API (events).  ``python tests/bench/kernels_device.py`` uses the
driver that is there; with ``--emulated`` the emulated one.  A library that is
not installed, or does not work here, has no row.  ``--write FILE`` writes the figures with commit,
machine and versions as a table of Markdown, which the guide "Write kernels in Python" shows.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import statistics
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from kernels_timed import TILE, add, product, seen, write_page  # noqa: E402 - the folder is not a package
from paired import compare  # noqa: E402 - as above

from interchange import cuda  # noqa: E402 - as above
from interchange.cuda import float32  # noqa: E402 - as above

FEW = 32  # elements of the arrays of a minimal launch
LARGE = 1 << 26
WIDTH = 2048  # of the matrices
BLOCK = 256
C_SOURCE = """
extern "C" __global__ void add(const float *x, const float *y, float *out, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] + y[i];
}

extern "C" __global__ void product(const float *a, const float *b, float *c, long long n)
{
    __shared__ float part_a[16][16], part_b[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    long long column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (long long k = 0; k < n; k += 16) {
        part_a[y][x] = a[row * n + k + x];
        part_b[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += part_a[y][i] * part_b[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void sums(const float *x, float *out, long long n)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    long long i = blockIdx.x * (long long)blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
"""


@cuda.jit
def _sums(x, out):  # type: ignore[no-untyped-def]
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.shape[0] else float32(0)
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


class Bare:
    """``cuLaunchKernel`` through cuda.bindings, of our kernel, with arguments in a tuple."""

    def __init__(self, arrays: list[Any], stream: int) -> None:
        from cuda.bindings import driver

        self.driver, self.stream = driver, stream
        types = tuple(cuda.ArrayType(float32, 1, in_c_order=True) for _ in arrays)
        loaded = next(iter(add._on_device[types]._by_context.values()))
        self.function = driver.CUfunction(loaded.function)
        self.values = tuple(n for x in arrays for n in (x.ptr, x.shape[0], 4))
        self.kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64) * len(arrays)
        (error,) = self.launch()
        if error:
            raise RuntimeError(f"a bare launch failed with {error.name}")

    def launch(self) -> Any:
        """Launch it."""
        return self.driver.cuLaunchKernel(
            self.function, 1, 1, 1, FEW, 1, 1, 0, self.stream, (self.values, self.kinds), 0
        )


def launches(*, emulated: bool) -> dict[str, tuple[float, float]]:
    """Return the time of a launch by every way: times the bare one's, and [us]."""
    arrays = [cuda.to_device(np.ones(FEW, "f4")) for _ in range(3)]
    add[1, FEW](*arrays)
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "interchange, its own arrays": ("k[1, n](a, b, c)", _named(add, arrays)),
        "interchange, configured before": ("k(a, b, c)", _named(add[1, FEW], arrays)),
    }
    if not emulated:
        for make in OTHERS:
            with contextlib.suppress(ImportError, AttributeError, RuntimeError):
                ways |= make()
    bare = Bare(arrays, 1)
    found = {}
    for name, (statement, names) in ways.items():
        timed = {**names, "bare": bare.launch}
        pair = compare(statement, "bare()", timed, rounds=25, count=200)
        found[name] = (pair.ratio, pair.subject / 1e3)
        found["cuda.bindings, `cuLaunchKernel`"] = (1.0, pair.yardstick / 1e3)
        cuda.synchronize()
    return found


def _named(kernel: Any, arrays: list[Any]) -> dict[str, Any]:
    """Return the names of a launch."""
    return {"k": kernel, "n": FEW, **dict(zip("abc", arrays, strict=True))}


def _over_torch() -> dict[str, Any]:
    """Return launches over tensors of PyTorch."""
    torch = importlib.import_module("torch")
    arrays = [torch.ones(FEW, device="cuda") for _ in range(3)]
    add[1, FEW](*arrays)
    return {"interchange, tensors of PyTorch": ("k[1, n](a, b, c)", _named(add, arrays))}


def _with_cupy() -> dict[str, Any]:
    """Return launches over arrays of CuPy: ours, and its own."""
    cupy = importlib.import_module("cupy")
    arrays = [cupy.ones(FEW, "f4") for _ in range(3)]
    add[1, FEW](*arrays)
    raw = cupy.RawKernel(C_SOURCE, "add")
    raw((1,), (FEW,), (*arrays, np.int64(FEW)))
    names = {**_named(raw, arrays), "n": np.int64(FEW), "grid": (1,), "block": (FEW,)}
    return {
        "interchange, arrays of CuPy": ("k[1, n](a, b, c)", _named(add, arrays)),
        "CuPy RawKernel, its own arrays": ("k(grid, block, (a, b, c, n))", names),
    }


def _with_numba() -> dict[str, Any]:
    """Return launches of numba-cuda over its own arrays."""
    numba = importlib.import_module("numba.cuda")
    body = add.__wrapped_kernel__
    kernel = numba.jit(FunctionType(body.__code__, {"cuda": numba}, body.__name__))
    arrays = [numba.to_device(np.ones(FEW, "f4")) for _ in range(3)]
    kernel[1, FEW](*arrays)
    return {
        "numba-cuda, its own arrays": ("k[1, n](a, b, c)", _named(kernel, arrays)),
        "numba-cuda, configured before": ("k(a, b, c)", _named(kernel[1, FEW], arrays)),
    }


def _with_warp() -> dict[str, Any]:
    """Return launches of Warp over its own arrays."""
    importlib.import_module("warp")
    names = importlib.import_module("warp_kernel").names(FEW)
    return {"Warp, its own arrays": ("launch(k, dim=n, inputs=[a, b, c])", names)}


OTHERS = (_over_torch, _with_cupy, _with_numba, _with_warp)
LIBRARIES = (
    "numpy", "llvmlite", "cuda-bindings", "cupy-cuda13x", "numba-cuda", "torch", "warp-lang",
)  # fmt: skip


# ---------------------------------------------------------------- kernels


def kernels() -> dict[str, tuple[float, float]]:
    """Return the time of kernels [ms]: ours, and the same in CUDA C by CuPy's RawKernel."""
    cupy = importlib.import_module("cupy")
    compiled = {name: cupy.RawKernel(C_SOURCE, name) for name in ("add", "product", "sums")}
    blocks = LARGE // BLOCK
    vectors = [cupy.ones(LARGE, "f4") for _ in range(3)]
    matrices = [cupy.ones((WIDTH, WIDTH), "f4") for _ in range(3)]
    partial = cupy.zeros(blocks, "f4")
    tiles, tile = (WIDTH // TILE, WIDTH // TILE), (TILE, TILE)
    n, width = np.int64(LARGE), np.int64(WIDTH)
    cases = {
        f"vector add, 2^{LARGE.bit_length() - 1} float32": (
            lambda: add[blocks, BLOCK](*vectors),
            lambda: compiled["add"]((blocks,), (BLOCK,), (*vectors, n)),
        ),
        f"sums of {BLOCK} in shared memory, 2^{LARGE.bit_length() - 1} float32": (
            lambda: _sums[blocks, BLOCK](vectors[0], partial),
            lambda: compiled["sums"]((blocks,), (BLOCK,), (vectors[0], partial, n)),
        ),
        f"tiled matrix product, {WIDTH} x {WIDTH} float32": (
            lambda: product[tiles, tile](*matrices),
            lambda: compiled["product"](tiles, tile, (*matrices, width)),
        ),
    }
    return {name: (_milliseconds(ours), _milliseconds(c)) for name, (ours, c) in cases.items()}


def _milliseconds(launch: Any, rounds: int = 20) -> float:
    """Return the GPU time of a launch, the median of several [ms]."""
    launch()
    times = []
    for _ in range(rounds):
        first, last = cuda.event(), cuda.event()
        first.record()
        launch()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


# ---------------------------------------------------------------- the page


def table(*, emulated: bool) -> str:
    """Return the figures as Markdown."""
    if emulated:
        from interchange_conformance.emucuda import load

        load()
    if not cuda.is_available():
        raise SystemExit("there is no driver")
    lines = [
        seen(_device(), LIBRARIES),
        "",
        "| Launch of one block of 32 threads, three arrays | [us] | times a bare call |",
        "|---|--:|--:|",
    ]
    for name, (ratio, us) in sorted(launches(emulated=emulated).items(), key=lambda row: row[1][1]):
        lines.append(f"| {name} | {us:.1f} | {ratio:.2f} |")
    if not emulated:
        lines += ["", "| Kernel | interchange [ms] | CUDA C by NVRTC [ms] |", "|---|--:|--:|"]
        lines += [f"| {name} | {a:.3f} | {b:.3f} |" for name, (a, b) in kernels().items()]
    return "\n".join(lines) + "\n"


def _device() -> str:
    """Return the name of the GPU, and the version of its driver."""
    from cuda.bindings import driver

    (_, name), (_, number) = driver.cuDeviceGetName(64, 0), driver.cuDriverGetVersion()
    text = name.decode().strip("\0 ") if isinstance(name, bytes) else str(name)
    return f"{text}, driver API {number // 1000}.{number % 1000 // 10}"


if __name__ == "__main__":
    write_page(__doc__, lambda options: table(emulated=options.emulated))
