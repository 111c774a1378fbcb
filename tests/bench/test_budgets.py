"""The table of targets, the counts of instructions, and the figures of the page "Overhead"."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

import budget_run  # noqa: E402 - the folder is not a package
import instructions  # noqa: E402 - as above
import overhead_pages  # noqa: E402 - as above
import peers_adapter  # noqa: E402 - as above
import plots  # noqa: E402 - as above
from budget_names import GROUPS  # noqa: E402 - as above
from budgets import ROWS  # noqa: E402 - as above

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def data():
    """Return the data of the page's figures."""
    return json.loads((DOCS / "_generated" / overhead_pages.DATA).read_text(encoding="utf-8"))


# ---------------------------------------------------------------- targets


def outcome(*ratios, bar=0.5, why=""):
    """Return an outcome with these ratios."""
    return budget_run.Outcome("an import", bar, list(ratios), why=why)


@pytest.mark.parametrize(
    ("ratios", "verdict"), [((0.4, 0.5, 9.0), "met"), ((0.4, 0.51, 0.6), "MISSED")]
)
def test_the_median_over_processes_decides(ratios, verdict):
    """One disturbed process does not change the verdict."""
    assert outcome(*ratios).verdict == verdict


def test_what_was_not_measured_is_said_to_be_so():
    """A row that was not measured is reported as such, neither passed nor failed."""
    found = outcome(why="not measured: jax is not here")

    assert found.verdict == "not measured: jax is not here"
    assert "| an import |  |  | 0.5 | not measured: jax is not here |" in budget_run.table([found])


def test_one_missed_bar_is_enough():
    """The exit status is that of the verdict."""
    assert budget_run.are_met([outcome(0.4), outcome(why="not built yet")])
    assert not budget_run.are_met([outcome(0.4), outcome(0.6)])


def test_every_row_has_a_bar_and_a_group():
    """Every row has a limit, a group, and a distinct name."""
    assert all(row.bar > 0 and row.group in GROUPS for row in ROWS)
    assert len({row.measure for row in ROWS}) == len(ROWS)


def test_a_row_of_a_library_that_is_not_installed_is_not_measured():
    """A missing name is reported."""
    row = next(row for row in ROWS if "tensor" in row.subject and "tvm_ffi" in row.yardstick)

    assert budget_run.hindrance(row, {"tvm_ffi": None}) == "not measured: torch is not here"
    assert not budget_run.hindrance(row, {"tvm_ffi": None, "tensor": None})


@pytest.mark.slow
@pytest.mark.parametrize("core", budget_run.CORES)
def test_a_quick_run_prints_every_row(core):
    """Only rows with a limit for the core are measured; the exit status is always 0."""
    done = subprocess.run(
        [sys.executable, str(HERE), "--quick"],
        env={**os.environ, "INTERCHANGE_CORE": core},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for row in ROWS:
        is_due = core == "native" or row.ctypes_bar is not None
        assert (f"| {row.measure} |" in done.stdout) is is_due


# ---------------------------------------------------------------- calls with checked arguments


CONTRACTS = [row for row in ROWS if row.group == "contracts"]


def test_every_call_with_checked_arguments_runs():
    """Every call with checked arguments runs with its names."""
    names = GROUPS["contracts"]()

    for row in CONTRACTS:
        assert eval(row.subject, dict(names)) is None  # noqa: S307 - ours


def test_the_guide_shows_what_was_measured():
    """A table of the same calls, all within the bar of both cores."""
    page = (DOCS / "guides" / "accept-any-array.md").read_text(encoding="utf-8")
    text = (DOCS / "_generated" / "contracts.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    (bar,) = {bar for row in CONTRACTS for bar in (row.bar, row.ctypes_bar)}

    assert "{include} ../_generated/contracts.md" in page
    assert f"the target is {bar}" in page
    assert [row[0] for row in rows] == [row.measure for row in CONTRACTS]
    assert all(float(cell) <= bar for row in rows for cell in row[1:])


@pytest.mark.slow
def test_a_quick_run_prints_every_call_with_both_cores(tmp_path):
    """A quick run prints every call with both cores, and writes the table of the guide."""
    page = tmp_path / "page.md"
    command = [sys.executable, str(HERE), "--contracts", "--quick", f"--markdown={page}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert "| Call | native core | ctypes core |" in text
    assert all(f"| {row.measure} |" in text for row in CONTRACTS)


# ---------------------------------------------------------------- instructions


def test_the_count_is_that_of_the_filling_with_the_fewest_instructions():
    """A kind that was not run to its end is not counted."""
    few, more = instructions.KINDS[0].loops
    totals = {
        "0.0.0": 5,
        "0.1.0": 5 + 90 * (more - few),
        "0.0.1": 7,
        "0.1.1": 7 + 80 * (more - few),
    }

    found = instructions.least_counts({**totals, "1.0.0": 5})

    assert found == {instructions.KINDS[0].name: 80.0}


def test_a_count_may_differ_by_three_percent():
    """A decrease counts as well, so that the new count is written."""
    then = {"import": 1000.0, "export": 1000.0, "view": 1000.0}
    now = {"import": 1031.0, "export": 969.0, "view": 1030.0}

    assert instructions.differences(now, then) == [
        "import: 1000 became 1031 (+3.1%)",
        "export: 1000 became 969 (-3.1%)",
    ]


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [({"import": 1.0}, {}, "not checked in"), ({}, {"import": 1.0}, "was not counted")],
)
def test_a_count_on_one_side_only_is_a_difference(now, then, said):
    """A new kind of exchange, and one that is no longer counted, are reported."""
    assert instructions.differences(now, then) == [f"import: {said}"]


def test_counts_of_another_environment_are_not_compared():
    """Counts of another release are not compared, since they differ without a regression."""
    here = instructions.environment_of("numpy")
    entry = {"environment": {**here, "numpy": "1.0"}, "counts": {}}

    with pytest.raises(instructions.CannotTellError, match=r"elsewhere \(numpy: 1\.0, here "):
        instructions.compare({instructions._minor(): {"numpy": entry}}, "numpy", {})


def test_counts_are_checked_in_for_every_kind_that_needs_no_other_library():
    """Counts are checked in with their environment for every kind without other libraries."""
    known = json.loads(instructions.COUNTS.read_text(encoding="utf-8"))
    wanted = {kind.name for kind in instructions.KINDS if kind.needs == "numpy"}

    assert all(set(entry["numpy"]["counts"]) == wanted for entry in known.values())
    assert all(
        set(entry["numpy"]["environment"]) >= {"python", "numpy"} for entry in known.values()
    )


# ---------------------------------------------------------------- the page


def test_the_figures_of_the_page_come_from_what_was_measured(data):
    """Every table and plot is that which the program makes of the checked-in data."""
    made = overhead_pages.pages(data)
    found = {name: (DOCS / "_generated" / name).read_text(encoding="utf-8") for name in made}

    assert found == made


def test_the_page_shows_all_of_them():
    """The page has the date and the machine of the measurement."""
    page = (DOCS / "overhead.md").read_text(encoding="utf-8")

    assert set(re.findall(r"_generated/(overhead-\S+)", page)) == set(overhead_pages.PAGES)


def test_the_conditions_are_told(data):
    """Commit, machine and releases."""
    said = overhead_pages.conditions(data)

    assert re.search(r"^Measured on [\d-]{10} at commit `\w{12}`", said)
    assert f"CPython {data['conditions']['python']}, " in said


def test_both_cores_were_measured(data):
    """Both cores were measured with the same cases."""
    native, readable = (data["figures"][core] for core in ("native", "ctypes"))

    assert native.keys() == readable.keys()
    assert all("interchange" in row for row in readable["imports"].values())


@pytest.mark.parametrize("name", [name for name in overhead_pages.PAGES if name.endswith(".svg")])
def test_a_plot_can_be_read_small_and_in_the_dark(name, data):
    """Texts of plots are 12 of 400 units high, within the plot, and in the page's text colour."""
    text = overhead_pages.PAGES[name](data)
    root = ET.fromstring(text)  # noqa: S314 - ours
    words = root.findall(f"{SVG}text")

    assert root.get("viewBox").split()[2] == "400"
    assert "font:12px" in text
    assert "prefers-color-scheme:dark" in text
    assert words
    assert not any(word.get("fill") for word in words)
    assert all(left >= 0 and right <= 400 for left, right in map(extent_of, words))


def extent_of(word):
    """Return the horizontal extent of a text of the plot, at most 6.5 units per letter."""
    x, width = float(word.get("x")), 6.5 * len(word.text)
    shift = {"start": 0, "middle": width / 2, "end": width}[word.get("text-anchor")]
    return x - shift, x - shift + width


@pytest.mark.parametrize("colour", plots.COLOURS)
@pytest.mark.parametrize("ground", ["#ffffff", "#131416"])
def test_a_colour_stands_out(colour, ground):
    """Colours have a contrast of 3:1, as WCAG 2.2 requires for graphics."""
    bright, dark = sorted(map(luminance, (colour, ground)), reverse=True)

    assert (bright + 0.05) / (dark + 0.05) >= 3


def luminance(colour):
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_plot_is_described_in_words():
    """A plot has a text for screen readers."""
    row = plots.Dot("this & that", 2.0, 0)
    root = ET.fromstring(plots.dots("Imports", [row], "times it"))  # noqa: S314 - ours

    assert root.find(f"{SVG}title").text == "Imports"
    assert root.find(f"{SVG}desc").text == "times it: this & that 2.00"


# ---------------------------------------------------------------- for other benchmarks


def test_the_adapter_gives_cases_that_run():
    """The adapter returns cases for the available samples only, and they run."""
    import numpy as np

    cases = peers_adapter.bench_cases({"np": np, "x": np.zeros((2, 3)), "tx": None})

    assert len(cases) == 8
    for _, _, statement, names, _ in cases:
        exec(statement, dict(names))  # noqa: S102 - ours
