"""The sections of the page as data: libraries, rules, exchanges, findings and known failures.

Templates in the folder ``page`` write them; no script is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from . import exchanges
from .pages import Section
from .states import GROUPS, STATES, count, state_of
from .tabulating import (
    HEADINGS,
    OUTCOMES,
    cause_of,
    grid_of,
    known_failures_of,
    tables,
    unexpected_of,
)
from .texts import again, cases, one_line, safe_link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interchange_conformance.findings import Verdict

    from .catalogue import Catalogue, CheckFacts
    from .model import Exchange, Judged, Report, SubjectReport
    from .states import Group, State
    from .tabulating import Block, KnownFailure, Table

_IDS: Final = {
    "producer": "producers",
    "consumer": "consumers",
    "arrow_producer": "arrow-producers",
    "arrow_consumer": "arrow-consumers",
}
_NOTES: Final = {
    "producer": "Arrays that a library hands out, rule by rule.",
    "consumer": "Arrays that a library takes from others, rule by rule.",
    "arrow_producer": "Columns that a library hands out as Arrow, rule by rule.",
    "arrow_consumer": "Columns of Arrow that a library takes from others, rule by rule.",
}


def sections(report: Report, catalogue: Catalogue) -> list[Section]:
    """Return each section that is not empty."""
    libraries = Libraries(GROUPS, [_library(one, catalogue) for one in report.subjects])
    found = [
        _finding(subject, alike, catalogue)
        for subject in report.subjects
        for alike in unexpected_of(subject, catalogue)
    ]
    known = [
        _known(subject, one)
        for subject in report.subjects
        for one in known_failures_of(subject, catalogue)
    ]
    made = [
        Section("libraries", "Libraries", "libraries.html", libraries),
        *(
            Section(_IDS[one.role], HEADINGS[one.role], "rules.html", _rules(one))
            for one in tables(report, catalogue)
        ),
    ]
    if report.grid:
        made.append(Section("grid", "Producers by consumers", "exchanges.html", _grid(report)))
    if found:
        made.append(Section("unexpected", "Not as expected", "findings.html", found))
    if known:
        made.append(Section("known", "Known failures", "known.html", known))
    return made


# ---------------------------------------------------------------- libraries


class Library(NamedTuple):
    """A library that was judged, and its results.

    `bar` has the group, start and width of each part of a bar [percent].
    """

    name: str
    version: str
    broken: str
    counts: Mapping[Group, int]
    bar: Sequence[tuple[Group, float, float]]
    roles: str
    hardly: str


class Libraries(NamedTuple):
    """The libraries that were judged."""

    groups: Mapping[Group, str]
    libraries: Sequence[Library]


def _library(subject: SubjectReport, catalogue: Catalogue) -> Library:
    """Return the row of a library."""
    roles = ", ".join(
        heading.partition(" ")[0].lower()
        for role, heading in HEADINGS.items()
        if catalogue.of_role(subject, role)
    )
    counts = count(subject.judged)
    name = one_line(subject.name)
    about = name, subject.version, subject.broken, counts, _bar(counts), roles
    return Library(*about, one_line(subject.hardly))


def _bar(counts: Mapping[Group, int]) -> list[tuple[Group, float, float]]:
    """Return a bar with the proportions of the groups, without items that do not apply."""
    parts = [(group, number) for group, number in counts.items() if group != "not-applicable"]
    whole = sum(number for _, number in parts)
    bars: list[tuple[Group, float, float]] = []
    at = 0.0
    for group, number in reversed(parts):
        width = 100 * number / (whole or 1)
        if number:
            bars.append((group, at, width))
        at += width
    return bars


# ---------------------------------------------------------------- by rule


class Rules(NamedTuple):
    """The verdicts of one role; `meanings` has group, symbol, word and meaning of each state."""

    role: str
    note: str
    meanings: Sequence[tuple[str, str, str, str]]
    heads: Sequence[tuple[str, str]]
    blocks: Sequence[Block]


def _rules(table: Table) -> Rules:
    """Return the verdicts of one role."""
    used = {
        cell.state.key
        for block in table.blocks
        for row in block.rows
        for cell in row.cells
        if cell.state
    }
    meanings = [
        (state.group, state.symbol, state.word, state.meaning)
        for state in STATES
        if state.key in used
    ]
    heads = [
        (one_line(one.name), "" if one.version == "unknown" else one.version)
        for one in table.subjects
    ]
    return Rules(table.role, _NOTES[table.role], meanings, heads, table.blocks)


# ---------------------------------------------------------------- producers by consumers


def _grid(report: Report) -> exchanges.Exchanges:
    """Return producers by consumers."""
    table = grid_of(report)
    used = {one.status for one in table.cells.values()}
    rows = [
        exchanges.Row(
            one_line(producer),
            "",
            [_exchange(table.cells.get((producer, consumer))) for consumer in table.consumers],
        )
        for producer in table.producers
    ]
    return exchanges.Exchanges(
        "An array of each library, taken by each other.",
        [(one.group, one.symbol, word, one.meaning) for word, one in OUTCOMES.items()
         if word in used],
        [one_line(name) for name in table.consumers],
        rows,
    )  # fmt: skip


def _exchange(one: Exchange | None) -> exchanges.Cell | None:
    """Return a cell of the grid; the script shows its details."""
    if one is None:
        return None
    outcome = OUTCOMES[one.status]
    return exchanges.Cell(outcome.group, outcome.symbol, one.status)


# ---------------------------------------------------------------- findings


class Reason(NamedTuple):
    """The reason of a known failure."""

    text: str
    link: str


class Finding(NamedTuple):
    """An unexpected finding: items with the same result."""

    library: str
    check: CheckFacts
    state: State
    verdict: Verdict
    items: Sequence[str]
    cause: str
    known: Reason
    advice: str
    command: str


def _finding(subject: SubjectReport, alike: tuple[Judged, ...], catalogue: Catalogue) -> Finding:
    """Return items with the same result, the worst of each library first."""
    judged = alike[0]
    check, state, verdict = catalogue.check_of(judged), state_of(judged), judged.verdict
    passes = "Take it out of the list of known failures."
    return Finding(
        one_line(subject.name),
        check,
        state,
        verdict,
        [one.verdict.item for one in alike],
        cause_of(alike),
        _reason(judged.reason, judged.link),
        passes if state.key == "now-passes" else check.advice,
        again(subject.spec, verdict.item),
    )


def _reason(text: str, link: str) -> Reason:
    """Return the reason of a known failure; a link that is not a web address becomes text."""
    if safe_link(link):
        return Reason(text, link)
    return Reason(" ".join(filter(None, (text, link))), "")


class Known(NamedTuple):
    """A known failure of a library; `checks` has each check, and its number of cases as text."""

    library: str
    failure: KnownFailure
    known: Reason
    checks: Sequence[tuple[str, str]]


def _known(subject: SubjectReport, one: KnownFailure) -> Known:
    """Return a known failure."""
    checks = [(name, cases(number)) for name, number in one.checks]
    return Known(one_line(subject.name), one, _reason(one.reason, one.link), checks)
