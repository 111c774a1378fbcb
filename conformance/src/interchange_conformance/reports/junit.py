"""A report as JUnit XML, which CI systems show as tests.

Source: the schema of the Jenkins xUnit plugin (junit-10.xsd), which others follow; XML 1.0, Char.
The XML is written by junitparser, whose callers must remove characters that XML forbids.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from interchange_conformance.findings import BAD

from .catalogue import catalogue_of
from .states import state_of
from .texts import again, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from junitparser.junitparser import FinalResult

    from .catalogue import Catalogue, CheckFacts
    from .model import Exchange, Judged, Report, SubjectReport

_ILLEGAL: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids even when escaped; and \\r, which readers turn into a line break."""
_JUDGED: Final = "subject_can_be_judged"
"""Name of the test that fails if a subject could not be judged, or was hardly judged."""
_DIGITS: Final = 3  # decimal places of a time [seconds]


def as_junit(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report as JUnit XML: a suite per subject, a test per item; one more for the grid.

    Items that do not apply, known failures (with their reason) and QUIRKs are skipped.
    An unexpected failure is a failure if a check found it, and an error if the library raised,
    crashed, hung or exited; a known failure that no longer happens is a failure.
    """
    known = catalogue or catalogue_of(report)
    root = JUnitXml("interchange check")
    root.extend(_suite(subject, report, known) for subject in report.subjects)
    if report.grid:
        root.append(_suite_of("the grid", map(_exchange, report.grid)))
    root.update_statistics()
    _set_times(root, [subject.seconds for subject in report.subjects])
    written = io.BytesIO()
    root.write(written, pretty=True)
    return written.getvalue().decode()


def _legal(text: str) -> str:
    """Return text with characters that XML forbids escaped."""
    return _ILLEGAL.sub(lambda found: printable(found[0]), printable(text))


def _line(text: str) -> str:
    """Return text for an attribute: on one line."""
    return _legal(one_line(text))


def _set_times(root: JUnitXml, seconds: list[float]) -> None:
    """Set the times of the suites: less than the sums of their tests, which run in parallel."""
    for suite, time in zip(root, seconds, strict=False):
        suite.time = round(time, _DIGITS)
    root.time = round(sum(seconds), _DIGITS)


def _suite(subject: SubjectReport, report: Report, catalogue: Catalogue) -> TestSuite:
    """Return the suite of one subject."""
    tests = [_broken(subject, subject.broken)] if subject.broken else []
    tests += [_broken(subject, f"hardly judged: {subject.hardly}")] if subject.hardly else []
    tests += [_test(subject, one, catalogue) for one in subject.judged]
    facts = {
        "spec": subject.spec, "version": subject.version, "kit": report.kit,
        "python": report.python, "platform": report.platform, "driver": report.driver,
    }  # fmt: skip
    return _suite_of(subject.name, tests, facts)


def _suite_of(
    name: str, tests: Iterable[TestCase], facts: Mapping[str, str] | None = None
) -> TestSuite:
    """Return a suite of tests, with properties that describe the run: these come first."""
    suite = TestSuite(_line(name))
    for fact, value in (facts or {}).items():
        suite.add_property(fact, _line(value))
    suite.extend(tests)
    return suite


def _test(subject: SubjectReport, judged: Judged, catalogue: Catalogue) -> TestCase:
    """Return the test of one item."""
    check, verdict = catalogue.check_of(judged), judged.verdict
    parts = f"{_dotless(subject.name)}.{check.role}.{check.area}"
    test = TestCase(_legal(verdict.item), parts, round(verdict.seconds, _DIGITS))
    if judged.standing == "unexpected-pass":
        message = f"a known failure that happens no more: {judged.reason}"
        details = _details(subject, judged, check)
        test.result = _ended(Failure(_line(message), "unexpected-pass"), details)
    elif judged.standing == "unexpected-failure":
        how = Failure if verdict.status == "fail" else Error
        message = f"{check.rule} {check.severity}: {verdict.evidence or check.claim}"
        details = _details(subject, judged, check)
        test.result = _ended(how(_line(message), verdict.status), details)
    elif judged.standing == "allowed" and verdict.status in BAD:
        test.result = Skipped(_line(f"{check.rule} {check.severity}: {verdict.evidence}"))
    elif verdict.status in BAD:
        reason = " ".join(filter(None, (judged.reason, judged.link)))
        test.result = _ended(Skipped(_line(f"known: {reason}")), verdict.evidence)
    elif verdict.status == "not-applicable":
        test.result = Skipped(_line(f"not applicable: {verdict.evidence}"))
    if verdict.output:
        test.system_out = _legal(verdict.output)
    return test


def _exchange(one: Exchange) -> TestCase:
    """Return the test of one cell of the grid."""
    test = TestCase(f"to {_line(one.consumer)}", f"grid.{_dotless(one.producer)}", 0.0)
    if one.is_bad:
        how = Failure if one.status == "wrong" else Error
        test.result = _ended(how(_line(f"{one.status}: {one.evidence}"), one.status), one.evidence)
    elif one.status == "refused":
        test.result = Skipped(_line(f"refused: {one.evidence}"))
    return test


def _dotless(name: str) -> str:
    """Return a name without dots, as one part of a dotted name."""
    return _line(name).replace(".", "-")


def _ended(result: FinalResult, text: str) -> FinalResult:
    """Return the result of a test, with its details."""
    if text:
        result.text = _legal(text)
    return result


def _details(subject: SubjectReport, judged: Judged, check: CheckFacts) -> str:
    """Return the details of a failure, complete for readers of the XML alone."""
    rows = {
        "status": state_of(judged).word,
        "due": check.claim,
        "found": judged.verdict.evidence,
        "do": check.advice,
        "source": check.source,
        "again": again(subject.spec, judged.verdict.item),
    }
    return "\n".join(f"{name}: {value}" for name, value in rows.items() if value)


def _broken(subject: SubjectReport, why: str) -> TestCase:
    """Return the test that fails if a subject could not be judged, or was hardly judged."""
    test = TestCase(_JUDGED, f"{_dotless(subject.name)}.subject", 0.0)
    test.result = _ended(Error(_line(why), "broken-subject"), why)
    return test
