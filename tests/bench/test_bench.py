"""The benchmarks run and print their results; limits are checked on a quiet machine only."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interchange as ix

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import function_calls  # noqa: E402 - the folder is not a package
import import_time  # noqa: E402 - as above

from interchange.xp._table import FUNCTIONS  # noqa: E402 - as above

DOCS = HERE.parents[1] / "docs" / "_generated"


def test_every_function_of_the_namespace_is_measured():
    """Each function has a call, and the table of the docs is made of the file beside it."""
    data = json.loads((DOCS / function_calls.DATA).read_text(encoding="utf-8"))

    assert function_calls.STATEMENTS.keys() == set(FUNCTIONS) <= data["figures"].keys()
    page = (DOCS / function_calls.PAGE).read_text(encoding="utf-8")
    assert page == function_calls.table(data)


@pytest.mark.parametrize("name", [*function_calls.STATEMENTS, *function_calls.READS])
def test_calls_that_are_measured_agree_with_numpy(name, need):
    """Both sides of a comparison compute the same."""
    need("array_api_strict")
    names = function_calls.spaces(function_calls.SMALL)
    statement = function_calls.STATEMENTS.get(name, name)
    ours, numpys = (
        eval(function_calls.statement_for(statement, one), dict(names))  # noqa: S307 - ours
        for one in ("ix", "np")
    )
    if isinstance(ours, ix.Array) and not name.startswith("empty"):
        assert ours.tolist() == numpys.tolist()


@pytest.mark.slow
def test_the_time_of_an_import_is_written(tmp_path):
    """The import times are written with the machine and the date."""
    page = tmp_path / "page.md"
    command = [sys.executable, str(HERE), "--quick", "--imports", f"--markdown={page}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    said, table = page.read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"Measured on \S+ at commit (`\w+`|that).* on \d+ cores of .*:", said)
    assert table.splitlines()[-1].startswith(f"| {platform.python_version()} | ")


def test_a_ratio_is_of_what_comes_on_top_of_the_interpreter():
    """The bare interpreter costs both sides the same."""
    result = import_time.Result("3.11.7", "2.4.6", 0.01, 0.13, 0.04, 0.05)

    assert result.ratio(result.subject) == pytest.approx(0.25)
    assert import_time.within_budget([result])
    assert not import_time.within_budget([result, result._replace(subject=0.06)])
    assert "| 3.11.7 | 2.4.6 | 10.0 | 130.0 | 40.0 | 0.25 | 0.33 |" in import_time.page_of(
        [result], 3
    )


def test_the_figures_of_the_docs_are_of_every_python():
    """The counts have the format that the program writes; ``--check`` tests the limit."""
    text = (HERE.parents[1] / "docs" / "_generated" / "import-time.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()[4:]]

    assert text.startswith("Measured on ")
    assert [row[0].rpartition(".")[0] for row in rows] == ["3.10", "3.11", "3.12", "3.13"]
    assert all(0 < float(row[5]) < 1 for row in rows)


@pytest.mark.slow
def test_compiling_kernels_is_timed(need):
    """There is one row for each requested kernel."""
    need("llvmlite")
    command = [sys.executable, str(HERE / "kernels_compile.py"), "--quick", "saxpy", "fourier"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line[:3] in {"| s", "| f"}]
    assert rows == ["| saxpy", "| fourier"]


@pytest.mark.slow
def test_drawn_kernels_are_compared(need, tmp_path):
    """There is one program of each kind without a difference, and what was found is not redone."""
    for library in ("llvmlite", "ml_dtypes", "mpmath", "hypothesis"):
        need(library)
    options = ["--quick", "--record", str(tmp_path / "found.jsonl")]
    command = [sys.executable, str(HERE / "kernels_differential.py"), *options]
    done, again = (
        subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)
    )

    assert (done.returncode, done.stderr) == (0, "")
    row = re.search(r"^\| all \| 3 \| (\d) \| (\d) \| 0 \|$", done.stdout, re.MULTILINE)
    assert int(row[1]) + int(row[2]) == 3
    assert again.stdout == done.stdout[done.stdout.index("Seen on") :]


@pytest.mark.slow
def test_the_guides_for_migrating_are_timed():
    """Each guide has a table, or the reason why it has none; NumPy's calls need nothing else."""
    command = [sys.executable, str(HERE / "migrating.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    sections = re.findall(r"<!-- ([a-z-]+) -->\n\n(.*?)\n\n<!-- end \1 -->", done.stdout, re.DOTALL)
    assert all(re.match(r"\| Call \| |Not measured: .+\.", body) for _, body in sections)
    assert "`scale(x, factor)`, of numpy" in dict(sections)["asarray"]
    assert "`points_of(message)`" in dict(sections)["frombuffer"]
