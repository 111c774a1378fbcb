"""The pages on conformance are those of the checks and known failures there are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ANEW = "stale: write it anew with `python docs/_ext/verdicts.py`"


@pytest.fixture
def verdicts(monkeypatch):
    """Return the module that writes the pages."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    sys.modules.pop("verdicts", None)
    import verdicts

    return verdicts


def _fingerprint(path):
    """Return what a file says that it was made from."""
    return path.read_text(encoding="utf-8").partition("Fingerprint: ")[2].partition(" ")[0]


def test_the_verdicts_are_those_of_the_checks_there_are(verdicts):
    """A check or a known failure that changed since the run makes the page stale."""
    assert _fingerprint(verdicts.VERDICTS) == verdicts.fingerprint_of_verdicts(), ANEW


def test_the_page_is_about_every_library_that_is_judged(verdicts):
    """Each has a row of its own in the summary."""
    from interchange_conformance.reports.markdown import plain

    text = verdicts.VERDICTS.read_text(encoding="utf-8")
    names = ["NumPy", "PyTorch", "JAX", "interchange"]

    assert [name for name in names if f"**{plain(name)}**" not in text] == []
    assert len(verdicts.JUDGED) >= 9


def test_nothing_on_the_page_was_unexpected(verdicts):
    """A page with surprises would say that the known failures are not known."""
    text = verdicts.VERDICTS.read_text(encoding="utf-8")

    assert "## Unexpected" not in text
