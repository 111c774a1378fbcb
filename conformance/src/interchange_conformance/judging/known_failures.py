"""Write a file of the known failures of a run, in which a person completes the reasons.

Source: TOML 1.0.  There is one entry per finding, below the evidence of each of its items.  Reasons
are left empty, and `expectations.read` refuses an empty reason, because a person must decide that a
failure is accepted.  Existing entries are kept, unless all of their items pass now.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import BAD
from interchange_conformance.reports.catalogue import catalogue_of
from interchange_conformance.reports.tabulating import cause_of, unexpected_of
from interchange_conformance.reports.texts import one_line, printable

from .expectations import DRIVERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from interchange_conformance.reports.catalogue import Catalogue
    from interchange_conformance.reports.model import Judged, Report, SubjectReport

    from .expectations import Expectation

_WIDTH: Final = 96  # of the text of a comment [columns]
_LINES: Final = 12  # of one evidence, at most


def as_known(report: Report, known: Sequence[Expectation]) -> str:
    """Return a file of known failures: the existing ones and those of a run."""
    (subject,) = report.subjects
    catalogue = catalogue_of(report)
    new = [
        _entry(alike, catalogue)
        for alike in unexpected_of(subject, catalogue)
        if alike[0].standing == "unexpected-failure"
    ]
    old = [_again(one) for one in _kept(known, subject)]
    return "\n\n".join([_head(report, subject, len(new)), *old, *new]) + "\n"


def _head(report: Report, subject: SubjectReport, new: int) -> str:
    """Return the comment above all entries."""
    words = f"Known failures of {one_line(subject.name)} {one_line(subject.version)}"
    where = f"Python {report.python}, CUDA driver: {report.driver}, interchange {report.kit}"
    lines = [f"{words}; {where}."]
    if new:
        lines.append(
            "Fix what can be fixed and remove its entry; give every other a reason, and a link"
            " where there is one. The file is refused as long as a reason is empty."
        )
    return "\n".join(_comment(lines))


# ---------------------------------------------------------------- entries


def _entry(alike: Sequence[Judged], catalogue: Catalogue) -> str:
    """Return the entry of a finding, below its evidence."""
    told: dict[str, list[str]] = {}
    for one in alike:
        told.setdefault(one.verdict.evidence, []).append(one.verdict.item)
    checks = dict.fromkeys(map(catalogue.check_of, alike))
    lines = [f"{check.rule}, {check.severity}: {check.claim}" for check in checks]
    if cause := cause_of(alike):
        lines.append(f"cause: {cause}")
    lines += [f"{', '.join(items)}: {evidence}" for evidence, items in told.items()]
    statuses: list[str] = sorted({one.verdict.status for one in alike})
    items = [one.verdict.item for one in alike]
    entry = {"check": items, "status": statuses, "reason": "", "link": ""}
    return "\n".join([*_comment(lines), *_table(entry)])


def _kept(known: Sequence[Expectation], subject: SubjectReport) -> Iterator[Expectation]:
    """Yield the entries that are kept: all except those whose every item passes now."""
    for one in known:
        met = [judged for judged in subject.judged if one.is_of(judged.verdict.item)]
        gone = [judged for judged in met if judged.standing == "unexpected-pass"]
        if not met or len(gone) < len(met):
            yield one


def _again(one: Expectation) -> str:
    """Return an existing entry unchanged."""
    told: dict[str, Any] = {"check": one.check}
    if one.statuses != BAD:
        told["status"] = sorted(one.statuses)
    told |= {key: text for key in ("releases", "python") if (text := getattr(one, key))}
    if len(one.drivers) < len(DRIVERS):
        told["driver"] = sorted(one.drivers)
    if one.sometimes:
        told["sometimes"] = True
    told |= {"reason": one.reason} | ({"link": one.link} if one.link else {})
    return "\n".join(_table(told))


# ---------------------------------------------------------------- TOML


def _table(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an entry; each element of a list of several has its own line."""
    yield "[[failure]]"
    for key, value in told.items():
        if isinstance(value, list) and len(value) > 1 and key == "check":
            yield f"{key} = ["
            yield from (f"    {_text(one)}," for one in value)
            yield "]"
        elif isinstance(value, list):
            one_of = _text(value[0]) if len(value) == 1 else f"[{', '.join(map(_text, value))}]"
            yield f"{key} = {one_of}"
        else:
            yield f"{key} = {'true' if value is True else _text(str(value))}"


def _text(text: str) -> str:
    """Return a TOML string: the same as in JSON, after invisible characters are escaped."""
    return json.dumps(printable(text), ensure_ascii=False)


def _comment(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts as lines of a comment."""
    for text in texts:
        lines = [
            wrapped
            for line in printable(text).strip().splitlines()
            for wrapped in textwrap.wrap(line.expandtabs(4), _WIDTH, break_on_hyphens=False) or [""]
        ]
        more = len(lines) - _LINES
        shown = lines if more <= 1 else [*lines[: _LINES // 2], "...", *lines[-_LINES // 2 :]]
        yield from (f"# {line}".rstrip() for line in shown)
