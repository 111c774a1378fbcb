"""Options of commands in the pages: they are read from the commands themselves."""

from __future__ import annotations

import argparse
import re

import pytest
from hypothesis import given, strategies as st

from interchange import cli
from interchange_conformance.emucuda import __main__ as launching

PAGE = "docs/api/commands.md"
DIRECTIVE = re.compile(r"^```\{argparse\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def commands(docs_module):
    """The module that the directives name."""
    return docs_module("commands")


def below(parser):
    """Return the commands of a grammar."""
    found = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def texts_of(parser):
    """Yield the help texts of a grammar, and of its commands."""
    for action in parser._actions:
        yield action.help or ""
    yield parser.epilog or ""
    for one in below(parser).values():
        yield from texts_of(one)


def directives(text):
    """Return the options of each directive of a page."""
    return [
        dict(re.findall(r"^:(\w+):(?: (.*))?$", block, re.MULTILINE))
        for block in DIRECTIVE.findall(text)
    ]


def test_every_command_has_a_section_with_its_options(pages):
    """There is no section for another command."""
    sections = re.split(r"^## ", pages[PAGE], flags=re.MULTILINE)[1:]
    shown = {
        section.partition("\n")[0]: one.get("path", "")
        for section in sections
        for one in directives(section)
    }

    due = {f"interchange {name}": name for name in below(cli.parser())}
    assert shown == {"interchange": "", **due}


def test_directives_name_what_there_is(pages, commands):
    """Directives on any page name existing commands; whole parsers omit their subcommands."""
    found = [one for text in pages.values() for one in directives(text)]

    assert {one["func"] for one in found} == {"interchange", "launcher"}
    for one in found:
        assert one["module"] == "commands"
        parser = getattr(commands, one["func"])()
        assert "path" not in one or one["path"] in below(parser)
        assert "path" in one or "nosubcommands" in one or not below(parser)


@pytest.mark.parametrize(
    ("func", "parser"),
    [("interchange", cli.parser), ("launcher", launching.parser)],
    ids=["interchange", "launcher"],
)
def test_texts_are_those_of_the_command(commands, func, parser):
    """The texts are those of the command, with markup escaped and no other change."""
    shown = list(texts_of(getattr(commands, func)()))

    assert [re.sub(r"\\(.)", r"\1", text) for text in shown] == list(texts_of(parser()))
    assert [text for text in shown if re.search(r"(?<!\\)[`*_|]", text)] == []


@given(text=st.text(r"a \*_`|'"))
def test_marks_are_escaped(commands, text):
    """Marks in any help text are escaped."""
    escaped = commands.escaped(text)

    assert re.sub(r"\\(.)", r"\1", escaped) == text
    assert not re.search(r"[`*_|]", re.sub(r"\\.", "", escaped))


def test_usage_does_not_depend_on_the_terminal(commands, monkeypatch):
    """Pages do not depend on the terminal of the build."""
    told = []
    for columns in ("30", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        told.append(below(commands.interchange())["check"].format_usage())

    assert told[0] == told[1]
