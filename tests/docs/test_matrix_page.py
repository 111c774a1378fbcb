"""The matrix in the docs is one that the command wrote, of the rows that it has today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from interchange import abi
from interchange.cli.libraries import SUBJECTS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def matrix(root: Path) -> str:
    """The Markdown that the page includes."""
    return (root / "docs" / "_generated" / "matrix.md").read_text(encoding="utf-8")


def test_it_says_how_it_was_made(matrix: str) -> None:
    """The first line has the command, the last the releases."""
    first, *_, last = matrix.strip().splitlines()

    assert first == "<!-- Written by: python -m interchange matrix --markdown FILE -->"
    assert re.fullmatch(r"Releases: numpy \d\S*, .*; Python \d\S* on .*\.", last)


def test_it_has_every_row(matrix: str) -> None:
    """Each kind of array that the command knows has a row, or was not there."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", matrix, re.MULTILINE)
    absent = re.findall(r"^- [A-Z][a-z ]+: (.+?) \(", matrix, re.MULTILINE)

    assert sorted(rows + absent) == sorted(subject.name for subject in SUBJECTS)


def test_nothing_failed(matrix: str) -> None:
    """Every hand-over was shared, copied or refused."""
    assert re.search(r"^\d+ hand-overs: .*, 0 failed\.", matrix, re.MULTILINE)


def test_its_rules_exist(matrix: str) -> None:
    """Every reason cites a rule of the rule book, if any."""
    cited = set(re.findall(r"`([A-Z]+-[A-Z0-9-]+)`$", matrix, re.MULTILINE))

    assert cited
    assert cited <= set(abi.RULES)
