"""A report as JSON can be read back, and its schema describes all fields."""

from __future__ import annotations

import copy
import json
from typing import get_args

import jsonschema
import pytest
from hypothesis import given, strategies as st

from interchange_conformance.findings import STATUSES, Verdict
from interchange_conformance.reports.as_json import (
    UnreadableReportError,
    as_json,
    from_json,
    schema,
)
from interchange_conformance.reports.model import (
    SCHEMA,
    Exchange,
    Judged,
    Report,
    Standing,
    SubjectReport,
)

ITEM = "capsules_are_named"


@pytest.fixture(scope="module")
def told(report, catalogue):
    """The JSON of the nine libraries."""
    return json.loads(as_json(report, catalogue))


# ---------------------------------------------------------------- round trips


def test_a_report_comes_back(report, catalogue):
    """All fields are equal, including those of checks and rules."""
    assert from_json(as_json(report, catalogue)) == (report, catalogue)


@given(
    texts=st.lists(st.text(), min_size=7, max_size=7),
    status=st.sampled_from(STATUSES),
    seconds=st.floats(0, 1e6),
)
def test_any_text_comes_back(small_catalogue, texts, status, seconds):
    """Text of a library can contain any characters."""
    name, evidence, output, reason, link, releases, case = texts
    verdict = Verdict(name, f"{ITEM}[{case}]", status, evidence, output, seconds)
    judged = Judged(verdict, "as-expected", reason, link, releases)
    subject = SubjectReport("spec", name, "1", ("producer",), reason, (judged,), seconds)
    exchange = Exchange(name, name, "wrong", evidence)
    report = Report("0", "3", "x", "none", (subject,), (exchange,))

    text = as_json(report, small_catalogue)

    assert from_json(text)[0] == report
    assert text.isascii()


def test_it_has_its_number_first(report, catalogue):
    """A reader can check the version first."""
    assert as_json(report, catalogue).startswith(f'{{\n "schema": {SCHEMA},\n')


def test_a_reader_needs_nothing_else(told):
    """The document has the check of every result, and the rule and the area of every check."""
    results = [one for subject in told["subjects"] for one in subject["results"]]

    assert {one["check"] for one in results} == set(told["checks"])
    assert {check["rule"] for check in told["checks"].values()} == set(told["rules"])
    assert {check["area"] for check in told["checks"].values()} == set(told["areas"])


def test_it_says_whether_a_run_passes(told, report):
    """The number of unexpected results decides."""
    assert told["unexpected"] == report.unexpected == 12


def test_texts_that_are_empty_are_left_out(make_small, judged, small_catalogue):
    """Most results are passes without text."""
    told = json.loads(as_json(make_small(judged(ITEM)), small_catalogue))

    assert told["subjects"][0]["results"] == [
        {
            "item": ITEM,
            "check": ITEM,
            "status": "pass",
            "standing": "as-expected",
            "seconds": 0.25,
        }
    ]


# ---------------------------------------------------------------- the schema


def test_the_schema_is_one():
    """The schema is valid for its draft and for the current format."""
    jsonschema.Draft202012Validator.check_schema(schema())

    assert schema()["properties"]["schema"]["const"] == SCHEMA


def test_reports_are_as_the_schema_says(told):
    """A report of nine libraries is valid."""
    jsonschema.Draft202012Validator(schema()).validate(told)


def parts(told, rule, root, where="report"):
    """Yield every object of a document with its schema."""
    rule = root["$defs"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
    if isinstance(told, dict):
        yield where, told, rule
        for key, value in told.items():
            below = rule.get("properties", {}).get(key, rule.get("additionalProperties"))
            if below:
                yield from parts(value, below, root, f"{where}.{key}")
    elif isinstance(told, list):
        for one in told:
            yield from parts(one, rule["items"], root, f"{where}[]")


def test_every_field_is_in_the_schema(told):
    """Every field has a description."""
    unknown = {
        f"{where}.{key}"
        for where, part, rule in parts(told, schema(), schema())
        if "properties" in rule
        for key in part
        if key not in rule["properties"]
    }

    assert unknown == set()


def described(rule):
    """Yield every field of the schema."""
    for name, part in rule.get("properties", {}).items():
        yield name, part
    for part in rule.get("$defs", {}).values():
        yield from described(part)


def test_every_field_is_described():
    """The description may be in a referenced definition."""
    root = schema()
    silent = [
        name
        for name, part in described(root)
        if "description" not in root["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
    ]

    assert silent == []


def test_the_schema_knows_the_words_of_the_kit():
    """Statuses, standings, outcomes and others are those of the code."""
    root = schema()
    words = {name: part["enum"] for name, part in described(root) if "enum" in part} | {
        name: part["enum"] for name, part in root["$defs"].items() if "enum" in part
    }

    assert set(root["$defs"]["result"]["properties"]["status"]["enum"]) == set(STATUSES)
    assert set(words["standing"]) == set(get_args(Standing))
    assert set(words["driver"]) == {"none", "emulated", "real"}
    assert words["severity"] == ["MUST", "SHOULD", "QUIRK"]
    assert words["role"] == [
        "producer",
        "consumer",
        "arrow_producer",
        "arrow_consumer",
    ]


# ---------------------------------------------------------------- invalid reports


def test_a_later_form_is_refused(told):
    """The version decides, not a missing field."""
    later = {**told, "schema": SCHEMA + 1}

    with pytest.raises(UnreadableReportError, match=f"of form {SCHEMA + 1}, and this release"):
        from_json(json.dumps(later))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", "{}", '{"schema": "1"}'])
def test_what_is_no_report_is_refused(text):
    """The error is a sentence."""
    with pytest.raises(UnreadableReportError, match=r"no JSON|no report"):
        from_json(text)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("kit",), None, r"report\.kit is missing"),
        (("kit",), 1, r"report\.kit is of type int"),
        (("driver",), "magic", r"report\.driver is 'magic', not one of"),
        (("subjects",), {}, r"report\.subjects is of type dict"),
        (("subjects", 0), [], r"report\.subjects\[0\] is of type list"),
        (("subjects", 0, "seconds"), True, r"seconds is of type bool"),
        (("subjects", 0, "roles"), [1], r"roles\[0\] is 1, not one of"),
        (("subjects", 0, "results", 1, "status"), "odd", r"results\[1\]\.status is 'odd'"),
        (("subjects", 0, "seconds"), "1", r"seconds is of type str"),
        (("subjects", 0, "results", 1, "item"), "odd", r"there is no check odd"),
        (("rules",), {}, r"there is no DLP-CAP-1, or no capsule"),
        (("areas",), None, r"report\.areas is missing"),
    ],
)
def test_what_is_wrong_is_named(told, path, value, words):
    """The error has the location in the document."""
    wrong = copy.deepcopy(told)
    place = wrong
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    with pytest.raises(UnreadableReportError, match=words):
        from_json(json.dumps(wrong))
