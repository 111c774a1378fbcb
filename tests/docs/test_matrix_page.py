"""The matrices in the docs are ones that the command wrote, of the rows that it has today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

import interchange
from interchange import abi
from interchange_conformance.matrix import exchanging, reports
from interchange_conformance.matrix.columns import kinds_of_columns
from interchange_conformance.matrix.tables import kinds_of

if TYPE_CHECKING:
    from interchange_conformance.subject import Kind


class Made(NamedTuple):
    """A table: how it was made, and of what."""

    file: str
    options: str
    kinds: tuple[Kind, ...]


TABLES = (
    Made("matrix.md", "", kinds_of("cpu")),
    Made("matrix-cuda.md", " --device cuda", kinds_of("cuda")),
    Made("matrix-gpu.md", " --device cuda", kinds_of("cuda")),
    Made("matrix-columns-in.md", " --columns in", kinds_of_columns("in")),
    Made("matrix-columns-out.md", " --columns out", kinds_of_columns("out")),
)
COLUMNS = tuple(table.file for table in TABLES if "columns" in table.file)


@pytest.fixture(scope="module", params=TABLES, ids=lambda made: made.file)
def made(request):
    """One of the tables."""
    return request.param


@pytest.fixture(scope="module")
def matrix(root, made):
    """The Markdown that the page includes."""
    return (root / "docs" / "_generated" / made.file).read_text(encoding="utf-8")


def test_the_page_shows_it(pages, made):
    """Each table is on its page."""
    name = made.file.removesuffix(".md")

    page = "compatibility-columns" if made.file in COLUMNS else "compatibility"
    assert f"```{{exchange-matrix}} {name}\n" in pages[f"docs/{page}.md"]


def test_it_says_how_it_was_made(matrix, made):
    """The first line has the command, the last the releases."""
    command = f"python -m interchange matrix{made.options} --markdown FILE"
    first, *_, last = matrix.strip().splitlines()

    assert first == f"<!-- Written by: {command} -->"
    assert re.fullmatch(r"Releases: \S+ \d\S*, .*; Python \d\S* on .*\.", last)


def test_it_has_every_row(matrix, made):
    """Each kind of array that the command creates has a row, or was unavailable."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", matrix, re.MULTILINE)
    absent = re.findall(r"^- [A-Z][a-z ]+: (.+?) \(", matrix, re.MULTILINE)
    known = [kind.name for kind in made.kinds if kind.is_sample]

    assert sorted(rows + absent) == sorted(known)


def test_it_has_every_column(matrix, made):
    """Each kind of array of the command has a column, or was unavailable."""
    _, *columns = re.findall(r"(?<=\| )(.+?)(?= \|)", matrix.partition("\n\n")[2].splitlines()[0])
    absent = re.findall(r"^- [A-Z][a-z ]+: (.+?) \(", matrix, re.MULTILINE)
    known = [kind.name for kind in made.kinds if kind.target is not None]

    assert [name for name in known if name not in absent] == columns


def test_it_is_of_this_release(matrix):
    """The release of interchange in the table is the one of these docs."""
    told = re.findall(r"\barray-interchange ([^,;\s]+)", matrix)

    assert set(told) <= {interchange.__version__}


def test_the_words_of_the_matrix_are_those_of_the_command(root):
    """The page's words about transfers of NumPy, buffers and interchange are up to date."""
    pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")
    text = (root / "docs/_generated/matrix.md").read_text(encoding="utf-8")
    few = [
        one
        for one in kinds_of("cpu")
        if one.library in {"numpy", "ml_dtypes", "stdlib", "interchange"}
    ]
    now = reports.as_markdown(exchanging.run(exchanging.Matrix("float32"), few))

    assert set(_words(now)) <= set(_words(text))
    assert any(line.startswith("elements are bfloat16") for line in _words(now))


def _words(text):
    """Return meanings and reasons, without their numbers."""
    lines = re.findall(r"^(?:\d+\.|-) .*$", text, re.MULTILINE)
    return [line.partition(" ")[2] for line in lines if "Left out" not in line]


def test_nothing_failed(matrix):
    """Every transfer was shared, copied or refused."""
    assert re.search(r"^\d+ hand-overs: .*, 0 failed\.", matrix, re.MULTILINE)


def test_its_rules_exist(matrix):
    """Every rule cited as a reason is in the rule book."""
    cited = set(re.findall(r"`([A-Z]+-[A-Z0-9-]+)`$", matrix, re.MULTILINE))

    assert cited
    assert cited <= set(abi.RULES)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_matrices_of_columns_say_where_they_were_run(root, name):
    """The matrices of columns have the date, the commit and the machine of their run."""
    text = (root / "docs" / "_generated" / name).read_text(encoding="utf-8")
    said = r"^Run on \d{4}-\d\d-\d\d at commit `[0-9a-f]{12}`( with changes)?, on \d+ cores of \S"

    assert len(re.findall(said, text, re.MULTILINE)) == 1


@pytest.mark.parametrize("name", COLUMNS)
def test_every_library_shares_numbers(root, name):
    """The first row of each shares with one column at least of every library."""
    text = (root / "docs" / "_generated" / name).read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*\S+: numbers\*\* \| (.*) \|$", text, re.MULTILINE)

    assert len(rows) == (5 if "-in" in name else 3)
    assert all(row.count("zero-copy") >= 4 for row in rows)
