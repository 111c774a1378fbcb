"""Writes the table of interrupted exchanges into the docs, from its own run.

``python tests/isolated/scripts/interrupts_page.py [ROUNDS]`` takes some minutes; it needs a clean
checkout, since the commit is written next to the figures.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

SCRIPT = Path(__file__).with_name("interrupts.py")
PAGE = SCRIPT.parents[3] / "docs" / "_generated" / "interrupts.md"
LOOPS = {
    "export": "export of described memory",
    "numpy": "import of a NumPy array",
    "torch": "import of a tensor of torch, through its C functions",
    "capsule": "import of a bare capsule",
    "cai": "import of a CUDA Array Interface record, on the emulated driver",
}
EMULATED = ("-m", "interchange_conformance.emucuda", "--", sys.executable)


def counts_of(loop: str, rounds: str) -> dict[str, str]:
    """Return the counts of a loop in its own process, by name."""
    start = EMULATED if loop == "cai" else ()
    command = [sys.executable, *start, str(SCRIPT), loop, rounds]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(words[1::2], words[2::2], strict=True))


def seen() -> str:
    """Return the commit, the versions and the machine as text."""
    command = ["git", "describe", "--always", "--abbrev=7", "--dirty"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch"))
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    return f"commit {commit}, CPython {platform.python_version()}, {libraries}, {machine}"


def main(rounds: str = "30000") -> None:
    """Run every loop, and write the page."""
    lines = [
        f"{int(rounds):,} interrupts in each loop; {seen()}.",
        "",
        "| Loop | References to owners left | Dropped in a finaliser of interchange | In others' |",
        "|---|--:|--:|--:|",
    ]
    for loop, words in LOOPS.items():
        found = counts_of(loop, rounds)
        lines.append(f"| {words} | {found['left']} | {found['ours']} | {found['another']} |")
        print(lines[-1], flush=True)
    PAGE.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
