"""Options that write reports to a file or to standard output, and the list of items."""

from __future__ import annotations

import json

import jsonschema
import pytest

from interchange_conformance.reports.item_list import SCHEMA

ITEM = "make_returns_an_array"


@pytest.fixture
def schema():
    """Return a function that reads a schema of the kit."""
    from importlib import resources

    folder = resources.files("interchange_conformance.reports")
    return lambda form: json.loads((folder / f"{form}.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("last", [["--json"], ["--json", "-"], ["--json=-"]], ids=str)
def test_without_a_file_json_is_all_of_standard_output(check, write_subject, schema, last):
    """``-`` has the same effect."""
    code, out, _ = check(write_subject(), "--only", ITEM, *last)

    jsonschema.validate(json.loads(out), schema("report"))
    assert code == 0


def test_a_file_has_the_json_and_standard_output_the_text(check, write_subject, schema, tmp_path):
    """The text is the same as without the option."""
    spec, file = write_subject(), tmp_path / "found.json"

    code, out, _ = check(spec, "--only", ITEM, "--json", file)

    jsonschema.validate(json.loads(file.read_text()), schema("report"))
    assert code == 0
    assert "1 pass" in out


def test_a_badge_is_as_its_schema_says(check, write_subject, schema):
    """The version of its format has the key that shields.io uses."""
    _, out, _ = check(write_subject(), "--only", ITEM, "--badge")

    jsonschema.validate(json.loads(out), schema("badge"))
    assert set(json.loads(out)) == set(schema("badge")["properties"])


def test_the_list_is_json_too(check, schema, tmp_path):
    """The rows are those of the text, in the same order; beside a file the text is printed."""
    rule, file = ("--list", "--only", "DLP-CAP-1"), tmp_path / "items.json"
    text = check(*rule)[1]

    code, out, _ = check(*rule, "--json")
    printed = check(*rule, "--json", file)[1]

    told, lines = json.loads(out), text.splitlines()
    jsonschema.validate(told, schema("items"))
    assert (code, told["schema"], printed) == (0, SCHEMA, text)
    assert json.loads(file.read_text()) == told
    assert [" ".join(row.values()) for row in told["items"]] == [" ".join(x.split()) for x in lines]
    assert len(lines) > 1


@pytest.mark.parametrize("option", ["--html", "--badge", "--write-known"])
def test_a_list_refuses_other_reports(check, option, tmp_path):
    """Nothing was run that they could contain."""
    code, out, err = check("--list", option, tmp_path / "file")

    assert (code, out) == (2, "")
    assert "--list runs nothing" in err


def test_a_subject_after_json_is_reported_as_a_file(check, tmp_path, monkeypatch):
    """The command fails with an explanation, and nothing is judged or written."""
    monkeypatch.chdir(tmp_path)

    code, out, err = check("--json", "numpy")

    assert (code, out, list(tmp_path.iterdir())) == (2, "", [])
    assert "before --json and its like: what follows those is a file" in err


def test_a_mistake_of_the_command_is_2(check, write_subject, monkeypatch):
    """Python's own exit code 1 would mean a finding."""
    from interchange_conformance.judging import judge

    def err(*_):
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(judge, "judge", err)

    code, _, err = check(write_subject(), "--only", ITEM)

    assert code == 2
    assert err.endswith("ZeroDivisionError: a mistake\n")
