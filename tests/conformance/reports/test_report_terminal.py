"""A report on a terminal: the summary, the findings, and the commands to run them again."""

from __future__ import annotations

import re
import sys

import pytest

from interchange_conformance.reports import terminal
from interchange_conformance.reports.model import Exchange
from interchange_conformance.reports.terminal import as_text, show

ITEM = "capsules_are_named"
UNEXPECTED = "unexpected-failure"


def test_a_line_per_subject(report, catalogue):
    """The line has its release and its counts, with unexpected results first."""
    lines = as_text(report, catalogue).split("\n\n")[0].splitlines()

    assert len(lines) == 9
    assert lines[0] == (
        "NumPy 2.4.6             2 known failures, 278 pass, 227 not applicable (10.4 s)"
    )
    assert lines[1].startswith("array-api-strict 2.6.1  5 unexpected, 276 pass, ")


def test_an_array_that_did_not_arrive_is_told(make_small, small_catalogue):
    """The command of the exchange is printed; a refusal is not a finding."""
    grid = (
        Exchange("mylib", "other", "wrong", "it reads [1]"),
        Exchange("other", "mylib", "refused", "not today"),
    )

    told = as_text(make_small(grid=grid), small_catalogue)

    assert re.search(r"^WRONG +mylib to other \[the grid\]$", told, re.MULTILINE)
    assert "found   it reads [1]" in told
    assert "again   interchange check mylib.testing:subject other --grid" in told
    assert "not today" not in told
    assert told.splitlines()[-1].startswith("0 items, 1 unexpected; ")


def test_the_last_line_sums_up(report, catalogue):
    """It has the totals and the environment."""
    count = sum(len(subject.judged) for subject in report.subjects)

    assert as_text(report, catalogue).splitlines()[-1] == (
        f"{count} items, {report.unexpected} unexpected (6 findings); interchange 0.1.0, "
        "Python 3.11.9 on Linux x86_64, CUDA driver: emulated"
    )


def test_a_finding_has_all_that_is_needed(make_small, judged, small_catalogue):
    """They are status, subject, item, rule, claim, evidence, output, advice, source and command."""
    told = {"evidence": "it is named x\nin two lines", "output": "y"}
    report = make_small(
        judged(f"{ITEM}[a]", "fail", UNEXPECTED, **told),
        judged(f"{ITEM}[b]", "fail", UNEXPECTED, **told),
    )

    finding = as_text(report, small_catalogue).split("\n\n")[1]
    assert (
        finding
        == """\
FAIL        mylib 1.0: capsules_are_named[a] [DLP-CAP-1, MUST]
  and     [b]
  due     A capsule is named 'dltensor' or 'dltensor_versioned'.
  found   it is named x
          in two lines
  printed y
  do      Name it.
  rule    a DLPack capsule is named 'dltensor' or 'dltensor_versioned' (spec, PyCapsule names)
  again   interchange check mylib.testing:subject --only 'capsules_are_named[a]'"""
    )


def test_a_failure_that_happens_no_more_says_what_to_do(make_small, judged, small_catalogue):
    """The entry must be removed from the file."""
    reason = "it was old"
    report = make_small(judged(ITEM, "pass", "unexpected-pass", reason=reason, link="http://a"))

    told = as_text(report, small_catalogue)
    assert "NOW PASSES  mylib 1.0: capsules_are_named" in told
    assert "it was old http://a" in told
    assert "take it out of the list of known failures" in told


def test_a_known_failure_is_counted_only(make_small, judged, small_catalogue):
    """It needs no action."""
    told = as_text(make_small(judged(ITEM, "fail", reason="old")), small_catalogue)

    assert told.splitlines() == [
        "mylib 1.0  1 known failure (0.5 s)",
        "",
        "1 item, all as expected; interchange 0.1.0, Python 3.11.9 on Linux, CUDA driver: none",
    ]


def test_a_subject_that_could_not_be_judged_says_why(make_small, small_catalogue):
    """The reason is on its line."""
    told = as_text(make_small(broken="no module\nnamed mylib"), small_catalogue)

    assert told.startswith("mylib 1.0  could not be judged: no module named mylib\n")
    assert "0 items, 1 unexpected" in told


def test_nothing_to_judge_is_said(make_small, small_catalogue):
    """An empty run does not pass."""
    assert as_text(make_small(), small_catalogue).startswith("mylib 1.0  nothing to judge")


def test_a_release_that_nobody_knows_is_left_out(make_small, judged, small_catalogue):
    """Only the name is shown."""
    told = as_text(make_small(judged(ITEM), version="unknown"), small_catalogue)

    assert told.startswith("mylib  1 pass")


@pytest.mark.parametrize("width", [50, 80, 200])
def test_texts_keep_to_the_width(report, catalogue, width):
    """Exceptions are texts to copy, and the line of a subject or an item."""
    told = as_text(report, catalogue, width=width)
    wrapped = [line for line in told.splitlines() if re.match(r"  (?!again)\S* +", line)]

    assert wrapped
    assert max(map(len, wrapped)) <= width


def test_evidence_cannot_move_the_cursor(make_small, judged, small_catalogue):
    """Escape sequences of a library are escaped."""
    report = make_small(judged(ITEM, "fail", UNEXPECTED, evidence="\x1b[2J\x1b]0;title\x07"))

    assert "\\x1b[2J\\x1b]0;title\\x07" in as_text(report, small_catalogue)


# ---------------------------------------------------------------- terminals and files


def test_it_is_plain_where_there_is_no_terminal(report, catalogue, capsys, monkeypatch):
    """A file has no colours, and the width of COLUMNS."""
    monkeypatch.setenv("COLUMNS", "120")

    show(report, catalogue)

    assert capsys.readouterr().out == as_text(report, catalogue, width=120)


def pretend(monkeypatch):
    """Replace standard output by a terminal of 100 columns with colours."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_has_colours(report, catalogue, capsys, monkeypatch):
    """The words are the same as without."""
    pretend(monkeypatch)

    show(report, catalogue)

    told = capsys.readouterr().out
    assert "\x1b[" in told
    assert re.sub(r"\x1b\[[\d;]*m", "", told) == as_text(report, catalogue, width=100)


def test_it_needs_no_rich(report, catalogue, capsys, monkeypatch):
    """Without rich, a terminal has no colours."""
    pretend(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)

    show(report, catalogue)

    assert capsys.readouterr().out == as_text(report, catalogue, width=100)


@pytest.mark.parametrize("columns", ["", "0", "wide"])
def test_a_width_of_nonsense_is_none(monkeypatch, columns):
    """The default width is used."""
    monkeypatch.setenv("COLUMNS", columns)

    assert terminal.terminal_width() >= 40
