"""Measures the time to compile kernels: ``python tests/bench/kernels_compile.py``.

Each kernel in separate processes: the first one, for which LLVM is loaded; the same again, without
the cache on disk; and from the cache.  Then the run time by optimisation level: its time divided by
that of ``-O3``, in interleaved rounds.  ``--quick`` only tests that all of it works.  Times are of
the thread's CPU clock, medians over the rounds of a process and then over processes.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.cpu_count = lambda: 1  # blocks are not shared out: only this thread's clock is read

from paired import compare  # noqa: E402 - the folder is not a package

from kernels.programs import PROGRAMS, types_of  # noqa: E402 - as above

SIZES = {
    "vector_add": 1 << 20, "saxpy": 1 << 20, "integers": 1 << 18, "calculator": 1 << 17,
    "conversions": 1 << 18, "matrix_product": 128, "block_sums": 1 << 16, "prefix_sums": 1 << 13,
    "fourier": 64, "histogram": 1 << 16, "mandelbrot": 192, "stencil": 768, "forces": 768,
    "black_scholes": 1 << 14,
}  # fmt: skip
"""Problem sizes of the kernels whose run time is measured."""


def measure(name: str, rounds: int) -> list[float]:
    """Return first, later, found [ms] and the ratio of run times, in this process."""
    from interchange import cuda
    from interchange.cuda.llvm.compiled import HostKernel

    kernel, case = PROGRAMS[name].kernel, PROGRAMS[name].make(SIZES[name])
    types = tuple(types_of(case.arguments))

    def compile_once(level: int | None = None) -> Any:
        return HostKernel(kernel.typed(*types), level=level)

    def timed(times: int) -> float:
        spent = []
        for _ in range(times):
            start = time.thread_time_ns()
            compile_once()
            spent.append((time.thread_time_ns() - start) / 1e6)
        return statistics.median(spent)

    os.environ["INTERCHANGE_CACHE_DIR"] = ""
    first, later = timed(1), timed(rounds)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTERCHANGE_CACHE_DIR"] = folder
        timed(1)
        found = timed(rounds)
    os.environ["INTERCHANGE_CACHE_DIR"] = ""
    names = {"given": case.arguments}
    for which, level in (("ours", None), ("most", 3)):
        other = cuda.jit(kernel.__wrapped_kernel__)
        other._compiled[types] = compile_once(level)
        names[which] = other[case.grid, case.block]
    pair = compare("ours(*given)", "most(*given)", names, rounds=rounds, count=3)
    return [first, later, found, pair.ratio]


def measure_in_child(name: str, rounds: int) -> list[float]:
    """Return the same, from a separate process."""
    command = [sys.executable, __file__, f"--child={name}", f"--rounds={rounds}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def lines_of(kernel: Any) -> int:
    """Return the lines of a kernel without the empty ones."""
    return sum(map(bool, map(str.strip, inspect.getsource(kernel.__wrapped_kernel__).splitlines())))


def table(names: list[str], processes: int, rounds: int) -> str:
    """Return the figures as a Markdown table."""
    import llvmlite
    import llvmlite.binding as llvm

    info = ".".join(map(str, llvm.llvm_version_info))
    found = [
        f"CPython {platform.python_version()}, llvmlite {llvmlite.__version__}, LLVM {info}",
        f"{llvm.get_host_cpu_name()}; medians of {processes} processes, {rounds} rounds each",
        "",
        "| kernel | lines | first [ms] | after the first [ms] | from the cache [ms] | run / -O3 |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        results = [measure_in_child(name, rounds) for _ in range(processes)]
        first, later, cached, ratio = map(statistics.median, zip(*results, strict=True))
        figures = f"{first:.1f} | {later:.1f} | {cached:.1f} | {ratio:.2f}"
        found.append(f"| {name} | {lines_of(PROGRAMS[name].kernel)} | {figures} |")
    return "\n".join(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", default=[*PROGRAMS])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.child, given.rounds)))
    else:
        print(table(given.kernels, *((1, 1) if given.quick else (given.processes, given.rounds))))


if __name__ == "__main__":
    main()
