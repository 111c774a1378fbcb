"""The exit codes of the check command are the documented ones, and its guide is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interchange_conformance.cli import exits
from interchange_conformance.judging import judge

PAGE = Path(__file__).parents[3] / "docs" / "api" / "commands.md"
ITEM = "make_returns_an_array"
PRINTS = "make_prints_nothing"


def documented():
    """Return the documented exit codes of the command."""
    return [*exits.COMMANDS["interchange check"], exits.INTERRUPTED]


def all_as_expected(check, write_subject, _):
    """Judge a library that conforms to the rule."""
    return check(write_subject(), "--only", ITEM)


def something_is_not(check, write_subject, _):
    """Judge a library that breaks the rule."""
    return check(write_subject("print('made')"), "--only", PRINTS)


def not_all_could_be_done(check, write_subject, _):
    """Judge a missing library and one that breaks the rule: the greater code is returned."""
    broken = write_subject("", "import no_such_module_here")
    return check(write_subject("print('made')"), broken, "--only", PRINTS)


def interrupted(check, write_subject, monkeypatch):
    """Interrupt the command."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "judge", interrupt)
    return check(write_subject(), "--only", ITEM)


PROVOKED = {
    0: all_as_expected,
    1: something_is_not,
    2: not_all_could_be_done,
    130: interrupted,
}
"""Exit code -> a run that ends with it."""


def test_every_documented_code_is_provoked():
    """No other code occurs."""
    assert documented() == list(PROVOKED)


@pytest.mark.parametrize("code", documented())
def test_a_documented_code_is_the_real_one(check, write_subject, monkeypatch, code):
    """The runs end with the documented codes."""
    assert PROVOKED[code](check, write_subject, monkeypatch)[0] == code


def test_the_guide_names_all_that_a_description_may_have():
    """Each field has a row."""
    from dataclasses import fields

    from interchange_conformance.subject import Subject

    guide = PAGE.parents[1] / "conformance" / "describe-a-library.md"
    text = guide.read_text(encoding="utf-8")
    section = text.partition("### Fields of a description")[2].partition("\n### ")[0]
    rows = " ".join(line.split(" | ")[0] for line in section.splitlines() if line[:3] == "| `")
    named = set(re.findall(r"`(\w+)", rows))

    assert {field.name for field in fields(Subject)} - {"name"} == named
