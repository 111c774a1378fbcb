"""Each library in the kit has a page with tables from the kit's own files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interchange_conformance import subjects
from interchange_conformance.judging import expectations
from interchange_conformance.registry import load_checks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "conformance").glob("*.md"))
DESCRIBED = subjects.described()
FILES = [name for name in DESCRIBED if expectations.shipped_file(name.replace("-", "_"))]

every_file = pytest.mark.parametrize("name", FILES)


@pytest.fixture(scope="module")
def printing(docs_module):
    """The module that prints the tables."""
    return docs_module("kit_pages")


def _cells(row):
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def _asked(directive):
    """Return the arguments of a directive on all pages."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(rf"^```\{{{directive}\}} ?(\S*)$", text, re.MULTILINE)


def test_every_library_has_its_known_failures_on_a_page():
    """The known failures of every library but interchange are on one page."""
    assert sorted(_asked("known-failures")) == sorted(set(DESCRIBED) - {"interchange"})


def test_interchange_has_no_known_failures():
    """Interchange has no known failures: each failure is a bug, whatever its severity."""
    assert expectations.shipped_file("interchange") is None


def test_every_page_is_named_by_another():
    """The page on descriptions leads to those of the libraries."""
    text = (DOCS / "conformance" / "describe-a-library.md").read_text(encoding="utf-8")
    own = {
        "describe-a-library", "mutants-arrow", "mutants-consumers",
        "mutants-producers", "your-ci"
    }  # fmt: skip

    assert set(re.findall(r"\{doc\}`([\w-]+)`", text)) == {page.stem for page in PAGES} - own


def test_every_description_has_a_row(printing):
    """Every description has a row with a mark for each of its parts."""
    head, _, *rows = printing.described_subjects().splitlines()
    hooks = [cell.strip("`") for cell in _cells(head)[2:]]
    told = {_cells(row)[0].strip("`"): _cells(row)[2:] for row in rows}

    assert list(told) == list(DESCRIBED)
    for name, subject in DESCRIBED.items():
        marked = {hook for hook, mark in zip(hooks, told[name], strict=True) if mark}
        assert set(subjects.hooks_of(subject)) <= marked


@every_file
def test_every_known_failure_is_in_the_table(printing, name):
    """Every known failure is in the table with reason, releases and checks."""
    table = printing.known_failures(name)

    for one in expectations.read(expectations.shipped_file(name.replace("-", "_"))):
        check = one.check.partition("[")[0]
        rows = [row for row in table.splitlines() if f"`{check}`" in row]
        assert rows
        assert any((one.releases or one.python or "all that were seen") in row for row in rows)
        assert not one.link or any(one.link in row for row in rows)


@every_file
def test_the_gravest_come_first(printing, name):
    """MUST, then SHOULD, then QUIRK."""
    rows = [row for row in printing.known_failures(name).splitlines() if row.startswith("|")]
    order = ["MUST", "SHOULD", "QUIRK"]
    found = [min(order.index(word) for word in order if word in _cells(row)[2]) for row in rows[2:]]

    assert found == sorted(found)


@every_file
def test_every_row_has_as_many_cells_as_the_head(printing, name):
    """Every row has as many cells as the head, for any reason text."""
    rows = [row for row in printing.known_failures(name).splitlines() if row.startswith("|")]

    assert {len(_cells(row)) for row in rows} == {4}


def test_a_library_without_a_file_has_a_sentence(printing):
    """A library without a file of known failures has a sentence instead of a table."""
    assert printing.known_failures("interchange") == "Nothing is known that any check would find."


def test_an_entry_without_a_check_is_an_error(printing, tmp_path, monkeypatch):
    """An entry without a check is an error, so that the page has no obsolete entries."""
    file = tmp_path / "gone.toml"
    file.write_text('[[failure]]\ncheck = "no_such_check"\nreason = "does"\n')
    monkeypatch.setattr(expectations, "shipped_file", lambda _: file)
    printing.rows_of.cache_clear()

    with pytest.raises(ValueError, match="no_such_check"):
        printing.known_failures("gone")


def test_examples_name_checks_that_there_are():
    """Check names in the examples of the pages are real."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r'(?:check = "|::)(\w+)', text)) - {"check_name", "subject"}

    assert named - set(load_checks()) == set()
