"""The page of symptoms has a report, a rule, a fix that is run, and a link for each of them."""

from __future__ import annotations

import re

from interchange import abi

from .conftest import ROOT

TEXT = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_there_are_enough():
    """No heading is there twice, and the headings are more than a few."""
    assert len(SECTIONS) == TEXT.count("\n### ") >= 20


def test_each_has_all_parts():
    """A section without a rule, a report, a page to read on or an example is incomplete."""
    parts = {
        "rule": "|".join(abi.RULES),
        "report": r"\]\(https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+\)",
        "page": r"^See \{doc\}`[\w/-]+`",
        "example": r"^```\{(?:native-)?doctest\}[\w ]*\n>>> ",
    }

    assert [
        (symptom, part)
        for symptom, text in SECTIONS.items()
        for part, pattern in parts.items()
        if not re.search(pattern, text, re.MULTILINE)
    ] == []
