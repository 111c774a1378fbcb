"""The benchmark of exchanges with Arrow runs, and the page on overhead shows its output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

import arrow  # noqa: E402 - the folder is not a package
from paired import Pair  # noqa: E402 - as above


def test_a_figure_has_the_unit_of_its_row():
    """A time, a time beyond that of the baseline, or a ratio."""
    pair = Pair(2.5, 5000.0, 2000.0)
    rows = {row.unit: row for row in arrow.ROWS}

    assert arrow.Line(rows[arrow.TIME], pair).figure == 5
    assert arrow.Line(rows[arrow.BEYOND], pair).figure == 3
    assert arrow.Line(rows[arrow.RATIO], pair).figure == 2.5


def test_the_page_shows_every_row():
    """All rows, with the figures before and the goals, and the conditions."""
    text = (DOCS / "_generated" / arrow.PAGE).read_text(encoding="utf-8")
    cells = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()[4:]]

    assert f"{{include}} _generated/{arrow.PAGE}" in (DOCS / "overhead.md").read_text("utf-8")
    assert re.search(r"^Measured on .* at commit `", text)
    assert cells == [row.name for row in arrow.ROWS]


@pytest.mark.slow
@pytest.mark.interop
def test_a_quick_run_prints_every_row(need):
    """A quick run prints all rows and exits with 0."""
    for name in arrow.NEEDED:
        need(name)
    command = [sys.executable, str(HERE / "arrow.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"| {row.name} | `{row.subject}` |" in done.stdout for row in arrow.ROWS)
