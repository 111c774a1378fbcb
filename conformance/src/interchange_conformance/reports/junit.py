"""A report as JUnit XML, which systems that run tests show as tests.

Source: the schema of the Jenkins xUnit plugin (junit-10.xsd), which others follow; XML 1.0, Char.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from interchange._reports.texts import one_line, printable
from interchange_conformance.findings import BAD

from .catalogue import catalogue_of
from .states import state_of
from .texts import again

if TYPE_CHECKING:
    from .catalogue import Catalogue, CheckFacts
    from .model import Exchange, Judged, Report, SubjectReport

_ILLEGAL: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML may hold, not even escaped; and \\r, which readers turn into a line break."""
_JUDGED: Final = "subject_can_be_judged"
"""Name of the test that fails where a subject could not be judged at all."""


def as_junit(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report as JUnit XML: a suite per subject, a test per item; one more for the grid.

    What a subject has not is skipped, and so are a known failure, with its reason, and a QUIRK.
    An unexpected failure is a failure where a check found it, and an error where the library
    raised, crashed, hung or ended; a known failure that happens no more is a failure.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue, optional
        What was looked for; out of the registry when left out.
    """
    known = catalogue or catalogue_of(report)
    suites = [_suite(subject, report, known) for subject in report.subjects]
    if report.grid:
        suites.append(_suite_of("the grid", list(map(_exchange, report.grid)), 0.0))
    root = ET.Element("testsuites", {"name": "interchange check", **_sum(suites)})
    root.extend(suites)
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _legal(text: str) -> str:
    """Return text that XML can hold, what it cannot written out."""
    return _ILLEGAL.sub(lambda found: printable(found[0]), printable(text))


def _sum(suites: list[ET.Element]) -> dict[str, str]:
    """Return the counts of all suites."""
    counts = {
        name: str(sum(int(suite.attrib[name]) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
    seconds = sum(float(suite.attrib["time"]) for suite in suites)
    return {**counts, "time": f"{seconds:.3f}"}


def _suite(subject: SubjectReport, report: Report, catalogue: Catalogue) -> ET.Element:
    """Return the suite of one subject."""
    tests = [_test(subject, one, catalogue) for one in subject.judged]
    if subject.broken:
        tests.insert(0, _broken(subject))
    suite = _suite_of(subject.name, tests, subject.seconds)
    suite.insert(0, _properties(subject, report))
    return suite


def _suite_of(name: str, tests: list[ET.Element], seconds: float) -> ET.Element:
    """Return a suite of tests."""
    suite = ET.Element("testsuite", {"name": _legal(one_line(name)), "tests": "0"})
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(test.find(tag) is not None for test in tests)))
    suite.set("tests", str(len(tests)))
    suite.set("time", f"{seconds:.3f}")
    suite.extend(tests)
    return suite


def _properties(subject: SubjectReport, report: Report) -> ET.Element:
    """Return what was run on what."""
    properties = ET.Element("properties")
    facts = {
        "spec": subject.spec, "version": subject.version, "kit": report.kit,
        "python": report.python, "platform": report.platform, "driver": report.driver,
    }  # fmt: skip
    for name, value in facts.items():
        ET.SubElement(properties, "property", {"name": name, "value": _legal(value)})
    return properties


def _test(subject: SubjectReport, judged: Judged, catalogue: Catalogue) -> ET.Element:
    """Return the test of one item."""
    check, verdict = catalogue.check_of(judged), judged.verdict
    test = ET.Element(
        "testcase",
        {
            "classname": f"{_dotless(subject.name)}.{check.role}.{check.area}",
            "name": _legal(verdict.item),
            "time": f"{verdict.seconds:.3f}",
        },
    )
    if judged.standing == "unexpected-pass":
        message = f"a known failure that happens no more: {judged.reason}"
        _add(test, "failure", "unexpected-pass", message, _details(subject, judged, check))
    elif judged.standing == "unexpected-failure":
        tag = "failure" if verdict.status == "fail" else "error"
        message = f"{check.rule} {check.severity}: {verdict.evidence or check.claim}"
        _add(test, tag, verdict.status, message, _details(subject, judged, check))
    elif judged.standing == "allowed" and verdict.status in BAD:
        _add(test, "skipped", "", f"{check.rule} {check.severity}: {verdict.evidence}", "")
    elif verdict.status in BAD:
        reason = " ".join(filter(None, (judged.reason, judged.link)))
        _add(test, "skipped", "", f"known: {reason}", verdict.evidence)
    elif verdict.status == "not-applicable":
        _add(test, "skipped", "", f"not applicable: {verdict.evidence}", "")
    if verdict.output:
        ET.SubElement(test, "system-out").text = _legal(verdict.output)
    return test


def _exchange(one: Exchange) -> ET.Element:
    """Return the test of one cell of the grid."""
    names = (_dotless(one.producer), _legal(one_line(one.consumer)))
    test = ET.Element(
        "testcase",
        {"classname": f"grid.{names[0]}", "name": f"to {names[1]}", "time": "0.000"},
    )
    if one.is_bad:
        tag = "failure" if one.status == "wrong" else "error"
        _add(test, tag, one.status, f"{one.status}: {one.evidence}", one.evidence)
    elif one.status == "refused":
        _add(test, "skipped", "", f"refused: {one.evidence}", "")
    return test


def _dotless(name: str) -> str:
    """Return a name as one part of a dotted one."""
    return _legal(one_line(name)).replace(".", "-")


def _add(test: ET.Element, tag: str, kind: str, message: str, text: str) -> None:
    """Add how a test ended."""
    ended = ET.SubElement(test, tag, {"message": _legal(one_line(message))})
    if kind:
        ended.set("type", kind)
    ended.text = _legal(text) or None


def _details(subject: SubjectReport, judged: Judged, check: CheckFacts) -> str:
    """Return all that somebody has to know who only sees the XML."""
    rows = {
        "status": state_of(judged).word,
        "due": check.claim,
        "found": judged.verdict.evidence,
        "do": check.advice,
        "source": check.source,
        "again": again(subject.spec, judged.verdict.item),
    }
    return "\n".join(f"{name}: {value}" for name, value in rows.items() if value)


def _broken(subject: SubjectReport) -> ET.Element:
    """Return the test that fails where a subject could not be judged."""
    name = _dotless(subject.name)
    test = ET.Element(
        "testcase", {"classname": f"{name}.subject", "name": _JUDGED, "time": "0.000"}
    )
    _add(test, "error", "broken-subject", subject.broken, subject.broken)
    return test
