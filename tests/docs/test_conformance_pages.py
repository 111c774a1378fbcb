"""The pages on conformance are those of the checks and known failures there are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
STALE = "stale: write it again with `python docs/_ext/verdicts.py`"


@pytest.fixture
def verdicts(monkeypatch):
    """Return the module that writes the pages."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    sys.modules.pop("verdicts", None)
    import verdicts

    return verdicts


@pytest.fixture
def kept(verdicts):
    """Return what is kept of the run."""
    return json.loads(verdicts.VERDICTS.read_text(encoding="utf-8"))


def test_the_verdicts_are_those_of_the_checks_there_are(verdicts, kept):
    """A check or a known failure that changed since the run makes the pages stale."""
    assert kept["fingerprint"] == verdicts.fingerprint_of_verdicts(), STALE


def test_the_words_of_a_check_decide_no_verdict(verdicts, monkeypatch):
    """Only its cases, rule and severity do."""
    checks = verdicts.load_checks()
    before = verdicts.fingerprint_of_verdicts()
    name, check = next(one for one in checks.items() if one[1].severity == "MUST")

    monkeypatch.setitem(checks, name, check._replace(claim="Another.", advice="Another."))
    assert verdicts.fingerprint_of_verdicts() == before
    monkeypatch.setitem(checks, name, check._replace(severity="QUIRK"))
    assert verdicts.fingerprint_of_verdicts() != before


def test_the_run_was_of_every_library_that_is_judged(verdicts, kept):
    """In the order of the pages."""
    assert [one["spec"] for one in kept["libraries"]] == list(verdicts.JUDGED)
    assert len(verdicts.JUDGED) >= 9


def test_the_run_was_of_this_release(kept, project):
    """Of interchange, as of the kit: a release runs it again."""
    (release,) = re.findall(r'^version = "(.+)"$', project, re.MULTILINE)
    (ours,) = (one for one in kept["libraries"] if one["spec"] == "interchange")

    assert (ours["release"], kept["kit"]) == (release, release), STALE


def test_nothing_of_the_run_was_unexpected(kept):
    """Pages with surprises would say that the known failures are not known."""
    assert kept["unexpected"] == 0
    assert [one["counts"]["unexpected"] for one in kept["libraries"]] == [0] * len(
        kept["libraries"]
    )


def test_a_file_of_verdicts_is_the_same_when_it_is_written_again(verdicts, kept):
    """What is read is what is written."""
    assert verdicts.as_text(kept) == verdicts.VERDICTS.read_text(encoding="utf-8")


def test_every_library_of_the_run_has_its_table_on_a_page(kept):
    """Each once; and the rules of Arrow that interchange keeps have a page of their own."""
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "conformance").glob("*.md")]
    asked = re.findall(r"^```\{verdicts-of\} (\S+)$", "\n".join(pages), re.MULTILINE)

    specs = [one["spec"] for one in kept["libraries"]]
    assert sorted(asked) == sorted([*specs, "interchange-arrow"])
