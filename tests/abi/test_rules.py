"""The rule book: its form, and that everything cited is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import interchange
from interchange.abi import RULES, BrokenRule, rules

SOURCES = sorted(Path(interchange.__file__).parent.rglob("*.py"))
RULE_ID = re.compile(r"[A-Z]+(-[A-Z0-9]+)*-\d+")
AREAS = sorted({row.id.partition("-")[0] for row in RULES.values()})
CITED = re.compile(rf"(?<![\w-])(?:{'|'.join(AREAS)})-(?:[A-Z0-9]+-)*\d+(?![\w-])")


def test_keys_are_the_ids_which_are_unique():
    """The keys of the table are the ids of its rows, and no two rows share one."""
    assert list(RULES) == [row.id for row in RULES.values()]
    assert len(RULES) == len(rules.ALL)


@pytest.mark.parametrize("row", RULES.values(), ids=lambda row: row.id)
def test_a_row_is_well_formed(row):
    """Ids are capitals and digits in groups, a number last, without gaps within a group.

    Texts and fixes become parts of longer messages: no stop, no line break, no space around.
    """
    group, _, number = row.id.rpartition("-")

    assert RULE_ID.fullmatch(row.id)
    assert number == "1" or f"{group}-{int(number) - 1}" in RULES
    assert row.source.strip()
    assert row.severity in {"MUST", "SHOULD", "QUIRK"}
    for text in (row.text, row.hint):
        assert text
        assert text == text.strip().rstrip(".")
        assert "\n" not in text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_cited_rule_exists(path):
    """Every text in a source file that looks like a rule id is a row of the table."""
    cited = set(CITED.findall(path.read_text(encoding="utf-8")))

    assert cited - set(RULES) == set()


def test_the_search_for_citations_finds_them():
    """The pattern of the test above finds ids in code, comments and texts, and no others."""
    text = 'error("DLP-CAP-1") # CAI-MASK-1; x [HOST-CTYPES-1], BUF-1. UTF-8 XDLP-CAP-2 DLP-CAP-3-x'

    assert CITED.findall(text) == ["DLP-CAP-1", "CAI-MASK-1", "HOST-CTYPES-1", "BUF-1"]


def test_the_table_cannot_be_changed():
    """The table cannot be modified at run time."""
    with pytest.raises(TypeError):
        RULES["DLP-CAP-1"] = RULES["DLP-CAP-2"]


def test_a_broken_rule_says_what_and_why():
    """The message has the finding, the rule's text and its id; the parts are attributes."""
    error = BrokenRule("CAI-VER-1", "version is -1")

    assert str(error) == "version is -1; version is an int of 0 or more [CAI-VER-1]"
    assert (error.rule, error.what) == ("CAI-VER-1", "version is -1")


def test_an_unknown_rule_cannot_be_broken():
    """An unknown rule id is a KeyError where the error is created."""
    with pytest.raises(KeyError):
        BrokenRule("DLP-NONE-1", "anything")
