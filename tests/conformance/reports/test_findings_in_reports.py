"""Every report has one finding per cause, and shows a QUIRK as allowed."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from interchange_conformance.findings import Verdict
from interchange_conformance.reports import as_json, html, junit, markdown, states, terminal
from interchange_conformance.reports.model import Judged
from interchange_conformance.reports.tabulating import unexpected_of

NAMED, COPY, KIND = "capsules_are_named", "copies_are_copies", "errors_are_kind"
CAUSE = "KeyError: 'no such key' (lib/a.py, line 3, in f)"


def failed(item, evidence="", cause="", status="raised"):
    """Return an item that failed unexpectedly."""
    return Judged(Verdict("mylib", item, status, evidence, "", 0.1, cause), "unexpected-failure")


@pytest.fixture
def alike(make_small):
    """A report of three checks that failed with one cause, one of which only quotes it."""
    quoting = failed(KIND, "f() raised KeyError: 'no such key'", status="fail")
    return make_small(failed(NAMED, "first", CAUSE), failed(COPY, "second", CAUSE), quoting)


def test_items_of_one_cause_are_one_finding(alike, small_catalogue):
    """The first is the worst and most severe."""
    (found,) = unexpected_of(alike.subjects[0], small_catalogue)

    assert [one.verdict.item for one in found] == [NAMED, COPY, KIND]


def test_items_of_two_causes_are_two(make_small, small_catalogue):
    """Of one check and with equal evidence, too; where a hang was stopped is chance."""
    other = CAUSE.replace("line 3", "line 4")
    report = make_small(failed(NAMED, "same", CAUSE), failed(COPY, "same", other))
    hangs = [
        Verdict("mylib", f"{NAMED}[{n}]", "hang", "it ran", f"in line {n}", 9.0) for n in range(3)
    ]
    hanging = make_small(*(Judged(one, "unexpected-failure") for one in hangs))

    assert len(unexpected_of(report.subjects[0], small_catalogue)) == 2
    assert len(unexpected_of(hanging.subjects[0], small_catalogue)) == 1


def test_every_report_lists_the_checks_of_a_cause(alike, small_catalogue):
    """A finding is one entry, card or object, with its cause, which JSON reads back."""
    text = terminal.as_text(alike, small_catalogue)
    page = html.as_html(alike, small_catalogue)
    told = markdown.as_markdown(alike, small_catalogue)
    (subject,) = as_json.as_document(alike, small_catalogue)["subjects"]

    assert f"  and     {COPY}, {KIND}\n" in text
    assert f"  cause   {CAUSE}\n" in text
    assert "3 unexpected (1 finding)" in text
    assert page.count('<article class="card') == 1
    assert "<dt>Cause</dt>" in page
    assert f"and 2 more items of the same cause, also of `{COPY}`, `{KIND}`" in told
    assert subject["findings"] == [{"items": [NAMED, COPY, KIND], "cause": CAUSE}]
    assert as_json.from_json(as_json.as_json(alike, small_catalogue))[0] == alike


@pytest.fixture
def quirky(make_small):
    """A report with one deviation that the standards allow."""
    verdict = Verdict("mylib", KIND, "fail", "it differs", "", 0.1)
    return make_small(Judged(verdict, "allowed"))


def test_what_is_allowed_is_neither_pass_nor_failure(quirky, small_catalogue):
    """All reports show it separately."""
    test = ET.fromstring(junit.as_junit(quirky, small_catalogue)).find(".//testcase")  # noqa: S314

    assert quirky.unexpected == 0
    assert states.state_of(quirky.subjects[0].judged[0]).key == "quirk"
    assert "1 quirk (" in terminal.as_text(quirky, small_catalogue)
    assert "all as expected" in terminal.as_text(quirky, small_catalogue)
    assert [child.tag for child in test] == ["skipped"]
    assert "it differs" in test.find("skipped").get("message")
    assert "≠ quirk" in markdown.as_markdown(quirky, small_catalogue)
    assert 'class="quirk" data-state="quirk"' in html.as_html(quirky, small_catalogue)
