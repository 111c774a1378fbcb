"""The heat maps of the docs show all data of the generated files, also as text."""

from __future__ import annotations

import re

import pytest

MATRICES = ("matrix", "matrix-cuda", "matrix-gpu")
_CELL = re.compile(r"<td[^>]*>(.*?)</td>")


@pytest.fixture(scope="module")
def matrices(docs_module):
    """The module that reads the matrices."""
    return docs_module("matrix_pages")


@pytest.fixture(scope="module")
def verdicts(docs_module):
    """The module that shows the verdicts."""
    return docs_module("verdict_pages")


def _words(html):
    """Return the text of each cell, without its marks."""
    return [re.sub(r"<[^>]*>", "", cell) for cell in _CELL.findall(html)]


@pytest.mark.parametrize("name", MATRICES)
def test_every_hand_over_is_in_the_heat_map(root, matrices, name):
    """The heat map has as many transfers of each kind as the command counted."""
    text = (root / "docs" / "_generated" / f"{name}.md").read_text(encoding="utf-8")
    counted = re.findall(r"(\d+) (zero-copy|copied|refused)", text.split("hand-overs: ")[1])
    words = [re.split(r"[ ,]", one)[1] for one in _words(matrices.as_html(name)) if one]

    assert {word: words.count(word) for _, word in counted} == {w: int(n) for n, w in counted}


@pytest.mark.parametrize("name", MATRICES)
def test_every_note_is_led_to(matrices, name):
    """Each number below the matrix is that of a cell."""
    notes = re.findall(r"^(\d+)\. ", matrices.read(name).notes, re.MULTILINE)
    led = set(re.findall(rf'href="#{name}-note-(\d+)"', matrices.as_html(name)))

    assert notes
    assert led == set(notes)


def test_a_cell_of_another_form_is_an_error(matrices):
    """A cell in an unknown format is an error, so that no information is dropped."""
    with pytest.raises(ValueError, match="no cell at all"):
        matrices._cell("no cell at all", "matrix")


def test_every_rule_of_the_run_has_one_row(verdicts):
    """Every rule has one row, for any roles, areas and severities."""
    rules = {row["rule"] for row in verdicts.run()["rows"]}
    heads = re.findall(r'<th scope="row">(?:<a[^>]*>)?([^<]*)', verdicts.rules_by_libraries())

    assert sorted(heads) == sorted(rules)


def test_every_cell_says_what_its_sign_means(verdicts):
    """Every cell has a text for screen readers."""
    words = _words(verdicts.rules_by_libraries()) + _words(verdicts.exchanges())

    assert [one for one in words if one and not re.fullmatch(r"\S [a-zA-Z ]+", one)] == []


def test_the_gravest_of_what_is_broken_is_shown(verdicts):
    """A MUST precedes a QUIRK, and a failure precedes a pass."""
    rows = [
        {"severity": "QUIRK", "states": {"mylib": "known"}},
        {"severity": "MUST", "states": {"mylib": "known", "other": "pass"}},
        {"severity": "SHOULD", "states": {"mylib": "pass", "other": "known"}},
    ]

    assert verdicts.cell_of(rows, "mylib").kind == "must"
    assert verdicts.cell_of(rows, "other").kind == "should"
    assert verdicts.cell_of(rows, "third").sign == ""


def test_a_library_that_was_not_judged_has_no_table(verdicts):
    """A library that was not judged has no table, rather than an empty one."""
    with pytest.raises(ValueError, match="not about 'mylib'"):
        verdicts.verdicts_of("mylib")
