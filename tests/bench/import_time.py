"""The cost of an import: CPU time of new processes, in addition to that of the bare interpreter.

Source: Python, "os.wait4".  Processes of all statements alternate in random order, the files of
their bytecode exist, and the path has only the two packages: anything else that an environment
loads at startup (``.pth`` files) would be measured with neither.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
BUDGET = 1 / 3  # of the yardstick
STATEMENTS = {
    "bare": "pass",
    "yardstick": "import numpy",
    "subject": "import interchange",
    "first": "import interchange; interchange.asarray(b'')",
}
_FACTS = """
import json, os, platform, numpy, interchange
places = [os.path.dirname(os.path.dirname(one.__file__)) for one in (interchange, numpy)]
print(json.dumps([platform.python_version(), numpy.__version__, places]))
"""


class Result(NamedTuple):
    """The results for one Python."""

    python: str  # python, numpy: their releases
    numpy: str
    # bare, yardstick, subject, first: median CPU time of a process [s]: without imports, with
    # NumPy, with interchange, with interchange and an array of it
    bare: float
    yardstick: float
    subject: float
    first: float

    def ratio(self, time: float) -> float:
        """Return how much of the yardstick a time is, both beyond the bare interpreter's."""
        return (time - self.bare) / (self.yardstick - self.bare)


def cpu_time_of(command: list[str]) -> float:
    """Return the CPU time of a process, user's and system's [s]."""
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{command[-1]!r} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def measure_imports(python: str, rounds: int) -> Result:
    """Return the costs of the imports in a Python that has both packages."""
    said = subprocess.run([python, "-I", "-c", _FACTS], capture_output=True, text=True, check=True)
    release, numpy, places = json.loads(said.stdout)
    start = f"import site, sys; sys.path[:0] = {places!r}; "  # site: the default startup of Python
    commands = {name: [python, "-I", "-S", "-c", start + code] for name, code in STATEMENTS.items()}
    for command in commands.values():  # writes missing bytecode
        cpu_time_of(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name in random.sample(list(commands), len(commands)):
            times[name].append(cpu_time_of(commands[name]))
    medians = {name: statistics.median(found) for name, found in times.items()}
    return Result(release, numpy, **medians)


def page_of(results: list[Result], rounds: int) -> str:
    """Return the figures as Markdown, with where and when they were measured."""
    said = f"Measured on {today()} at commit {commit()}, on {machine()}"
    load = f"{os.getloadavg()[0]:.1f} processes wanted to run meanwhile"
    lines = [
        f"{said}, {rounds} processes each; {load}:",
        "",
        "| CPython | NumPy | Bare [ms] | `numpy` [ms] | `interchange` [ms] | Ratio | First array |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one.python} | {one.numpy} | {1e3 * one.bare:.1f} | {1e3 * one.yardstick:.1f} |"
        f" {1e3 * one.subject:.1f} | {one.ratio(one.subject):.2f} | {one.ratio(one.first):.2f} |"
        for one in results
    ]
    return "\n".join(lines) + "\n"


def within_budget(results: list[Result]) -> bool:
    """Whether the import took no more than its share of the yardstick with every Python."""
    return all(one.ratio(one.subject) <= BUDGET for one in results)


def today() -> str:
    """Return the date."""
    return datetime.now(timezone.utc).date().isoformat()


def machine() -> str:
    """Return the processor of this machine, and its system."""
    return f"{os.cpu_count()} cores of {processor()} ({platform.system()} {platform.machine()})"


def releases(libraries: Iterable[str]) -> dict[str, str | None]:
    """Return the releases of distributions, None for those that are not installed."""
    return {name: _release(name) for name in libraries}


def _release(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def conditions(libraries: Iterable[str], processes: int, rounds: int) -> str:
    """Return the date, the commit, the machine and the releases of the measurement."""
    found = (f"{name} {one}" for name, one in releases(libraries).items() if one)
    return (
        f"Measured on {today()} at commit {commit()}, on {machine()}, CPython"
        f" {platform.python_version()}, {', '.join(found)}; CPU time of the calling thread, medians"
        f" of {processes} processes and {rounds} rounds; {os.getloadavg()[0]:.1f} processes wanted"
        " to run meanwhile."
    )


def commit() -> str:
    """Return the commit that was measured, and whether its files were changed."""
    found, changed = (
        _git("rev-parse", "--short=12", "HEAD"),
        _git("status", "--porcelain", "-uno"),
    )
    return f"`{found}`{' with changes' if changed else ''}" if found else "that is not known"


def _git(*arguments: str) -> str | None:
    """Return the output of git about the repository; None outside of one."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def processor() -> str:
    """Return the name of the processor, as reported by Linux."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    names = [line.partition(":")[2] for line in text.splitlines() if line.startswith("model name")]
    return names[0].strip() if names else platform.processor() or "a processor without a name"


def run(pythons: list[str], rounds: int, page: Path | None) -> bool:
    """Measure, print or write the page, and return whether the limit is met."""
    results = [measure_imports(python, rounds) for python in pythons or [sys.executable]]
    text = page_of(results, rounds)
    if page is None:
        print(text, end="")
    else:
        page.write_text(text, encoding="utf-8")
    return within_budget(results)
