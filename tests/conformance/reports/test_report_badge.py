"""The badge: its message, and its format for shields.io."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from interchange_conformance.reports.badge import as_badge, message_of

MUST, ALSO_MUST, SHOULD = "capsules_are_named", "copies_are_copies", "errors_are_kind"
GUIDE = Path(__file__).parents[3] / "docs" / "conformance" / "your-ci.md"
UNEXPECTED = "unexpected-failure"
COLOURS = {
    "brightgreen", "green", "yellowgreen", "yellow", "orange", "red", "blue", "grey", "lightgrey",
}  # fmt: skip
"""The names of colours in shields.io."""
ENDPOINT = {
    "type": "object",
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"enum": sorted(COLOURS)},
        "labelColor": {"type": "string"},
        "isError": {"type": "boolean"},
        "namedLogo": {"type": "string"},
        "logoSvg": {"type": "string"},
        "style": {"type": "string"},
        "cacheSeconds": {"type": "integer", "minimum": 0},
    },
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
}
"""The keys that shields.io accepts; an unknown key is an error."""


@pytest.mark.parametrize(
    ("items", "words", "colour"),
    [
        ([(MUST, "pass"), (ALSO_MUST, "pass")], "2 MUST ok", "brightgreen"),
        ([(f"{MUST}[a]", "pass"), (f"{MUST}[b]", "pass")], "1 MUST ok", "brightgreen"),
        ([(MUST, "pass"), (ALSO_MUST, "not-applicable")], "1 MUST ok", "brightgreen"),
        ([(MUST, "pass"), (SHOULD, "fail", UNEXPECTED)], "1 MUST ok", None),
        ([(f"{MUST}[a]", "pass"), (f"{MUST}[b]", "fail", UNEXPECTED)], "1 MUST failing", "red"),
        ([(MUST, "crash", UNEXPECTED), (ALSO_MUST, "fail")], "2 MUST failing", "red"),
        ([(MUST, "pass"), (ALSO_MUST, "fail")], "1 MUST failing, known", "yellow"),
        ([(MUST, "not-applicable")], "nothing judged", "lightgrey"),
        ([], "nothing judged", "lightgrey"),
    ],
)
def test_it_counts_must_checks(written, items, words, colour):
    """A check with one failed case fails, known failures count, and each message has a colour."""
    found = written(message_of, *items)

    assert found.text == words
    assert found.colour in ({colour} if colour else COLOURS)
    assert written(message_of, broken="gone").text == "could not be judged"


@pytest.mark.parametrize(
    ("items", "is_error"),
    [
        ([(MUST, "pass")], False),
        ([(MUST, "fail")], False),
        ([(MUST, "fail", UNEXPECTED)], True),
        ([], False),
    ],
)
def test_it_is_what_an_endpoint_answers(written, items, is_error):
    """It has all required keys and no others; a failure keeps its colour."""
    badge = json.loads(written(as_badge, *items))

    jsonschema.validate(badge, ENDPOINT)
    assert badge["label"] == "interchange"
    assert (badge["message"], badge["color"]) == written(message_of, *items)
    assert badge["isError"] is is_error


def test_it_needs_nothing_but_its_words(report, catalogue):
    """It has no address and no style, which are chosen by the renderer."""
    badge = json.loads(as_badge(report, catalogue))

    assert badge == {
        "schemaVersion": 1,
        "label": "interchange",
        "message": "20 MUST failing",
        "color": "red",
        "isError": True,
    }


def test_the_guide_shows_such_a_badge():
    """The guide explains each colour."""
    section = GUIDE.read_text(encoding="utf-8")
    section = section.partition("\n## A badge\n")[2].partition("\n## ")[0]
    (shown,) = re.findall(r"^```json\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)

    jsonschema.validate(json.loads(shown), ENDPOINT)
    told = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert told == ["brightgreen", "yellow", "red", "lightgrey"]
