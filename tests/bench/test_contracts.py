"""What a call with checked arguments costs: the program runs, and the guide shows what it wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

import contracts  # noqa: E402 - the folder is no package


def ratios(**cores):
    """Return these ratios for every call."""
    return {core: [ratio] * len(contracts.CALLS) for core, ratio in cores.items()}


def test_each_core_has_its_column():
    """And each call its row."""
    lines = contracts.table(ratios(native=2.0, ctypes=1.5)).splitlines()

    assert lines[0] == "| Call | native core | ctypes core |"
    assert [line.endswith(" | 2.00 | 1.50 |") for line in lines[2:]] == [True] * len(
        contracts.CALLS
    )


@pytest.mark.parametrize(("native", "ctypes", "is_within"), [(2.5, 2.5, True), (2.4, 2.6, False)])
def test_the_bar_is_for_both_cores(native, ctypes, is_within):
    """One that misses it is enough."""
    assert contracts.is_within(ratios(native=native, ctypes=ctypes)) is is_within


def test_every_statement_runs():
    """With the names that it uses."""
    names = contracts.names()

    for call in contracts.CALLS:
        assert eval(call.statement, dict(names)) is None  # noqa: S307 - ours


def test_the_guide_shows_what_was_measured():
    """A table of the same calls, all within the bar."""
    page = (DOCS / "guides" / "accept-any-array.md").read_text(encoding="utf-8")
    text = (DOCS / "_generated" / "contracts.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]

    assert "{include} ../_generated/contracts.md" in page
    assert f"the target is {contracts.BAR}" in page
    assert [row[0] for row in rows] == [call.name for call in contracts.CALLS]
    assert all(float(cell) <= contracts.BAR for row in rows for cell in row[1:])


@pytest.mark.slow
def test_a_quick_run_prints_every_call():
    """And exits with 0."""
    command = [sys.executable, str(HERE / "contracts.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"| {call.name} |" in done.stdout for call in contracts.CALLS)
