"""The benchmark of columns runs, and the guide shows its output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

import columns  # noqa: E402 - the folder is not a package

COPIES = ('copy="if_needed"', "nulls=float")
OURS = {
    way.code
    for kind in columns.KINDS
    for way in kind.ours
    if not any(word in way.code for word in COPIES)
}
WAYS = [(kind.name, way) for kind in columns.KINDS for way in (*kind.ours, *kind.others)]


def shown(text):
    """Return the cells of a table of the program: column, code, times of calls, memory."""
    rows = re.findall(
        r"^\| ([^|]+) \| `([^`]+)`.* \| (\S+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE
    )
    return [row for row in rows if row[0] != "Column"]


def test_ours_comes_first_of_each_kind():
    """interchange is the first row of each kind, and all code has a row."""
    lines = [columns.Line(name, way, columns.Figures(2e6, 1e6, 0)) for name, way in WAYS]

    found = shown(columns.table(lines))

    assert [row[:2] for row in found] == [(name, way.code) for name, way in WAYS]
    assert all(row[2:] == ("2", "1", "0.00") for row in found)


@pytest.mark.parametrize(
    ("memory", "rows"),
    [
        (columns.SPARED + 1_000_000 * columns.AT_ONCE * columns.ROW, 1_000_000),
        (columns.SPARED + 504 * columns.AT_ONCE * columns.ROW, 504),
        (0, columns.LEAST),
    ],
    ids=["room for all", "room for some", "no room"],
)
def test_as_many_rows_are_measured_as_there_is_room_for(memory, rows):
    """Two copies of the column beside it, and something for the machine."""
    assert columns.fitting(1_000_000, memory) == rows


def test_fewer_rows_than_were_asked_for_are_told(monkeypatch):
    """A smaller number of rows is stated in the sentence above the table."""
    monkeypatch.setattr(columns, "releases", lambda _: {})

    assert "as many of 1,000,000 as" in columns.conditions(800, 1_000_000, 3)
    assert "as many of" not in columns.conditions(800, 800, 3)


def test_the_guide_shows_what_was_measured():
    """The same ways, of which ours adds no memory where there is one chunk."""
    page = (DOCS / "guides" / "columns-and-tensors.md").read_text(encoding="utf-8")
    text = (DOCS / "_generated" / "columns.md").read_text(encoding="utf-8")
    found = shown(text)

    assert "{include} ../_generated/columns.md" in page
    assert re.search(r"^A column of [\d,]+ x 768 float32 \([\d.]+ GB\).* at commit `", text)
    assert [row[:2] for row in found] == [(name, way.code) for name, way in WAYS]
    assert all(float(row[4]) < 0.1 for row in found if row[1] in OURS)


@pytest.mark.slow
@pytest.mark.interop
def test_a_quick_run_prints_every_way(need):
    """A quick run prints all rows and exits with 0."""
    for name in columns.NEEDED:
        need(name)
    command = [sys.executable, str(HERE / "columns.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"`{way.code}`" in done.stdout for _, way in WAYS)
