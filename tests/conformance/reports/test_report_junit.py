"""A report as JUnit XML, for CI systems."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from interchange_conformance.findings import Verdict
from interchange_conformance.reports.junit import as_junit
from interchange_conformance.reports.model import Exchange, Judged

ITEM = "capsules_are_named"
COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
ALLOWED = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        ["properties", "testcase"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": (
        {"classname", "name", "time"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "skipped": ({"message"}, []),
    "failure": ({"message", "type"}, []),
    "error": ({"message", "type"}, []),
    "system-out": (set(), []),
}
"""Element -> its attributes, and its child elements in order: an extract of junit-10.xsd."""


def parse(text):
    """Return the root of the parsed XML."""
    return ET.fromstring(text.encode("utf-8"))  # noqa: S314 - our own text


@pytest.fixture(scope="module")
def root(report, catalogue):
    """The XML of the nine libraries."""
    return parse(as_junit(report, catalogue))


@pytest.fixture
def one_test(written):
    """Return a function that returns the test of a single item."""

    def find(*item):
        return parse(written(as_junit, item)).find("testsuite/testcase")

    return find


# ---------------------------------------------------------------- form


def test_elements_are_those_of_the_schema(root):
    """Attributes and order are those that readers expect."""
    for element in root.iter():
        attributes, order = ALLOWED[element.tag]
        places = [order.index(child.tag) for child in element]
        assert set(element.attrib) <= attributes, element.tag
        assert places == sorted(places), element.tag


def test_there_is_a_suite_per_subject_and_a_test_per_item(root, report):
    """The order is that of the report, with one suite for the grid, which has a test per pair."""
    suites = {suite.get("name"): len(suite.findall("testcase")) for suite in root}

    due = {subject.name: len(subject.judged) for subject in report.subjects}
    assert suites == {**due, "the grid": len(report.grid)}


def test_counts_are_those_of_the_tests(root):
    """The counts are correct in every suite and in total."""
    for element in [root, *root]:
        tests = list(element.iter("testcase"))
        assert int(element.attrib["tests"]) == len(tests)
        for attribute, tag in COUNTS.items():
            counted = sum(test.find(tag) is not None for test in tests)
            assert int(element.attrib[attribute]) == counted


def test_failures_and_errors_are_the_unexpected_results(root, report):
    """A CI system fails a run if and only if the kit does."""
    assert int(root.attrib["failures"]) + int(root.attrib["errors"]) == report.unexpected


def test_times_are_seconds(root):
    """Times have a decimal point, and at most three digits after it."""
    times = [element.attrib["time"] for element in root.iter() if "time" in element.attrib]

    assert all(re.fullmatch(r"\d+\.\d{1,3}", time) for time in times)


def test_a_suite_takes_as_long_as_its_subject(root, report):
    """Items run in parallel, so it is not their sum; the total is the sum of the suites."""
    times = {suite.get("name"): float(suite.attrib["time"]) for suite in root}

    due = {subject.name: round(subject.seconds, 3) for subject in report.subjects}
    assert times == {**due, "the grid": 0}
    assert float(root.attrib["time"]) == pytest.approx(sum(due.values()), abs=0.01)


def test_a_suite_says_what_ran_on_what(root, report):
    """They are properties; the grid has many subjects, and none."""
    told = [{one.get("name"): one.get("value") for one in suite.iter("property")} for suite in root]

    about = {"kit": report.kit, "python": report.python, "platform": report.platform}
    due = [
        {"spec": one.spec, "version": one.version, **about, "driver": report.driver}
        for one in report.subjects
    ]
    assert told == [*due, {}]


def test_names_are_unique(root):
    """CI systems track a test by class and name."""
    names = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]

    assert len(set(names)) == len(names)


# ---------------------------------------------------------------- test outcomes


@pytest.mark.parametrize(
    ("status", "standing", "ends"),
    [
        ("pass", "as-expected", []),
        ("not-applicable", "as-expected", [("skipped", None)]),
        ("fail", "as-expected", [("skipped", None)]),
        ("crash", "as-expected", [("skipped", None)]),
        ("fail", "unexpected-failure", [("failure", "fail")]),
        ("raised", "unexpected-failure", [("error", "raised")]),
        ("crash", "unexpected-failure", [("error", "crash")]),
        ("hang", "unexpected-failure", [("error", "hang")]),
        ("exit", "unexpected-failure", [("error", "exit")]),
        ("broken-subject", "unexpected-failure", [("error", "broken-subject")]),
        ("pass", "unexpected-pass", [("failure", "unexpected-pass")]),
    ],
)
def test_a_test_ends_as_its_item(one_test, status, standing, ends):
    """Failures are findings of a check, and errors are exceptions of the library."""
    assert [(child.tag, child.get("type")) for child in one_test(ITEM, status, standing)] == ends


def test_a_failure_says_all(one_test):
    """The XML alone is sufficient to act on a failure."""
    texts = {"evidence": "named\nx", "output": "said"}

    test = one_test(ITEM, "fail", "unexpected-failure", texts)

    failure = test.find("failure")
    assert failure.get("message") == "DLP-CAP-1 MUST: named x"
    for words in ("due: A capsule is", "found: named\nx", "do: Name it.", "again: interchange che"):
        assert words in failure.text
    assert test.findtext("system-out") == "said"


def test_a_known_failure_says_why(one_test):
    """The reason is in the message of the skipped test."""
    why = {"reason": "it is old", "link": "https://a"}

    skipped = one_test(ITEM, "fail", "as-expected", why).find("skipped")

    assert skipped.get("message") == "known: it is old https://a"


def test_a_subject_that_could_not_be_judged_is_an_error(written):
    """Otherwise a suite without tests would pass."""
    root = parse(written(as_junit, broken="no module"))

    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert root.find("testsuite/testcase/error[@message='no module']") is not None


# ---------------------------------------------------------------- characters


@given(text=st.text(st.characters(codec=None), max_size=40))
def test_any_text_is_xml(make_small, small_catalogue, text):
    """A parser can read the XML for all texts of a library."""
    standing = "unexpected-failure"
    verdict = Verdict("mylib", f"{ITEM}[{text}]", "fail", text, text or "x")
    report = make_small(Judged(verdict, standing, text, text), name=text, spec=text, version=text)

    root = parse(as_junit(report, small_catalogue))

    assert root.find("testsuite/testcase/failure") is not None


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\x00\x1b[0m", "\\x00\\x1b[0m"), ("\ufffe", "\\ufffe"), ("\ud800", "\\ud800")],
)
def test_what_xml_cannot_hold_is_written_out(one_test, text, shown):
    """Such characters are part of the evidence, and not left out."""
    test = one_test(ITEM, "pass", "as-expected", {"output": text})

    assert test.findtext("system-out") == shown


OTHER_REPORTS = """
import sys, interchange_conformance.cli.command as command
from interchange_conformance.reports import as_json, badge, markdown, terminal
command.main(['check', 'numpy', '--list', '--only', 'exports_are_capsules'])
print('junitparser' in sys.modules)
"""


@pytest.mark.isolated
def test_the_library_is_imported_for_this_report_only(run_isolated):
    """A run without ``--junit`` does not need junitparser."""
    *listed, loaded = run_isolated(OTHER_REPORTS, warnings="default").splitlines()

    assert "exports_are_capsules" in listed[0]
    assert loaded == "False"


# ---------------------------------------------------------------- the grid


@pytest.mark.parametrize(
    ("status", "tag"),
    [
        ("shared", None),
        ("copied", None),
        ("refused", "skipped"),
        ("wrong", "failure"),
        ("crash", "error"),
        ("hang", "error"),
    ],
)
def test_an_exchange_ends_as_a_test(written, status, tag):
    """A refused array passes; a wrong one fails."""
    root = parse(written(as_junit, grid=(Exchange("a.b", "mylib", status, "what came"),)))

    test = root.find("testsuite[@name='the grid']/testcase")
    assert (test.get("classname"), test.get("name")) == ("grid.a-b", "to mylib")
    assert [child.tag for child in test] == ([tag] if tag else [])
    assert all("what came" in child.get("message", "") for child in test)
