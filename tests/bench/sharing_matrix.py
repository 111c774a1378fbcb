"""Rounds of sharing between two processes: ``python tests/bench/sharing_matrix.py``.

Each cell is a kind of memory, how its two processes start, and which of them ends first, as in
``tests/isolated/scripts/sharing.py``, which runs the rounds and counts crashes and leaks.  Device
memory is that of the emulated driver.  ``--rounds`` is the number of rounds of each cell that a
call adds to those in ``--results FILE``, ``--most`` the number that is enough, ``--seconds`` the
time after which no cell begins.  Results of another commit are discarded.  ``--markdown FILE``
writes the log of the docs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from import_time import commit, machine, releases, today

PROGRAM = Path(__file__).parents[1] / "isolated" / "scripts" / "sharing.py"
MEMORY = ("mmap", "shm", "memfd", "cuMalloc", "pool", "virtual", "managed", "pinned")
WAYS = ("fork", "unrelated", "spawn", "started")
ENDS = {
    "exporter": "exporter first",
    "opener": "opener first",
    "both": "both",
    "exporter_killed": "exporter killed",
    "opener_killed": "opener killed",
    "both_killed": "both killed",
    "any_killed": "killed at any time",
}
FRESH = 20  # a cell whose processes are new interpreters takes as much longer

Results = dict[str, Any]


def load(path: Path) -> Results:
    """Return the results so far at this commit."""
    if path.exists():
        found: Results = json.loads(path.read_text(encoding="utf-8"))
        if found["commit"] == commit():
            return found
    return {"commit": commit(), "cells": {}}


def add(cells: dict[str, Any], memory: str, way: str, rounds: int, most: int) -> None:
    """Run more rounds of the cells of one kind of memory and one way to start."""
    keys = {order: f"{memory} {way} {order}" for order in ENDS}
    wanted = [order for order, key in keys.items() if cells.get(key, {}).get("rounds", 0) < most]
    if not wanted:
        return
    first = min(cells.get(keys[order], {}).get("rounds", 0) for order in wanted)
    command = [sys.executable, str(PROGRAM), memory, way, ",".join(wanted), str(rounds), str(first)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for order, found in json.loads(done.stdout).items():
        known = cells.setdefault(keys[order], {"rounds": 0, "crashes": 0, "leaks": 0, "said": []})
        for name in known:
            known[name] += found[name]
        if found["said"]:
            print(keys[order], *found["said"], done.stderr, sep="\n  ", file=sys.stderr)


def table(cells: dict[str, Any]) -> str:
    """Return the numbers of rounds as a table in Markdown."""
    columns = [*ENDS.values(), "Crashes", "Leaks"]
    lines = [f"| Memory | Start | {' | '.join(columns)} |", "|---|---|" + "--:|" * len(columns)]
    for memory in MEMORY:
        for way in WAYS:
            row = [cells[key] for end in ENDS if (key := f"{memory} {way} {end}") in cells]
            if len(row) < len(ENDS):
                continue
            rounds = (f"{cell['rounds']:,}" for cell in row)
            sums = (str(sum(cell[name] for cell in row)) for name in ("crashes", "leaks"))
            lines.append(f"| {memory} | {way} | {' | '.join([*rounds, *sums])} |")
    return "\n".join(lines)


def page(results: Results) -> str:
    """Return the table with what was run, and where."""
    said = ", ".join(f"{name} {version}" for name, version in releases(["cuda-bindings"]).items())
    rounds = sum(cell["rounds"] for cell in results["cells"].values())
    return (
        "<!-- written by tests/bench/sharing_matrix.py --markdown -->\n\n"
        f"{rounds:,} rounds at commit {results['commit']}, {said}, the emulated driver,"
        f" {today()}, {machine()}.\n\n{table(results['cells'])}\n"
    )


def main() -> int:
    """Add rounds, and write what all have found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--memory", default=",".join(MEMORY))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    results, limit = load(options.results), time.monotonic() + options.seconds
    for memory in options.memory.split(","):
        for way in options.ways.split(","):
            if time.monotonic() > limit:
                break
            share = 1 if way in {"fork", "unrelated"} else FRESH
            add(results["cells"], memory, way, -(-options.rounds // share), options.most)
            options.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page(results), encoding="utf-8")
    return int(any(one["crashes"] or one["leaks"] for one in results["cells"].values()))


if __name__ == "__main__":
    sys.exit(main())
