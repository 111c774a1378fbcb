"""Time every case in several processes and print the table: ``python tests/bench``.

``--check`` exits with 1 when a case is over its budget; ``--quick`` only sees that all cases run.
``--cuda`` times device memory on the emulated CUDA driver, ``--cuda=real`` on this machine's; both
need the extra ``interop``.
``--budgets`` holds the native core against other libraries, and exits with 1 when a bar is missed;
``--cuda=real`` makes it do so on this machine's driver.
``--imports`` times ``import interchange`` in fresh processes, here or with every ``--python``, and
``--markdown`` writes the figures to a file.
The verdict of a case is the median over processes of the median ratio over rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import budget_run  # noqa: E402 - the folder is no package
import import_time  # noqa: E402 - as above
from cases import CASES, Case, make_names  # noqa: E402 - as above
from cuda_cases import CUDA_ROWS, make_cuda_names  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

CUDA_CASES = tuple(Case(*row) for row in CUDA_ROWS)


def measure(cuda: str | None, rounds: int, count: int) -> dict[str, tuple[float, float, float]]:
    """Return ratio, subject [ns] and yardstick [ns] of every case, in this process."""
    names = make_cuda_names(cuda) if cuda else make_names()
    return {
        case.name: tuple(
            compare(case.subject, case.yardstick, names, rounds=rounds, count=min(count, case.most))
        )
        for case in (CUDA_CASES if cuda else CASES)
    }


def measure_in_child(cuda: str | None, rounds: int, count: int) -> dict[str, list[float]]:
    """Return the same, from a process of its own."""
    command = [sys.executable, str(HERE), "--child", f"--rounds={rounds}", f"--count={count}"]
    command += [f"--cuda={cuda}"] if cuda else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def table(cases: Any, results: list[dict[str, list[float]]]) -> tuple[str, bool]:
    """Return the figures as a Markdown table, and whether all budgets hold."""
    import numpy as np

    lines = [
        f"CPython {platform.python_version()}, NumPy {np.__version__}, {len(results)} processes",
        "",
        "| what | times the yardstick | budget | yardstick | ns | ns of the yardstick |",
        "|---|--:|--:|---|--:|--:|",
    ]
    within = True
    for case in cases:
        ratio, subject, yardstick = (
            statistics.median(result[case.name][i] for result in results) for i in range(3)
        )
        within = within and ratio <= case.budget
        lines.append(
            f"| {case.name} | {ratio:.2f} | {case.budget:g} | `{case.yardstick}` |"
            f" {subject:.0f} | {yardstick:.0f} |"
        )
    return "\n".join(lines), within


def main() -> int:
    """Run as the options say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cuda", nargs="?", const="emulated", choices=("emulated", "real"))
    parser.add_argument("--budgets", action="store_true")
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.cuda, options.rounds, options.count)))
        return 0
    if options.quick:
        options.processes, options.rounds, options.count = 1, 3, 50
    if options.imports:
        within = import_time.run(options.python, options.rounds, options.markdown)
        return 1 if options.check and not within else 0
    if options.budgets:
        outcomes = budget_run.measure(
            options.processes, options.rounds, options.count, options.cuda or "emulated"
        )
        print(budget_run.table(outcomes))
        return 0 if options.quick or budget_run.are_met(outcomes) else 1
    results = [
        measure_in_child(options.cuda, options.rounds, options.count)
        for _ in range(options.processes)
    ]
    text, within = table(CUDA_CASES if options.cuda else CASES, results)
    print(text)
    return 1 if options.check and not within else 0


if __name__ == "__main__":
    sys.exit(main())
