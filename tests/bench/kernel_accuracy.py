"""Measures the error of functions of `math` in kernels on the CPU, against mpmath.

``python tests/bench/kernel_accuracy.py [COUNT]`` prints a table in Markdown: the largest error in
units in the last place (ulp) over special and random arguments, of float32 and float64.
"""

from __future__ import annotations

import linecache
import math
import sys

import mpmath
import numpy as np

from interchange import cuda
from interchange.cuda.calls import MATH

EXACT = {"ceil", "floor", "trunc", "fabs", "isnan", "isinf", "isfinite", "copysign", "nextafter"}
EXACT |= {"fmod", "remainder"}
SPECIAL = (
    0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-30, -1e-30, 1e-5, 3.0, 10.0, 0.99, 1.01, 5.5, -2.5,
    np.inf, -np.inf, np.nan, 100.0, 700.0, -700.0, 1e10,
)  # fmt: skip
TRUE = {
    "gamma": mpmath.gamma, "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)), "fabs": abs,
    "log2": lambda x: mpmath.log(x, 2), "exp2": lambda x: mpmath.mpf(2) ** x,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), "pow": lambda x, y: x**y,
    "log10": mpmath.log10, "degrees": mpmath.degrees, "radians": mpmath.radians,
    "erfc": mpmath.erfc,
}  # fmt: skip


def kernel_of(name, count):
    """Return a kernel that computes a function of every element."""
    arguments = ", ".join(["x[i]", "y[i]"][:count])
    text = "def kernel(x, y, out):\n    i = cuda.grid(1)\n"
    text += f"    if i < len(out):\n        out[i] = math.{name}({arguments})\n"
    file = f"<accuracy of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"math": math, "cuda": cuda, "__name__": "accuracy"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - written here
    return cuda.jit(scope["kernel"])


def arguments(dtype, count, seed):
    """Return special and random numbers: small, of the usual size, and of all magnitudes."""
    draw = np.random.default_rng(seed)
    info = np.finfo(dtype)
    spread = np.ldexp(draw.uniform(-1, 1, count), draw.integers(info.minexp, info.maxexp, count))
    parts = (SPECIAL, draw.uniform(-2, 2, count), draw.normal(size=count) * 20, spread)
    return draw.permutation(np.concatenate(parts)).astype(dtype)


def error(found, true, dtype):
    """Return the distance from the true value, in units in the last place of it."""
    if not mpmath.isfinite(true) or np.isinf(dtype(float(true))):
        return 0.0
    if not np.isfinite(found):
        return math.inf
    unit = mpmath.mpf(float(np.spacing(np.abs(dtype(float(true))))))
    return float(abs(mpmath.mpf(float(found)) - true) / unit)


def largest(name, count, dtype, size):
    """Return the largest error, and where it is."""
    x, y = arguments(dtype, size, 1), arguments(dtype, size, 2)
    out = np.zeros_like(x)
    kernel_of(name, count)[(x.size + 127) // 128, 128](x, y, out)
    act, worst = TRUE.get(name) or getattr(mpmath, name), (0.0, "")
    for one, other, found in zip(x, y, out, strict=True):
        given = (float(one), float(other))[:count]
        if not all(map(math.isfinite, given)):
            continue
        try:
            true = act(*(mpmath.mpf(each) for each in given))
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if not isinstance(true, mpmath.mpf):
            continue
        worst = max(worst, (error(found, true, dtype), str(given)))
    return worst


def main():
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    mpmath.mp.prec = 200
    rows = []
    for name, count in sorted(MATH.values()):
        if name in EXACT:
            continue
        found = [largest(name, count, dtype, size) for dtype in (np.float32, np.float64)]
        rows.append(f"`{name}` | {' | '.join(f'{each:.2f}' for each, _ in found)} |")
        if "-v" in sys.argv:
            print(found)
    half = -(-len(rows) // 2)
    print("| Function | `float32` | `float64` " * 2 + "|\n" + "|---|--:|--:" * 2 + "|")
    for place in range(half):
        print("|", rows[place], *rows[place + half : place + half + 1] or ["| | |"])


if __name__ == "__main__":
    main()
