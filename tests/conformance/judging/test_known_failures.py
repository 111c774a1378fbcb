"""The file of known failures of a run is written without reasons, and can be read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from interchange_conformance.findings import Verdict
from interchange_conformance.judging import expectations, known_failures
from interchange_conformance.registry import load_checks
from interchange_conformance.reports.model import Judged, Report, SubjectReport

ITEMS = [item for check in load_checks().values() for item in check.items()]
PRINTS = "make_prints_nothing"
DTYPES = "make_gives_the_dtype_that_it_was_asked_for"
ODD = 'print("made")\nif dtype == "int64": dtype = "int8"'


def report_of(*judged):
    """Return a report of one subject."""
    subject = SubjectReport("mine", "mine", "1.0", ("producer", "consumer"), "", judged, 1.0)
    return Report("0.1.0", "3.11.9", "Linux", "none", (subject,))


def failed(item, evidence="", cause=""):
    """Return an item that failed unexpectedly."""
    return Judged(Verdict("mine", item, "fail", evidence, "", 0.1, cause), "unexpected-failure")


def with_reasons(text):
    """Return a file in which every reason is filled in."""
    return text.replace('reason = ""', 'reason = "so it is"')


def test_the_file_of_a_run_makes_the_run_end_well(check, write_subject, tmp_path):
    """The file is refused until reasons are filled in."""
    spec, path = write_subject(ODD), tmp_path / "known_failures.toml"

    assert check(spec, "--only", "subject", "--write-known", path)[0] == 1
    code, _, err = check(spec, "--only", "subject", "--expected", path)
    assert code == 2
    assert "its reason is empty; write why it may fail" in err

    path.write_text(with_reasons(path.read_text()), encoding="utf-8")
    assert check(spec, "--only", "subject", "--expected", path)[0] == 0


def test_each_item_has_its_evidence(check, write_subject, tmp_path):
    """The comment above its entry also has the rule and the claim."""
    spec, path = write_subject(ODD), tmp_path / "known_failures.toml"

    check(spec, "--only", "subject", "--write-known", path)

    text = " ".join(path.read_text().replace("\n#", "").split())
    assert "make_prints_nothing: while an array was made, this was printed: 'made'" in text
    assert "IX-SUBJECT-1, MUST: make() prints nothing." in text
    assert f"{DTYPES}[int64]: make() was asked for int64: __dlpack__ says int8" in text


def test_what_is_known_stays_with_its_reason(check, write_subject, tmp_path):
    """The file of a run may be the one that it was read from."""
    spec, path = write_subject(ODD), tmp_path / "known_failures.toml"
    entry = f'[[failure]]\ncheck = "{PRINTS}"\nreleases = ">=0"\nreason = "a log"\n'
    path.write_text(entry, encoding="utf-8")

    check(spec, "--only", "subject", "--expected", path, "--write-known", path)

    reasons = re.findall(r"^reason = (.*)$", path.read_text(), re.MULTILINE)
    assert (reasons[0], set(reasons[1:])) == ('"a log"', {'""'})
    assert 'releases = ">=0"' in path.read_text()


def test_what_is_known_and_gone_is_left_out(check, write_subject, tmp_path):
    """The entry of a failure that was fixed is removed."""
    spec, path = write_subject(), tmp_path / "known_failures.toml"
    path.write_text(f"[[failure]]\ncheck = '{PRINTS}'\nreason = 'a log'\n", encoding="utf-8")

    code, _, _ = check(spec, "--only", PRINTS, "--expected", path, "--write-known", path)

    assert code == 1
    assert expectations.read(path) == []


def test_what_the_standards_allow_is_not_written():
    """QUIRKs need no reason."""
    verdict = Verdict("mine", ITEMS[0], "fail", "evidence")

    assert "[[failure]]" not in known_failures.as_known(report_of(Judged(verdict, "allowed")), [])


def test_items_of_one_cause_are_one_entry():
    """They share one reason."""
    items = ITEMS[:3]
    judged = [
        failed(item, f"{item} raised", "KeyError: 'abc' (a.py, line 1, in f)") for item in items
    ]

    text = known_failures.as_known(report_of(*judged), [])

    assert text.count("[[failure]]") == 1
    assert all(f"    {one!r},".replace("'", '"') in text for one in items)
    assert text.count(" raised") == 3


@given(st.dictionaries(st.sampled_from(ITEMS), st.text(), min_size=1, max_size=4))
def test_any_evidence_reads_back(tmp_path_factory, found):
    """Comments can contain any text of a library."""
    path = tmp_path_factory.mktemp("known") / "known_failures.toml"
    text = known_failures.as_known(report_of(*(failed(*one) for one in found.items())), [])
    path.write_text(with_reasons(text), encoding="utf-8")

    assert {one.check for one in expectations.read(path)} == set(found)


def _is_reason(text):
    """Return whether an entry may have this reason: one line with a word."""
    return text.isprintable() and bool(text.strip())


@given(reason=st.text().filter(_is_reason), sometimes=st.booleans(), data=st.data())
def test_any_entry_is_written_as_it_was(tmp_path_factory, reason, sometimes, data):
    """Entries are the same after they were written and read."""
    drivers = data.draw(st.sets(st.sampled_from(expectations.DRIVERS), min_size=1))
    statuses = data.draw(st.sets(st.sampled_from(["fail", "raised", "crash"]), min_size=1))
    path = tmp_path_factory.mktemp("known") / "known_failures.toml"
    one = expectations.Expectation(
        ITEMS[0], frozenset(statuses), ">=1,<2", "", frozenset(drivers), reason, "https://a.b/1",
        f"{path}, failure 1", sometimes,
    )  # fmt: skip

    path.write_text(known_failures.as_known(report_of(), [one]), encoding="utf-8")

    assert expectations.read(path) == [one]


def test_a_list_of_checks_shares_a_reason(tmp_path):
    """Each check has a separate expectation."""
    path = tmp_path / "known_failures.toml"
    path.write_text('[[failure]]\ncheck = ["one", "two[a]"]\nreason = "both"\n', encoding="utf-8")

    assert [(one.check, one.reason) for one in expectations.read(path)] == [
        ("one", "both"),
        ("two[a]", "both"),
    ]


@pytest.mark.parametrize("reason", ['""', '"  "'])
def test_an_empty_reason_is_refused(tmp_path, reason):
    """The error has the name of the check."""
    path = tmp_path / "known_failures.toml"
    path.write_text(f'[[failure]]\ncheck = "one"\nreason = {reason}\n', encoding="utf-8")

    with pytest.raises(expectations.ExpectationsError, match="failure 1: one: its reason is empty"):
        expectations.read(path)


def test_one_file_is_of_one_subject(check):
    """A file is read for one subject."""
    code, _, err = check("numpy", "interchange", "--write-known", "known_failures.toml")

    assert code == 2
    assert "--write-known writes the file of one subject" in err
