"""The badge: what it says, and that it needs nothing from outside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from interchange_conformance.reports.badge import as_badge, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.reports.catalogue import Catalogue
    from interchange_conformance.reports.model import Judged, Report

MUST, ALSO_MUST, SHOULD = "capsules_are_named", "copies_are_copies", "errors_are_kind"
UNEXPECTED: Any = "unexpected-failure"
SVG = "{http://www.w3.org/2000/svg}"


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2 of a colour such as #1a7f37."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


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
def test_it_counts_must_checks(
    make_small: Callable[..., Report], judged: Callable[..., Judged], small_catalogue: Catalogue,
    items: list[Any], words: str,
) -> None:  # fmt: skip
    """A check with one bad case is one that fails, and known failures are failures."""
    report = make_small(*(judged(*item) for item in items))

    assert message_of(report, small_catalogue).text == words


def test_a_subject_that_could_not_be_judged_is_told(
    make_small: Callable[..., Report], small_catalogue: Catalogue
) -> None:
    """It is neither ok nor failing."""
    report = make_small(broken="gone")

    assert message_of(report, small_catalogue).text == "could not be judged"


def test_colours_tell_the_same(
    make_small: Callable[..., Report], judged: Callable[..., Judged], small_catalogue: Catalogue
) -> None:
    """Each message has one of its own."""
    reports = [
        make_small(judged(MUST)),
        make_small(judged(MUST, "fail")),
        make_small(judged(MUST, "fail", UNEXPECTED)),
        make_small(),
    ]
    colours = [message_of(report, small_catalogue).colour for report in reports]

    assert len(set(colours)) == 4
    assert all(1.05 / (luminance(colour) + 0.05) >= 4.5 for colour in colours)


def test_it_is_an_image_with_a_name(report: Report, catalogue: Catalogue) -> None:
    """Screen readers say what it shows, once."""
    root = ET.fromstring(as_badge(report, catalogue))  # noqa: S314 - our own text

    title = root.find(f"{SVG}title")
    assert root.get("role") == "img"
    assert title is not None
    assert root.get("aria-labelledby") == title.get("id")
    assert title.text == "interchange: 20 MUST failing"
    assert [group.get("aria-hidden") for group in root.findall(f".//{SVG}text/..")] == ["true"]


def test_it_needs_nothing_from_outside(report: Report, catalogue: Catalogue) -> None:
    """No address but the name of its language."""
    text = as_badge(report, catalogue)

    assert re.findall(r"https?://[^\s\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<(script|image|style|use|foreignObject)", text)


def test_texts_fit(report: Report, catalogue: Catalogue) -> None:
    """Each half is as broad as its text, whatever face there is, and the margins."""
    root = ET.fromstring(as_badge(report, catalogue))  # noqa: S314 - our own text
    boxes = [float(box.attrib["width"]) for box in root.findall(f"{SVG}g/{SVG}rect")]
    lengths = [float(text.attrib["textLength"]) for text in root.iter(f"{SVG}text")]

    assert [box - length for box, length in zip(boxes, lengths, strict=True)] == [12, 12]
    assert float(root.attrib["width"]) == sum(boxes)
