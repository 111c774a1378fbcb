"""Common parts of the benchmarks of kernels: two kernels, and the description of the machine.

Source: CUDA C++ Programming Guide, "Shared Memory" (tiles).
"""

from __future__ import annotations

import contextlib
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from interchange import cuda
from interchange.cuda import float32

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    commit = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],  # noqa: S607 - found by PATH
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    versions = []
    for name in libraries:
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    when = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return (
        f"Seen on {when}, commit {commit or 'unknown'}, {machine}, CPython"
        f" {platform.python_version()}, {', '.join(versions)}."
    )
