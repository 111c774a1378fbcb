"""Tables of the page on commands: every code, format and variable, and their descriptions."""

from __future__ import annotations

import re

import jsonschema
import pytest

from interchange.cli import forms, output
from interchange.cli.variables import VARIABLES
from interchange_conformance.cli import exits

PAGE = "docs/api/commands.md"
COMMANDS = {**output.COMMANDS, **exits.COMMANDS}
SCHEMAS = ("src/interchange/cli/schemas", "conformance/src/interchange_conformance/reports")


@pytest.fixture(scope="module")
def command_tables(docs_module):
    """The module that prints the tables."""
    return docs_module("command_tables")


def first_cells(table):
    """Return the first cell of each row."""
    return [row.split(" | ")[0].strip("|` ") for row in table.splitlines()[2:]]


def test_the_page_prints_each_table(pages):
    """The page has no exit code or variable written by hand."""
    text = pages[PAGE]

    for name in ("exit-code-table", "command-code-table", "json-table", "variable-table"):
        assert text.count(f"```{{{name}}}\n```") == 1
    assert not re.search(r"^\| (?:\d|`INTERCHANGE)", text, re.MULTILINE)


def test_every_code_has_a_row(command_tables):
    """Every exit code has a row, in order."""
    assert first_cells(command_tables.exit_codes()) == [str(code) for code in output.CODES]


def test_every_command_has_a_row(command_tables):
    """Every command has a row with a cell per code, ``-`` if it never exits with it."""
    rows = command_tables.exit_codes_by_command().splitlines()[2:]

    assert first_cells("\n\n" + "\n".join(rows)) == list(COMMANDS)
    for row, codes in zip(rows, COMMANDS.values(), strict=True):
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        assert [cell != "-" for cell in cells] == [code in codes for code in (0, 1, 2)]


def test_every_variable_has_a_row(command_tables):
    """Every variable has a row, in order."""
    assert first_cells(command_tables.environment()) == [one.name for one in VARIABLES]


def test_every_schema_of_the_sources_has_a_row(root, command_tables):
    """Each row has the schema's version number, and there is no other row."""
    found = {
        str(path.relative_to(root / folder.split("/interchange")[0]))
        for folder in SCHEMAS
        for path in (root / folder).glob("*.schema.json")
    }

    documents = command_tables.documents()

    assert {f"{package}/{file}" for _, _, package, file, _ in documents} == found
    assert len(documents) == len(found) == len(forms.FORMS) + 4
    for _, number, _, file, schema in documents:
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"urn:array-interchange:{file.partition('.')[0]}-{number}"
