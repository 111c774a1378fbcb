"""The matrices in the docs are ones that the command wrote, of the rows that it has today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from interchange import abi
from interchange.cli import column_libraries, cuda_libraries, libraries

if TYPE_CHECKING:
    from pathlib import Path

    from interchange.cli.subjects import Subject


class Made(NamedTuple):
    """A table: how it was made, and of what."""

    file: str
    options: str
    subjects: tuple[Subject, ...]


TABLES = (
    Made("matrix.md", "", libraries.SUBJECTS),
    Made("matrix-cuda.md", " --device cuda", cuda_libraries.SUBJECTS),
    Made("matrix-gpu.md", " --device cuda", cuda_libraries.SUBJECTS),
    Made("matrix-columns-in.md", " --columns in", column_libraries.SUBJECTS_IN),
    Made("matrix-columns-out.md", " --columns out", column_libraries.SUBJECTS_OUT),
)
COLUMNS = tuple(table.file for table in TABLES if "columns" in table.file)


@pytest.fixture(scope="module", params=TABLES, ids=lambda made: made.file)
def made(request: pytest.FixtureRequest) -> Made:
    """One of the tables."""
    found: Made = request.param
    return found


@pytest.fixture(scope="module")
def matrix(root: Path, made: Made) -> str:
    """The Markdown that the page includes."""
    return (root / "docs" / "_generated" / made.file).read_text(encoding="utf-8")


def test_the_page_shows_it(pages: dict[str, str], made: Made) -> None:
    """Each table is shown where people look for it."""
    name = made.file.removesuffix(".md")

    page = "compatibility-columns" if made.file in COLUMNS else "compatibility"
    assert f"```{{exchange-matrix}} {name}\n" in pages[f"docs/{page}.md"]


def test_it_says_how_it_was_made(matrix: str, made: Made) -> None:
    """The first line has the command, the last the releases."""
    command = f"python -m interchange matrix{made.options} --markdown FILE"
    first, *_, last = matrix.strip().splitlines()

    assert first == f"<!-- Written by: {command} -->"
    assert re.fullmatch(r"Releases: \S+ \d\S*, .*; Python \d\S* on .*\.", last)


def test_it_has_every_row(matrix: str, made: Made) -> None:
    """Each kind of array that the command makes has a row, or was not there."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", matrix, re.MULTILINE)
    absent = re.findall(r"^- [A-Z][a-z ]+: (.+?) \(", matrix, re.MULTILINE)
    known = [subject.name for subject in made.subjects if subject.make is not None]

    assert sorted(rows + absent) == sorted(known)


def test_it_has_every_column(matrix: str, made: Made) -> None:
    """Each kind of array that the command hands over has a column, or was not there."""
    _, *columns = re.findall(r"(?<=\| )(.+?)(?= \|)", matrix.partition("\n\n")[2].splitlines()[0])
    absent = re.findall(r"^- [A-Z][a-z ]+: (.+?) \(", matrix, re.MULTILINE)
    known = [subject.name for subject in made.subjects if subject.target is not None]

    assert [name for name in known if name not in absent] == columns


def test_nothing_failed(matrix: str) -> None:
    """Every hand-over was shared, copied or refused."""
    assert re.search(r"^\d+ hand-overs: .*, 0 failed\.", matrix, re.MULTILINE)


def test_its_rules_exist(matrix: str) -> None:
    """Every reason cites a rule of the rule book, if any."""
    cited = set(re.findall(r"`([A-Z]+-[A-Z0-9-]+)`$", matrix, re.MULTILINE))

    assert cited
    assert cited <= set(abi.RULES)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_matrices_of_columns_say_where_they_were_run(root: Path, name: str) -> None:
    """With the day, the commit and the machine."""
    text = (root / "docs" / "_generated" / name).read_text(encoding="utf-8")
    said = r"^Run on \d{4}-\d\d-\d\d at commit `[0-9a-f]{12}`( with changes)?, on \d+ cores of \S"

    assert len(re.findall(said, text, re.MULTILINE)) == 1


@pytest.mark.parametrize("name", COLUMNS)
def test_every_library_shares_numbers(root: Path, name: str) -> None:
    """The first row of each shares with one column at least of every library."""
    text = (root / "docs" / "_generated" / name).read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*\S+: numbers\*\* \| (.*) \|$", text, re.MULTILINE)

    assert len(rows) == (5 if "-in" in name else 3)
    assert all(row.count("zero-copy") >= 4 for row in rows)
