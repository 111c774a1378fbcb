"""A report on a terminal: the summary, the findings, and the commands to run them again."""

from __future__ import annotations

import re
import sys

import pytest

from interchange_conformance.reports import terminal
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


def test_the_last_line_sums_up(report, catalogue):
    """It has the totals and the environment."""
    count = sum(len(subject.judged) for subject in report.subjects)

    assert as_text(report, catalogue).splitlines()[-1] == (
        f"{count} items, {report.unexpected} unexpected (6 findings); interchange 0.1.0, "
        "Python 3.11.9 on Linux x86_64, CUDA driver: emulated"
    )


def test_a_finding_has_all_that_is_needed(written):
    """They are status, subject, item, rule, claim, evidence, output, advice, source and command."""
    told = {"evidence": "it is named x\nin two lines", "output": "y"}
    items = [(f"{ITEM}[{case}]", "fail", UNEXPECTED, told) for case in "ab"]

    finding = written(as_text, *items).split("\n\n")[1]
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


@pytest.mark.parametrize("width", [50, 80, 200])
def test_texts_keep_to_the_width(report, catalogue, width):
    """Exceptions are texts to copy, and the line of a subject or an item."""
    told = as_text(report, catalogue, width=width)
    wrapped = [line for line in told.splitlines() if re.match(r"  (?!again)\S* +", line)]

    assert wrapped
    assert max(map(len, wrapped)) <= width


# ---------------------------------------------------------------- terminals and files


def test_it_is_plain_where_there_is_no_terminal(report, catalogue, capsys, monkeypatch):
    """A file has no colours, and the width of COLUMNS."""
    monkeypatch.setenv("COLUMNS", "120")

    show(report, catalogue)

    assert capsys.readouterr().out == as_text(report, catalogue, width=120)


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_terminal_has_colours(report, catalogue, capsys, monkeypatch, has_rich):
    """The words are the same as without; there are no colours where rich is missing."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not has_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)

    show(report, catalogue)

    told = capsys.readouterr().out
    assert ("\x1b[" in told) == has_rich
    assert re.sub(r"\x1b\[[\d;]*m", "", told) == as_text(report, catalogue, width=100)


@pytest.mark.parametrize("columns", ["", "0", "wide"])
def test_a_width_of_nonsense_is_none(monkeypatch, columns):
    """The default width is used."""
    monkeypatch.setenv("COLUMNS", columns)

    assert terminal.terminal_width() >= 40
