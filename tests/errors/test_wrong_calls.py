"""Wrong calls are judged: the error names the call, the value and the cause, and its fix works."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import error_tables
import issues
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries that the programs use
_NEEDED = ("interchange", "numpy")
LINES = Path(__file__).with_name("newcomers.txt").read_text(encoding="utf-8").splitlines()
NEWCOMERS = tuple(
    issues.Row(*(part.strip().replace(" \\n ", "\n") for part in f"{line} ".split(" | ")))
    for line in LINES
    if not line.startswith("#")
)
GOOD = tuple(row for row in NEWCOMERS if row.said != "~")
ISSUES = tuple(issue for row in issues.ROWS for issue in row.sources.split())


def libraries(row):
    """Return the libraries that a program needs, except those of every environment."""
    found = re.findall(r"import (\w+)", row.make)
    found += re.findall(r'convert\(x, "(torch|jax|numba)', row.call)
    return {name for name in found if name not in sys.stdlib_module_names} - {*_NEEDED}


def params(rows):
    """Return a parametrisation over programs; those of other libraries are marked so."""
    return pytest.mark.parametrize(
        "row",
        [
            pytest.param(
                row,
                id=f"{row.call} of {row.make}"[:90],
                marks=[pytest.mark.interop] if libraries(row) else [],
            )
            for row in rows
        ],
    )


def leads_out(row, error):
    """Whether a fix of the error, executed, makes the program run."""
    for advice in error_tables.advice_of(error.hint):
        try:
            error_tables.follow(row, advice)
        except Exception:  # noqa: BLE001, S112 - whatever the program raises
            continue
        return True
    return False


def judge(row):
    """Check the error of a program: its call, its value and cause, and its fix."""
    absent = [name for name in libraries(row) if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"no {', '.join(absent)}")
    error = error_tables.meet(row)

    assert re.match(r"[\w.<>]+(\(\)|:|, )?", error.call)
    assert row.cause in str(error)
    assert "see the documentation" not in error.hint
    assert not re.search(r"\b(ArrayBase|ScalarMethods|interchange\._)", str(error))
    assert row.said in error.hint if row.said not in {"", "~"} else True
    assert row.said or leads_out(row, error)


@params(NEWCOMERS)
def test_a_wrong_call_of_a_newcomer_is_explained(row):
    """The error names the value and the cause, and a fix that works."""
    judge(row)


@params([row for row in issues.ROWS if row.cause])
def test_a_wrong_call_of_an_issue_is_explained(row):
    """The error names the value and the cause, and a fix that works."""
    judge(row)


@params([row for row in issues.ROWS if not row.cause])
def test_what_issues_report_of_other_libraries_works_here(row):
    """The program of the issue raises nothing."""
    for name in libraries(row):
        pytest.importorskip(name)
    with pytest.raises(ValueError, match="raises nothing"):
        error_tables.meet(row)


def test_the_tables_are_large_enough():
    """The shares of good errors are those that the project promises."""
    assert len(NEWCOMERS) >= 149
    assert len(GOOD) >= 0.95 * len(NEWCOMERS)
    assert len({*ISSUES}) == len(ISSUES) >= 200
