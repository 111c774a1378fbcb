"""Measures the figures of the page "Overhead" of the docs, and writes them to a JSON file.

Source: `paired`.  ``python tests/bench/overhead.py`` measures in several processes, with both cores
and the installed libraries, writes ``docs/_generated/overhead.json`` with commit and machine, and
makes the tables and the plots of it (`overhead_pages`); ``--render`` only makes those again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import budget_run  # noqa: E402 - the folder is not a package
import import_time  # noqa: E402 - as above
import overhead_pages  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CORES = ("native", "ctypes")
OURS = "interchange"
CONSUMERS = {
    OURS: "from_dlpack({})",
    "NumPy": "np.from_dlpack({})",
    "nanobind argument": "nanobind_take({})",
    "tvm-ffi": "tvm_ffi.from_dlpack({})",
    "cuda.core": "StridedMemoryView.from_dlpack({}, stream_ptr=-1)",
    "PyTorch": "torch.from_dlpack({})",
    "JAX": "jax_from_dlpack({})",
}
SOURCES = {"NumPy": "x", "PyTorch": "tensor", "JAX": "jax_array", "tvm-ffi": "tvm_tensor"}
EXPORTS = {
    OURS: "ours.__dlpack__(max_version=version)",
    "NumPy": "x.__dlpack__(max_version=version)",
    "tvm-ffi": "tvm_tensor.__dlpack__(max_version=version)",
    "PyTorch": "tensor.__dlpack__(max_version=version)",
    "JAX": "jax_array.__dlpack__(max_version=version)",
}
AXES = (1, 2, 4, 8, 16, 32)
BYTES = (2**4, 2**10, 2**16, 2**22, 2**28)
THREADS = (1, 2, 4)
LIBRARIES = ("numpy", "apache-tvm-ffi", "nanobind", "cuda-core", "torch", "jax")
YARDSTICK = "np.from_dlpack(x)"

_IN_THREADS = 50  # times as many calls, so that starting threads is not measured

# A figure is a list: how many times the yardstick's, and the time itself [ns].


# ---------------------------------------------------------------- in one process


def cases(names: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    """Yield where each figure belongs, its statement and the yardstick; add arrays to `names`."""
    for source, variable in SOURCES.items():
        for consumer, statement in CONSUMERS.items():
            yield ("imports", source, consumer), statement.format(variable), YARDSTICK
    for producer, statement in EXPORTS.items():
        yield ("exports", "all", producer), statement, EXPORTS["NumPy"]
    for kind, of_kind in (("axes", AXES), ("bytes", BYTES)):
        for number in of_kind:
            variable = f"{kind}_{number}"
            names[variable] = made(kind, number)
            for consumer in (OURS, "NumPy"):
                statement = CONSUMERS[consumer].format(variable)
                yield (kind, consumer, str(number)), statement, YARDSTICK


def made(kind: str, number: int) -> Any:
    """Return an ndarray of so many axes, or bytes."""
    import numpy as np

    shape = (2,) * min(number, 4) + (1,) * (number - 4) if kind == "axes" else (number // 4,)
    return np.zeros(shape, np.float32)


def measure_here(rounds: int, count: int) -> dict[str, Any]:
    """Return every figure of this process, by group, row and column."""
    from budget_names import core, nanobind

    names = nanobind()
    found: dict[str, Any] = {}
    for (group, row, column), statement, yardstick in cases(names):
        is_ours = OURS in {row, column}
        if core() != "native" and not is_ours:
            continue  # measured beside the native core
        figure = figure_of(statement, yardstick, names, rounds, count)
        if figure is not None:
            found.setdefault(group, {}).setdefault(row, {})[column] = figure
    for consumer in (OURS, "NumPy"):
        if core() == "native" or consumer == OURS:
            import_one = names["from_dlpack"] if consumer == OURS else names["np"].from_dlpack
            row = found.setdefault("threads", {}).setdefault(consumer, {})
            for number in THREADS:
                row[str(number)] = threaded(import_one, names, number, rounds, _IN_THREADS * count)
    return found


def figure_of(
    statement: str, yardstick: str, names: dict[str, Any], rounds: int, count: int
) -> list[float] | None:
    """Return ratio and time [ns] of a statement; None where a library lacks or refuses it."""
    try:
        exec(statement, dict(names))  # noqa: S102 - ours
    except NameError:
        return None  # of a library that is not installed
    except Exception as error:  # noqa: BLE001 - a library may refuse another's arrays
        print(f"{statement}: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    pair = compare(statement, yardstick, names, rounds=rounds, count=count)
    return [pair.ratio, pair.subject]


def threaded(
    import_one: Callable[[Any], Any], names: dict[str, Any], threads: int, rounds: int, count: int
) -> list[float]:
    """Return the same of an import that so many threads do at once, in CPU time of the process."""
    x = names["x"]
    ratios, spent = [], []
    for _ in range(rounds):
        reference = _cpu_time(names["np"].from_dlpack, x, 1, count)
        spent.append(_cpu_time(import_one, x, threads, count))
        ratios.append(spent[-1] / reference)
    return [statistics.median(ratios), statistics.median(spent)]


def _cpu_time(import_one: Callable[[Any], Any], x: Any, threads: int, count: int) -> float:
    """Return the CPU time of the process per import [ns]."""
    barrier = threading.Barrier(threads + 1)

    def work() -> None:
        barrier.wait()
        for _ in range(count):
            import_one(x)
        barrier.wait()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.process_time_ns()
    barrier.wait()
    spent = time.process_time_ns() - start
    for worker in workers:
        worker.join()
    return spent / count / threads


# ---------------------------------------------------------------- over processes


def measure(processes: int, rounds: int, count: int) -> dict[str, Any]:
    """Return the figures of both cores, medians over processes."""
    figures = {}
    for core in CORES:
        runs = [_measure_in_child(core, rounds, count) for _ in range(processes)]
        figures[core] = medians(runs)
    return figures


def _measure_in_child(core: str, rounds: int, count: int) -> dict[str, Any]:
    """Return the results of one process with a core."""
    command = [sys.executable, __file__, "--child", f"--rounds={rounds}", f"--count={count}"]
    environment = {**os.environ, "INTERCHANGE_CORE": core, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def medians(runs: list[Any]) -> Any:
    """Return the medians of the values at the same position in all runs."""
    if isinstance(runs[0], dict):
        return {key: medians([run[key] for run in runs if key in run]) for key in runs[0]}
    if isinstance(runs[0], list):
        return [float(f"{statistics.median(numbers):.4g}") for numbers in zip(*runs, strict=True)]
    return runs[0]


def conditions(processes: int, rounds: int) -> dict[str, Any]:
    """Return the date, the commit, the machine and the releases of the measurement."""
    return {
        "day": import_time.today(),
        "commit": import_time.commit(),
        "machine": import_time.machine(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "libraries": import_time.releases(LIBRARIES),
        "processes": processes,
        "rounds": rounds,
    }


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "docs" / "_generated")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure_here(options.rounds, options.count)))
        return 0
    path = options.folder / overhead_pages.DATA
    if not options.render:
        how = options.processes, options.rounds, options.count
        data = {
            "conditions": conditions(options.processes, options.rounds),
            "figures": measure(*how),
            "budgets": [one._asdict() for one in budget_run.measure(*how, "emulated")],
            "ctypes": [one._asdict() for one in budget_run.measure_ctypes(*how)],
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    for name, text in overhead_pages.pages(json.loads(path.read_text(encoding="utf-8"))).items():
        (options.folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
