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
    ("items", "words"),
    [
        ([(MUST, "pass"), (ALSO_MUST, "pass")], "2 MUST ok"),
        ([(f"{MUST}[a]", "pass"), (f"{MUST}[b]", "pass")], "1 MUST ok"),
        ([(MUST, "pass"), (ALSO_MUST, "not-applicable")], "1 MUST ok"),
        ([(MUST, "pass"), (SHOULD, "fail", UNEXPECTED)], "1 MUST ok"),
        ([(f"{MUST}[a]", "pass"), (f"{MUST}[b]", "fail", UNEXPECTED)], "1 MUST failing"),
        ([(MUST, "crash", UNEXPECTED), (ALSO_MUST, "fail")], "2 MUST failing"),
        ([(MUST, "pass"), (ALSO_MUST, "fail")], "1 MUST failing, known"),
        ([(MUST, "not-applicable")], "nothing judged"),
        ([], "nothing judged"),
    ],
)
def test_it_counts_must_checks(make_small, judged, small_catalogue, items, words):
    """A check with one failed case fails, and known failures count as failures."""
    report = make_small(*(judged(*item) for item in items))

    assert message_of(report, small_catalogue).text == words


def test_a_subject_that_could_not_be_judged_is_told(make_small, small_catalogue):
    """The badge is neither ok nor failing."""
    report = make_small(broken="gone")

    assert message_of(report, small_catalogue).text == "could not be judged"


def test_colours_tell_the_same(make_small, judged, small_catalogue):
    """Each message has a different colour, with a name of shields.io."""
    reports = [
        make_small(judged(MUST)),
        make_small(judged(MUST, "fail")),
        make_small(judged(MUST, "fail", UNEXPECTED)),
        make_small(),
    ]
    colours = [message_of(report, small_catalogue).colour for report in reports]

    assert len(set(colours)) == 4
    assert set(colours) <= COLOURS


@pytest.mark.parametrize(
    ("items", "is_error"),
    [
        ([(MUST, "pass")], False),
        ([(MUST, "fail")], False),
        ([(MUST, "fail", UNEXPECTED)], True),
        ([], False),
    ],
)
def test_it_is_what_an_endpoint_answers(make_small, judged, small_catalogue, items, is_error):
    """It has all required keys and no others; a failure keeps its colour."""
    report = make_small(*(judged(*item) for item in items))

    badge = json.loads(as_badge(report, small_catalogue))

    jsonschema.validate(badge, ENDPOINT)
    assert badge["label"] == "interchange"
    assert (badge["message"], badge["color"]) == message_of(report, small_catalogue)
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
