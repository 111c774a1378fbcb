"""Common parts of the benchmarks of kernels: two kernels, and the description of the machine.

Source: CUDA C++ Programming Guide, "Shared Memory" (tiles).
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from import_time import commit, releases, today

from interchange import cuda
from interchange.cuda import float32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TILE = 16


@cuda.jit
def add(x, y, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i] + y[i]


@cuda.jit
def product(a, b, c):  # type: ignore[no-untyped-def]
    part_a = cuda.shared.array((TILE, TILE), float32)
    part_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for k in range(0, a.shape[1], TILE):
        part_a[y, x] = a[row, k + x]
        part_b[y, x] = b[k + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += part_a[y, i] * part_b[i, x]
        cuda.syncthreads()
    c[row, column] = total


def seen(machine: str, libraries: Iterable[str]) -> str:
    """Return the machine and the date of the measurement."""
    versions = [f"{name} {one}" for name, one in releases(libraries).items() if one]
    return (
        f"Seen on {today()}, commit {commit()}, {machine}, CPython"
        f" {platform.python_version()}, {', '.join(versions)}."
    )


def write_page(doc: str | None, make: Callable[[argparse.Namespace], str]) -> None:
    """Print a table of Markdown, and write it to the file that ``--write`` names."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--emulated", action="store_true", help="of a GPU: the emulated driver")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    text = make(options)
    print(text)
    if options.write:
        options.write.write_text(text)
