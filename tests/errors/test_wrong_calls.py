"""Wrong calls are judged: the error names the call, the value and the cause, and its fix works."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import NamedTuple

import error_tables
import pytest

import interchange as ix

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries that the programs use
_NEEDED = ("interchange", "numpy", "pytest", "launched_wrongly")


class Row(NamedTuple):
    """One program, and what its error says.

    Attributes
    ----------
    make : str
        Statements that create `x`.
    call : str
        The call.
    cause : str
        A phrase of the error that names the value and the cause; empty if the call works here.
    fix : str
        Words of the fix, and after ``=>`` the call that they lead to; empty if the code in the fix
        is executed, and ~ if no fix works.
    sources : str
        The issues, as ``owner/project#number``, separated by spaces.
    """

    make: str
    call: str
    cause: str = ""
    fix: str = ""
    sources: str = ""


def rows_of(name, *, sources):
    """Return the programs of a table, and the issues that begin its lines."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            parts = [part.strip().replace(" \\n ", "\n") for part in f"{line} ".split(" | ")]
            yield Row(*parts[1:], sources=parts[0]) if sources else Row(*parts)


NEWCOMERS = tuple(rows_of("newcomers.txt", sources=False))
ISSUES = tuple(rows_of("issues.txt", sources=True))


def libraries(row):
    """Return the libraries that a program needs, except those of every environment."""
    lists = re.findall(r"(?:import|from) ([\w, .]+)", row.make)
    found = {name.strip().partition(".")[0] for some in lists for name in some.split(",")}
    found = {name.partition(" ")[0] for name in found}
    found |= {*re.findall(r'convert\(.*"(torch|jax|numba)"', row.call)}
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


class OtherError(NamedTuple):
    """What an error of Python or of a library says, with the parts of one of interchange."""

    call: str
    text: str
    hint: str


def meet(row):
    """Return what the error of a program says."""
    try:
        error = error_tables.meet(row)
    except Exception as error:  # noqa: BLE001 - of Python, or of the computing library
        text = str(error)
        return OtherError(type(error).__name__, text, text.partition("; ")[2] or text)
    return OtherError(error.call, str(error), error.hint)


def leads_out(row, error):
    """Whether a fix of the error, executed, makes the program run."""
    for advice in error_tables.advice_of(error.hint):
        try:
            error_tables.follow(row, advice)
        except Exception:  # noqa: BLE001, S112 - whatever the program raises
            continue
        return True
    return False


def run(row, call):
    """Run another call after the statements of a program."""
    space = error_tables.prepared(row)
    exec(call, space)  # noqa: S102 - ours


def skip_without(row):
    """Skip a program whose libraries are not installed, or whose fix needs the native core."""
    if ix.core_name != "native" and re.search('to_arrow|"polars"', row.call):
        pytest.skip("the ctypes core does not export to Arrow")
    absent = [name for name in libraries(row) if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"no {', '.join(absent)}")


def judge(row):
    """Check the error of a program: its call, its value and cause, and its fix."""
    skip_without(row)
    error = meet(row)
    words, _, call = row.fix.partition(" => ")

    assert re.match(r"[\w.<>]+(\(\)|:|, )?", error.call)
    assert row.cause in error.text
    assert "see the documentation" not in error.hint
    assert not re.search(r"\b(ArrayBase|ScalarMethods|interchange\._)", error.text)
    assert words in error.hint if words not in {"", "~"} else True
    if call:
        run(row, call)
    assert row.fix or leads_out(row, error)


@params(NEWCOMERS)
def test_a_wrong_call_of_a_newcomer_is_explained(row):
    """The error names the value and the cause, and a fix that works."""
    judge(row)


@params([row for row in ISSUES if row.cause])
def test_a_wrong_call_of_an_issue_is_explained(row):
    """The error names the value and the cause, and a fix that works."""
    judge(row)


@params([row for row in ISSUES if not row.cause])
def test_what_issues_report_of_other_libraries_works_here(row):
    """The call of the issue has the result that it asserts."""
    skip_without(row)

    assert "assert " in row.call
    run(row, row.call)


def test_the_tables_are_large_enough():
    """The shares of good errors, and of executed fixes, are those that the project promises."""
    wrong = [row for row in ISSUES if row.cause]
    executed = [row for row in wrong if not row.fix or "=>" in row.fix]
    sources = [issue for row in ISSUES for issue in row.sources.split()]

    assert len(NEWCOMERS) >= 149
    assert not [row for row in NEWCOMERS if row.fix == "~"]
    assert len({(row.make, row.call) for row in ISSUES}) == len(ISSUES) >= 200
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", issue) for issue in sources)
    assert len({*sources}) == len(sources)
    assert len([row for row in wrong if row.fix != "~"]) >= 0.9 * len(wrong)
    assert len(executed) >= 0.6 * len(wrong)


def test_each_family_has_the_figures_of_its_heading():
    """A heading counts the programs below it, those that work here, and the errors not good."""
    text = Path(__file__).with_name("issues.txt").read_text(encoding="utf-8")
    heading = r"^# .+: (\d+) programs, (\d+) work here, (\d+) errors not good\n((?:[^#].*\n)+)"
    found = re.findall(heading, text, re.MULTILINE)

    for count, works, fair, lines in found:
        columns = [line.split(" | ") for line in lines.splitlines()]
        assert len(columns) == int(count)
        assert sum(len(row) < 4 for row in columns) == int(works)
        assert sum(row[-1] == "~" for row in columns) == int(fair)
    assert sum(int(count) for count, *_ in found) == len(ISSUES)


def test_a_program_is_judged_by_its_own_error():
    """Errors of interchange keep their parts, and those of Python have the text after the cause."""
    error = meet(Row("x = ix.asarray(np.ones(3))", "x.unsqueeze(0)"))

    assert error.call == "AttributeError"
    assert error.hint.startswith("use `xp.expand_dims(x, axis=axis)`")
    assert meet(Row("x = 5", "ix.asarray(x)")).call == "asarray()"
    with pytest.raises(ix.NoProtocolError):
        run(Row("x = 5", ""), "ix.asarray(x)")
