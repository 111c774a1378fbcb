"""Known failures: the format of their files, and their effect on results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import interchange_conformance
from interchange_conformance.findings import BAD, Verdict
from interchange_conformance.judging.expectations import (
    ExpectationsError,
    Expected,
    matches,
    read,
    refuse_unknown,
    shipped_file,
)
from interchange_conformance.registry import load_checks

ONE = """
[[failure]]
check = "reads_nothing"
reason = "it does"
link = "https://example.org/1"
"""
SHIPPED = sorted((Path(interchange_conformance.__file__).parent / "expected").glob("*.toml"))


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of known failures."""

    def write_file(text):
        path = tmp_path / "known.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def expected(write):
    """Return a function from the text of a file to the expectations of a run."""

    def expect(text, release="2.0", driver="none"):
        return Expected(read(write(text)), release, driver)

    return expect


def verdict(status, item="reads_nothing"):
    """Return a verdict."""
    return Verdict("mine", item, status, "evidence")


# ---------------------------------------------------------------- standings


KNOWN = [(ONE, status, "reads_nothing", "as-expected", "it does") for status in sorted(BAD)]
UNKNOWN = [(ONE, status, "writes_nothing", "unexpected-failure", "") for status in sorted(BAD)]


@pytest.mark.parametrize(
    ("text", "status", "item", "standing", "reason"),
    [
        *KNOWN,
        *UNKNOWN,
        (ONE, "pass", "reads_nothing", "unexpected-pass", "it does"),
        (ONE, "not-applicable", "reads_nothing", "as-expected", ""),
        ("", "pass", "reads_nothing", "as-expected", ""),
    ],
)
def test_a_standing_is_that_of_the_entry(expected, text, status, item, standing, reason):
    """A known failure has reason and link; its pass is unexpected, and other results are not."""
    judged = expected(text).judge(verdict(status, item))

    assert (judged.standing, judged.reason) == (standing, reason)
    is_known = (standing, reason) == ("as-expected", "it does")
    assert not is_known or judged.link == "https://example.org/1"


@pytest.mark.parametrize("module", ["mlx", "nanobind", "warp"])
@pytest.mark.parametrize("status", ["fail", "crash"])
def test_what_is_undefined_may_fail_or_end_the_process(module, status):
    """Two threads that own one tensor may fail or crash, by chance."""
    known = Expected(read(shipped_file(module)), "99", "none", python="3.12")
    found = verdict(status, "of_two_threads_one_takes_a_capsule[legacy]")

    assert known.judge(found).standing == "as-expected"
    assert known.judge(found._replace(status="hang")).standing == "unexpected-failure"


@pytest.mark.parametrize("status", ['"fail"', '["fail", "crash"]'])
def test_another_way_to_fail_is_unexpected(expected, status):
    """The entry may name the known statuses."""
    known = expected(f"{ONE}status = {status}")

    assert known.judge(verdict("fail")).standing == "as-expected"
    assert known.judge(verdict("hang")).standing == "unexpected-failure"


@pytest.mark.parametrize(
    ("limit", "release", "applies"),
    [
        ('releases = ">=1.5,<2.1"', "2.0", True),
        ('releases = "<2"', "2.0", False),
        ('releases = ">=2.0.dev0"', "2.0", True),
        ('releases = ">=1,<2"', "unknown", True),
        ('releases = ">=1,<2"', "1.5.dev0+g1234", True),
        ('python = ">=3.10"', "2.0", True),
        ('python = "<3"', "2.0", False),
        ('driver = "none"', "2.0", True),
        ('driver = ["emulated", "real"]', "2.0", False),
        ('releases = ">=1"\npython = "<3"', "2.0", False),
    ],
)
def test_an_entry_may_be_of_some_runs_only(expected, limit, release, applies):
    """Of releases, Pythons and drivers; pages use the releases, and no version matches all."""
    judged = expected(f"{ONE}{limit}", release).judge(verdict("fail"))

    assert judged.standing == ("as-expected" if applies else "unexpected-failure")
    assert not applies or (judged.releases in limit and bool(judged.releases) == ("rel" in limit))


def test_the_first_entry_counts(expected):
    """The first entry that matches the item and the run applies."""
    text = f'{ONE}releases = "<2"\n' + ONE.replace("it does", "second") + ONE

    assert expected(text).judge(verdict("fail")).reason == "second"


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "item", "is_meant"),
    [
        ("reads", "reads", True),
        ("reads", "reads[legacy]", True),
        ("reads[legacy]", "reads[legacy]", True),
        ("reads[legacy]", "readsl", False),
        ("reads[*]", "reads[legacy]", True),
        ("reads[*]", "reads", False),
        ("*ads*", "reads[legacy]", True),
        ("rea?s", "reads[legacy]", True),
        ("reads[l*y]", "reads[legacy]", True),
        ("reads[v*]", "reads[legacy]", False),
        ("read", "reads", False),
        ("reads.legacy.", "reads[legacy]", False),
        ("", "reads", False),
    ],
)
def test_a_pattern_names_items(pattern, item, is_meant):
    """Brackets are literal, a name without brackets means all cases, and only * is special."""
    assert matches(pattern, item) == is_meant


# ---------------------------------------------------------------- stale entries


def test_an_entry_of_no_item_is_stale(expected, write):
    """Its check is gone; entries of other runs are stale only if no check has the name at all."""
    other = f'{ONE}releases = "<1"'
    words = "failure 1: 'reads_nothing' is no check or case"

    expected(ONE).refuse_stale(["reads_nothing[legacy]"])
    expected(other).refuse_stale(["writes_nothing"])
    refuse_unknown(read(write(other)), ["reads_nothing[legacy]"])
    with pytest.raises(ExpectationsError, match=words):
        expected(ONE).refuse_stale(["writes_nothing"])
    with pytest.raises(ExpectationsError, match=words):
        refuse_unknown(read(write(other)), ["writes_nothing"])


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "known.toml: "),
        ("[failure]\ncheck = 'x'", "write [[failure]], with two brackets"),
        ("[[failures]]\ncheck = 'x'", "it has 'failures'; write [[failure]] tables only"),
        ("[[failure]]\nreason = 'x'", "failure 1: it has no check"),
        ("[[failure]]\ncheck = 'x'", "failure 1: it has no reason"),
        (f"{ONE}{ONE}because = 'x'", "failure 2: it has 'because'; there are check, driver, link"),
        (f"{ONE}status = 'bad'", "failure 1: status is 'bad', and none or a list of"),
        (f"{ONE}status = ['fail', 'pass']", "failure 1: status is ['fail', 'pass'], and none"),
        (f"{ONE}status = []", "failure 1: status is []"),
        (f"{ONE}status = 5", "failure 1: status is 5"),
        (f"{ONE}driver = 'fake'", "failure 1: driver is 'fake', and none or a list of emulated"),
        (f"{ONE}releases = '1.0'", "failure 1: releases is '1.0', and no specifier such as"),
        (f"{ONE}releases = 5", "failure 1: releases is 5, and no text"),
        (f"{ONE}python = 'new'", "failure 1: python is 'new', and no specifier"),
        (ONE.replace("https://", ""), "failure 1: link is 'example.org/1', and no https://"),
        (ONE.replace('"it does"', "3"), "failure 1: reason is 3, and no text"),
    ],
)
def test_a_wrong_file_is_refused(write, text, words):
    """The error has the file, the entry, and the fix."""
    with pytest.raises(ExpectationsError) as raised:
        read(write(text))

    assert words in str(raised.value)
    assert "known.toml" in str(raised.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    """The file may be missing, a folder, or not text."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name in ("missing.toml", "", "binary.toml"):
        with pytest.raises(ExpectationsError, match=str(tmp_path)):
            read(tmp_path / name)


@pytest.mark.parametrize("module", ["packaging.specifiers", "tomli"])
def test_what_is_not_installed_is_reported(write, monkeypatch, module):
    """The error has the install command; tomllib is part of Python 3.11."""
    used = {"tomli": sys.version_info < (3, 11)}
    monkeypatch.setitem(sys.modules, module, None)
    path = write(f"{ONE}releases = '<2'")
    if not used.get(module, True):
        assert len(read(path)) == 1
        return

    with pytest.raises(ExpectationsError, match=f"pip install {module.partition('.')[0]}$"):
        read(path)


# ---------------------------------------------------------------- shipped files


def test_a_subject_without_a_file_has_no_known_failures():
    """A file is found by the name of the module."""
    assert shipped_file("no_such_library") is None


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_entries_are_of_checks_that_there_are(path):
    """No entry has an unknown check or case, and each has a reason."""
    known = read(path)

    refuse_unknown(known, [item for check in load_checks().values() for item in check.items()])
    assert all(entry.reason for entry in known)
