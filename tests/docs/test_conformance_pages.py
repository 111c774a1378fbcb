"""The pages on conformance are those of the checks and known failures there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
STALE = "stale: write it again with `python docs/_ext/verdicts.py`"


@pytest.fixture(scope="module")
def verdicts(docs_module):
    """The module that writes the pages."""
    return docs_module("verdicts")


@pytest.fixture
def kept(verdicts):
    """Return the stored results of the run."""
    return json.loads(verdicts.VERDICTS.read_text(encoding="utf-8"))


def test_the_verdicts_are_those_of_the_checks_there_are(verdicts, kept):
    """A check or a known failure that changed since the run makes the pages stale."""
    assert kept["fingerprint"] == verdicts.fingerprint_of_verdicts(), STALE


def test_the_words_of_a_check_decide_no_verdict(verdicts, monkeypatch):
    """A verdict depends on a check's cases, rule and severity, and not on its texts."""
    checks = verdicts.load_checks()
    before = verdicts.fingerprint_of_verdicts()
    name, check = next(one for one in checks.items() if one[1].severity == "MUST")

    monkeypatch.setitem(checks, name, check._replace(claim="Another.", advice="Another."))
    assert verdicts.fingerprint_of_verdicts() == before
    monkeypatch.setitem(checks, name, check._replace(severity="QUIRK"))
    assert verdicts.fingerprint_of_verdicts() != before


def test_the_run_was_of_every_library_that_is_judged(verdicts, kept):
    """The run has every library that is judged, in the order of the pages."""
    assert [one["spec"] for one in kept["libraries"]] == list(verdicts.JUDGED)
    assert len(verdicts.JUDGED) >= 9


def test_the_run_was_of_this_release(kept, project):
    """The run was made with this release of interchange and of the kit."""
    (release,) = re.findall(r'^version = "(.+)"$', project, re.MULTILINE)
    (ours,) = (one for one in kept["libraries"] if one["spec"] == "interchange")

    assert (ours["release"], kept["kit"]) == (release, release), STALE


def test_nothing_of_the_run_was_unexpected(kept):
    """The stored run has no unexpected results, which the known failures would contradict."""
    assert kept["unexpected"] == 0
    assert [one["counts"]["unexpected"] for one in kept["libraries"]] == [0] * len(
        kept["libraries"]
    )


def test_a_file_of_verdicts_is_the_same_when_it_is_written_again(verdicts, kept):
    """Reading and writing a file of verdicts does not change it."""
    assert verdicts.as_text(kept) == verdicts.VERDICTS.read_text(encoding="utf-8")


def test_every_library_of_the_run_has_its_table_on_a_page(kept):
    """Every library of the run has one table, and interchange's Arrow rules have a page."""
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "conformance").glob("*.md")]
    asked = re.findall(r"^```\{verdicts-of\} (\S+)$", "\n".join(pages), re.MULTILINE)

    specs = [one["spec"] for one in kept["libraries"]]
    assert sorted(asked) == sorted([*specs, "interchange-arrow"])
