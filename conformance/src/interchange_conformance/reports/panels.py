"""The sections of the page beside its tables of verdicts: libraries, findings, known failures.

Source: interchange.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .markup import mark, scroll, section, severity_mark, text_of
from .states import GROUPS, count, state_of
from .tabulating import HEADINGS, cause_of, known_failures_of, unexpected_of
from .texts import again, cases, one_line, printable, safe_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .catalogue import Catalogue
    from .markup import Section
    from .model import Judged, Report, SubjectReport
    from .states import Group
    from .tabulating import KnownFailure

# ---------------------------------------------------------------- libraries


def libraries(report: Report, catalogue: Catalogue) -> Section:
    """Return the table of what was judged, with a bar for how it went.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue
        What was looked for.
    """
    heads = "".join(
        f'<th scope="col" class="number">{escape(word)}</th>' for word in GROUPS.values()
    )
    rows = "".join(_library(subject, catalogue) for subject in report.subjects)
    table = (
        '<table class="libraries"><thead><tr><th scope="col">Library</th>'
        f'{heads}<th scope="col"><span class="unseen">Share of each</span></th>'
        f'<th scope="col">Judged as</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    return section("libraries", "Libraries", scroll("Libraries", table))


def _library(subject: SubjectReport, catalogue: Catalogue) -> str:
    """Return the row of a library."""
    name = one_line(subject.name)
    roles = ", ".join(
        heading.partition(" ")[0].lower()
        for role, heading in HEADINGS.items()
        if catalogue.of_role(subject, role)
    )
    counts = count(subject.judged)
    if subject.broken:
        why = f"{mark('✗', 'could not be judged:')} {text_of(subject.broken)}"
        cells = f'<td colspan="{len(GROUPS) + 2}" class="unexpected">{why}</td>'
    else:
        numbers = "".join(
            f'<td class="number {group if number else "zero"}">{number}</td>'
            for group, number in counts.items()
        )
        cells = f"{numbers}<td>{_bar(counts)}</td><td>{roles}</td>"
    return (
        f'<tr data-library="{escape(name)}"><th scope="row">{escape(name)} '
        f"<small>{text_of(subject.version)}</small></th>{cells}</tr>"
    )


def _bar(counts: Mapping[Group, int]) -> str:
    """Return a bar of how the parts stand to the whole: what applies, n/a left out."""
    parts = [(group, number) for group, number in counts.items() if group != "not-applicable"]
    whole = sum(number for _, number in parts)
    if not whole:
        return ""
    rectangles, at = [], 0.0
    for group, number in reversed(parts):
        width = 100 * number / whole
        if number:
            rectangles.append(
                f'<rect class="{group}" x="{at:.2f}" width="{width:.2f}" height="8"/>'
            )
        at += width
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(rectangles)}</svg>"
    )


# ---------------------------------------------------------------- findings


def findings(report: Report, catalogue: Catalogue) -> Section | None:
    """Return all that nobody expected, the worst of each library first.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue
        What was looked for.
    """
    cards = "".join(
        _finding(subject, alike, catalogue)
        for subject in report.subjects
        for alike in unexpected_of(subject, catalogue)
    )
    if not cards:
        return None
    return section("unexpected", "Not as expected", f'<div class="cards">{cards}</div>')


def _finding(subject: SubjectReport, alike: tuple[Judged, ...], catalogue: Catalogue) -> str:
    """Return a card of items that ended alike."""
    judged = alike[0]
    check, state, verdict = catalogue.check_of(judged), state_of(judged), judged.verdict
    name = escape(one_line(subject.name))
    facts = {
        "Found": _pre(verdict.evidence),
        "Cause": text_of(cause_of(alike)),
        "Printed": _folded(verdict.output),
        "Known as": _why(judged.reason, judged.link),
        "Do": text_of(
            "Take it out of the list of known failures."
            if state.key == "now-passes"
            else check.advice
        ),
        "Source": text_of(check.source),
        "Again": f"<code>{text_of(again(subject.spec, verdict.item))}</code>",
    }
    rows = "".join(f"<dt>{term}</dt><dd>{told}</dd>" for term, told in facts.items() if told)
    about = (
        f'data-library="{name}" data-area="{escape(check.area)}" '
        f'data-severity="{check.severity}" data-status="{state.group}"'
    )
    title = (
        f'<span class="chip-state {state.group}">{mark(state.symbol, state.word)}</span> {name} '
        f'<span class="name">{escape(check.rule)}</span> {severity_mark(check.severity)}'
    )
    return (
        f'<article class="card {state.group}" {about}><h3>{title}</h3>'
        f'<p>{text_of(check.claim)}</p><ul class="items">{_items(alike)}</ul>'
        f"<dl>{rows}</dl></article>"
    )


def _items(judged: Iterable[Judged]) -> str:
    """Return the names of items, as a list."""
    return "".join(f"<li><code>{text_of(one.verdict.item)}</code></li>" for one in judged)


def _pre(words: str) -> str:
    """Return text with its line breaks."""
    return f"<pre>{text_of(words)}</pre>" if words.strip() else ""


def _folded(words: str) -> str:
    """Return text with its line breaks, behind the number of its lines."""
    count = len(words.strip().splitlines())
    summary = f"<summary>{count} line{'s' if count != 1 else ''}</summary>"
    return f"<details>{summary}{_pre(words)}</details>" if count else ""


def _why(reason: str, link: str) -> str:
    """Return why a failure is known."""
    if not safe_link(link):
        return text_of(" ".join(filter(None, (reason, link))))
    address = escape(printable(link))
    return f'{text_of(reason)} <a href="{address}" rel="noreferrer">{address}</a>'


def known(report: Report, catalogue: Catalogue) -> Section | None:
    """Return the table of known failures.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue
        What was looked for.
    """
    rows = "".join(
        _known(subject, one)
        for subject in report.subjects
        for one in known_failures_of(subject, catalogue)
    )
    if not rows:
        return None
    table = (
        '<table class="known-failures"><thead><tr><th scope="col">Library</th>'
        '<th scope="col">Rule</th><th scope="col">What it does</th>'
        f'<th scope="col">Releases</th><th scope="col">Checks</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    note = (
        '<p class="note">Failures with a reason. A run fails when one of them happens no more.</p>'
    )
    return section("known", "Known failures", note + scroll("Known failures", table))


def _known(subject: SubjectReport, one: KnownFailure) -> str:
    """Return the row of one known failure."""
    name = escape(one_line(subject.name))
    items = "".join(
        f"<li><code>{text_of(check)}</code>{cases(number)}</li>" for check, number in one.checks
    )
    return (
        f'<tr data-library="{name}" data-area="{escape(one.area)}" '
        f'data-severity="{one.severity}" data-status="known"><th scope="row">{name}</th>'
        f'<td><span class="name">{escape(one.rule)}</span> {severity_mark(one.severity)}</td>'
        f"<td>{_why(one.reason, one.link)}</td><td>{text_of(one.releases) or 'all'}</td>"
        f'<td><ul class="items">{items}</ul></td></tr>'
    )
