"""Measures the rows of `budgets`, and prints them: ratio, limit, passed or not.

Source: `paired`.  Every group of rows is measured in its own processes; the verdict of a row is the
median over them of the median ratio over rounds.  ``python tests/bench`` runs it.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import import_time  # noqa: E402 - the folder is not a package
from budgets import IMPORT_BAR, IMPORT_MEASURE, ROWS  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

if TYPE_CHECKING:
    from budgets import Row


CORES = ("native", "ctypes")


class Outcome(NamedTuple):
    """The result of a row."""

    measure: str  # as in `budgets.Row`
    bar: float  # as in `budgets.Row`
    ratios: list[float]  # of each process; empty if it was not measured
    # subject, yardstick: median times [ns]; for a row that loops in C, those of one statement
    subject: float = 0.0
    yardstick: float = 0.0
    why: str = ""  # why it was not measured

    @property
    def ratio(self) -> float:
        """The median over processes."""
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        """Whether the bar is met, or why it was not measured."""
        if not self.ratios:
            return self.why
        return "met" if self.ratio <= self.bar else "MISSED"


def rows_of(group: str | None = None) -> list[Row]:
    """Return the rows of a group, or of all, that have a bar with the core in use."""
    from budget_names import core

    return [
        row
        for row in ROWS
        if group in {None, row.group} and (core() == "native" or row.ctypes_bar is not None)
    ]


def bar_of(row: Row, core: str) -> float:
    """Return the bar of a row with a core."""
    return row.bar if core == "native" or row.ctypes_bar is None else row.ctypes_bar


def measure_group(group: str, rounds: int, count: int, driver: str) -> dict[str, object]:
    """Return ratio, subject [ns] and yardstick [ns] of a group's rows; or why there is none."""
    from budget_names import GROUPS

    rows = rows_of(group)
    try:
        names = GROUPS[group](driver) if group == "cuda" else GROUPS[group]()
    except ModuleNotFoundError as error:
        return {row.measure: f"not measured: {error.name} is not here" for row in rows}
    found: dict[str, object] = {}
    for row in rows:
        why = hindrance(row, names)
        found[row.measure] = why or compare(
            row.subject, row.yardstick, names, rounds=rounds, count=min(count, row.most)
        )
    return found


def hindrance(row: Row, names: dict[str, object]) -> str:
    """Return why a row cannot be measured with these names; empty if it can."""
    wanted = compile(f"{row.subject}\n{row.yardstick}", row.measure, "exec").co_names
    modules = {
        "tensor": "torch",
        "jax_array": "jax",
        "StridedMemoryView": "cuda.core",
        "column": "pyarrow",
    }
    optional = {*modules, "tvm_ffi", "aoti_getters", "aoti_handle", "loops"}
    for name in wanted:
        if name in optional and name not in names:
            return f"not measured: {modules.get(name, name)} is not here"
    return "" if has_functions(row.subject, names.get("loops")) else "not built yet"


def has_functions(statement: str, loops: object) -> bool:
    """Whether the functions of interchange's C API that a statement loops over are there."""
    import interchange

    called = [
        name
        for name in ("getters", "views", "views_with", "columns", "c_memory")
        if f"loops.{name}(" in statement
    ]
    is_there = hasattr(interchange, "_C_API")
    return all(is_there and hasattr(loops, name) for name in called)


def measure_in_child(
    group: str, rounds: int, count: int, driver: str, core: str
) -> dict[str, object]:
    """Return the same, from a separate process."""
    command = [sys.executable, __file__, group, str(rounds), str(count), driver]
    environment = {**os.environ, "INTERCHANGE_CORE": core}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the process of the group {group!r} ended with {done.returncode}")
    return json.loads(done.stdout)


def measure_rows(
    rows: list[Row], processes: int, rounds: int, count: int, driver: str, core: str
) -> list[Outcome]:
    """Return the results of these rows with a core, in their order."""
    found: dict[str, list[object]] = {row.measure: [] for row in rows}
    for _ in range(processes):
        for group in dict.fromkeys(row.group for row in rows):
            for name, result in measure_in_child(group, rounds, count, driver, core).items():
                found[name].append(result)
    return [outcome_of(row, bar_of(row, core), found[row.measure]) for row in rows]


def measure(processes: int, rounds: int, count: int, driver: str) -> list[Outcome]:
    """Return the results of every row, in their order, and of the import."""
    from budget_names import core

    outcomes = measure_rows(rows_of(), processes, rounds, count, driver, core())
    imported = import_time.measure_imports(sys.executable, max(3, rounds // 3))
    ratio = imported.ratio(imported.subject)
    beyond = (1e9 * (time - imported.bare) for time in (imported.subject, imported.yardstick))
    return [*outcomes, Outcome(IMPORT_MEASURE, IMPORT_BAR, [ratio], *beyond)]


def measure_ctypes(processes: int, rounds: int, count: int) -> list[Outcome]:
    """Return the results of the rows that are measured with the ctypes core, too, with that core.

    Calls with checked arguments have a table of their own (`page_of_contracts`).
    """
    rows = [row for row in ROWS if row.ctypes_bar is not None and row.group != "contracts"]
    return measure_rows(rows, processes, rounds, count, "emulated", "ctypes")


def outcome_of(row: Row, bar: float, results: list[object]) -> Outcome:
    """Return the combined results of the processes for a row."""
    why = next((result for result in results if isinstance(result, str)), "")
    if why:
        return Outcome(row.measure, bar, [], why=why)
    ratios, subject, yardstick = zip(*results, strict=True)
    medians = statistics.median(subject), statistics.median(yardstick)
    return Outcome(row.measure, bar, list(ratios), *medians)


def page_of_contracts(processes: int, rounds: int, count: int) -> str:
    """Return the ratios of calls with checked arguments, with both cores, for the guide."""
    import numpy as np

    rows = [row for row in ROWS if row.group == "contracts"]
    found = {core: measure_rows(rows, processes, rounds, count, "emulated", core) for core in CORES}
    releases = f"CPython {platform.python_version()}, NumPy {np.__version__}"
    said = (
        "How many times longer a call takes than `asarray(x); asarray(y)`, of the same two ndarrays"
        f" ({releases}, {processes} processes for each core):"
    )
    lines = [
        said,
        "",
        "| Call | " + " | ".join(f"{core} core" for core in found) + " |",
        "|---|" + "--:|" * len(found),
    ]
    for row, *outcomes in zip(rows, *found.values(), strict=True):
        lines.append(f"| {row.measure} | {' | '.join(f'{one.ratio:.2f}' for one in outcomes)} |")
    return "\n".join(lines) + "\n"


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    import numpy as np
    from budget_names import core

    lines = [
        f"CPython {platform.python_version()}, NumPy {np.__version__}, {core()} core",
        "",
        "| measure | ratio | of processes | bar | verdict |",
        "|---|--:|---|--:|---|",
    ]
    for one in outcomes:
        ratio = f"{one.ratio:.3f}" if one.ratios else ""
        each = f"{min(one.ratios):.3f} to {max(one.ratios):.3f}" if one.ratios else ""
        lines.append(f"| {one.measure} | {ratio} | {each} | {one.bar:g} | {one.verdict} |")
    return "\n".join(lines)


def are_met(outcomes: list[Outcome]) -> bool:
    """Whether all limits are met; rows that were not measured count as met."""
    return all(one.verdict != "MISSED" for one in outcomes)


if __name__ == "__main__":
    print(json.dumps(measure_group(sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4])))
