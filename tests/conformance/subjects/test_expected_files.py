"""The files of known failures refer to existing libraries, checks and cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interchange_conformance.findings import Verdict
from interchange_conformance.judging import expectations
from interchange_conformance.registry import load_checks
from interchange_conformance.running.loading import shipped

FILES = sorted((Path(expectations.__file__).parents[1] / "expected").glob("*.toml"))
SPECS = {module.rpartition(".")[2]: spec for spec, module in shipped().items()}

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def _items():
    """Return every item."""
    return [item for check in load_checks().values() for item in check.items()]


def test_every_file_is_of_a_description():
    """No file belongs to a library that is no longer judged."""
    assert [file.stem for file in FILES if file.stem not in SPECS] == []


@every_file
def test_every_entry_names_an_existing_check(file):
    """Wildcards are only used if they match."""
    items = _items()

    idle = [one.check for one in expectations.read(file) if not any(map(one.is_of, items))]

    assert idle == []


@every_file
def test_no_item_has_two_entries_for_one_run(file):
    """The result must not depend on the order of entries."""
    entries = expectations.read(file)
    twice = [
        item
        for item in _items()
        if (found := [one for one in entries if one.is_of(item)])
        and len({(one.releases, one.python, one.drivers) for one in found}) < len(found)
    ]

    assert twice == []


@every_file
def test_reasons_are_sentences_of_their_own(file):
    """A reason is a clause in the present tense about the library, without a full stop."""
    reasons = {one.reason for one in expectations.read(file)}

    assert [
        text for text in reasons if not re.match(r"[a-z]+s [^.]", text) or text[-1] == "."
    ] == []


@every_file
def test_entries_say_how_it_ends(file):
    """A crash does not match a failed check, and vice versa."""
    entries = expectations.read(file)

    assert [one.check for one in entries if len(one.statuses) > 2] == []
    assert [one.check for one in entries if "broken-subject" in one.statuses] == []


# ---------------------------------------------------------------- intermittent failures


ENTRY = '[[failure]]\ncheck = "exports_are_capsules"\nreason = "does so now and then"\n'


def _expected(tmp_path, text):
    """Return the known failures of a file with one entry."""
    file = tmp_path / "known.toml"
    file.write_text(ENTRY + text, encoding="utf-8")
    return expectations.Expected(expectations.read(file), "1.0", "none")


REASON = "does so now and then"


@pytest.mark.parametrize(
    ("sometimes", "status", "standing", "reason"),
    [
        ("true", "pass", "as-expected", ""),
        ("false", "pass", "unexpected-pass", REASON),
        ("true", "fail", "as-expected", REASON),
    ],
)
def test_what_fails_sometimes_may_pass(tmp_path, sometimes, status, standing, reason):
    """Otherwise a pass means that the failure was fixed."""
    expected = _expected(tmp_path, f"sometimes = {sometimes}")

    judged = expected.judge(Verdict("a library", "exports_are_capsules", status))

    assert (judged.standing, judged.reason) == (standing, reason)


def test_sometimes_is_true_or_false(tmp_path):
    """Other values are errors."""
    with pytest.raises(expectations.ExpectationsError, match="sometimes is 'often'"):
        _expected(tmp_path, 'sometimes = "often"')
