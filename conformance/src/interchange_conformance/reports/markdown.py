"""A report as Markdown, for documentation: verdict tables, the grid, and known failures.

Source: CommonMark 0.31 and the tables of GitHub's dialect.  The text is written without a library
because cells contain code, links and notes, with different escapes for each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .catalogue import catalogue_of, check_name
from .states import GROUPS, STATES, count, state_of
from .tabulating import HEADINGS, OUTCOMES, grid_of, known_failures_of, tables, unexpected_of
from .texts import again, cases, one_line, safe_link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .catalogue import Catalogue
    from .model import Judged, Report, SubjectReport
    from .tabulating import Row, Table

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|$#~&])")
_RULE_ID: Final = re.compile(r"[A-Z0-9]+(?:-[A-Z0-9]+)+")


def as_markdown(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report as Markdown, with headings of the second and third level."""
    known = catalogue or catalogue_of(report)
    command = " ".join(["interchange check", *(one_line(one.spec) for one in report.subjects)])
    command = command.replace("--", "- -").replace("<", "").replace(">", "")  # for a comment
    hardly = [
        f"**{plain(one.name)}**: {plain(one.hardly)}. Nothing follows from what passes."
        for one in report.subjects
        if one.hardly
    ]
    parts = [
        f"<!-- Written by: {command} --markdown FILE -->",
        summary(report),
        _list(hardly, "## Hardly judged"),
        _list(_unexpected(report, known), "## Unexpected"),
        *(rules_table(table) for table in tables(report, known)),
        grid_table(report),
        known_failures(report, known),
        _place(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(report: Report) -> str:
    """Return the table of subjects, with the number of items per status."""
    rows = [
        [
            f"**{plain(subject.name)}**",
            plain(subject.version),
            *(
                [str(number) for number in count(subject.judged).values()]
                if not subject.broken
                else [f"could not be judged: {plain(subject.broken)}", *[""] * (len(GROUPS) - 1)]
            ),
        ]
        for subject in report.subjects
    ]
    return _table(["Library", "Release", *(name.capitalize() for name in GROUPS.values())], rows)


def _place(report: Report) -> str:
    """Return the versions and the platform of the run."""
    where = f"Python {plain(report.python)} on {plain(report.platform)}"
    return f"interchange {plain(report.kit)}; {where}; CUDA driver: {report.driver}."


# ---------------------------------------------------------------- by rule


def rules_table(table: Table) -> str:
    """Return the verdicts of one role, with a table per area, below a heading."""
    head = ["Rule", "Severity", *(plain(subject.name) for subject in table.subjects)]
    parts = [f"## {HEADINGS[table.role]}", _legend(table)]
    for block in table.blocks:
        parts += [f"### {plain(block.heading)}", _table(head, map(_row, block.rows))]
    return "\n\n".join(parts)


def _legend(table: Table) -> str:
    """Return the meanings of the words that occur in a table."""
    cells = [cell for block in table.blocks for row in block.rows for cell in row.cells]
    used = {cell.state.key for cell in cells if cell.state}
    return "\n".join(
        f"- {state.symbol} {state.word}: {state.meaning}" for state in STATES if state.key in used
    )


def _row(row: Row) -> list[str]:
    """Return the row of one rule."""
    words = f"{_rule(row.rule.id)}: {plain(row.says)}"
    states = [cell.state for cell in row.cells]
    cells = [f"{state.symbol} {state.word}" if state else "" for state in states]
    return [words, row.severity, *cells]


def _rule(rule: str) -> str:
    """Return a rule's id, unquoted if it has the usual form, so that the docs can link it."""
    return rule if _RULE_ID.fullmatch(rule) else plain(rule)


# ---------------------------------------------------------------- producers by consumers


def grid_table(report: Report) -> str:
    """Return producers by consumers; empty without ``--grid``."""
    grid = grid_of(report)
    if not grid.cells:
        return ""
    rows = []
    for producer in grid.producers:
        found = [grid.cells.get((producer, consumer)) for consumer in grid.consumers]
        told = [f"{OUTCOMES[one.status].symbol} {one.status}" if one else "" for one in found]
        rows.append([f"**{plain(producer)}**", *told])
    used = {one.status for one in report.grid}
    legend = "\n".join(
        f"- {outcome.symbol} {status}: {outcome.meaning}"
        for status, outcome in OUTCOMES.items()
        if status in used
    )
    head = ["from ↓ to →", *map(plain, grid.consumers)]
    return f"## Producers by consumers\n\n{legend}\n\n{_table(head, rows)}"


# ---------------------------------------------------------------- findings


def known_failures(report: Report, catalogue: Catalogue) -> str:
    """Return the known failures, with a table per library, below a heading.

    Checks that are known to fail for the same reason share a line.
    """
    parts = []
    for subject in report.subjects:
        rows = [
            [
                _rule(one.rule),
                one.severity,
                _reason(one.reason, one.link),
                plain(one.releases) or "all",
                ", ".join(f"{_code(name)}{cases(number)}" for name, number in one.checks),
            ]
            for one in known_failures_of(subject, catalogue)
        ]
        if rows:
            head = ["Rule", "Severity", "What it does", "Releases", "Checks"]
            parts += [f"### {plain(subject.name)}", _table(head, rows)]
    return "\n\n".join(["## Known failures", *parts]) if parts else ""


def _reason(reason: str, link: str) -> str:
    """Return the reason of a known failure, with its link if it is a web address."""
    if not safe_link(link):
        return plain(" ".join(filter(None, (reason, link))))
    return f"{plain(reason)} ([discussion](<{_address(link)}>))"


def _address(link: str) -> str:
    """Return an address with escapes for use between angle brackets."""
    for mark, code in {"<": "%3C", ">": "%3E", "|": "%7C", "\\": "%5C", "\n": ""}.items():
        link = link.replace(mark, code)
    return one_line(link)


def _unexpected(report: Report, catalogue: Catalogue) -> list[str]:
    """Return list entries for the unexpected findings."""
    entries = [
        f"**{plain(subject.name)}** could not be judged: {plain(subject.broken)}"
        for subject in report.subjects
        if subject.broken
    ]
    for subject in report.subjects:
        entries += [
            _entry(subject, alike, catalogue) for alike in unexpected_of(subject, catalogue)
        ]
    entries += [
        f"{OUTCOMES[one.status].symbol} {one.status}: **{plain(one.producer)}** to"
        f" **{plain(one.consumer)}**. {plain(one.evidence)}"
        for one in report.grid
        if one.is_bad
    ]
    return entries


def _entry(subject: SubjectReport, alike: tuple[Judged, ...], catalogue: Catalogue) -> str:
    """Return the entry of an unexpected finding."""
    judged = alike[0]
    check, state = catalogue.check_of(judged), state_of(judged)
    evidence = plain(judged.verdict.evidence) or plain(judged.reason)
    command = _code(again(subject.spec, judged.verdict.item))
    return (
        f"{state.symbol} {state.word}: **{plain(subject.name)}**, {_rule(check.rule)} "
        f"({check.severity}). {plain(check.claim)} {evidence} {command}{_more(alike)}"
    )


def _more(alike: tuple[Judged, ...]) -> str:
    """Return the number of further cases of a finding, and its other checks, as text."""
    count = len(alike) - 1
    names = dict.fromkeys(check_name(one.verdict.item) for one in alike)
    if len(names) == 1:
        return f" and {count} more case{'s' if count > 1 else ''}" if count else ""
    others = ", ".join(_code(name) for name in [*names][1:])
    return f" and {count} more items of the same cause, also of {others}"


def _list(entries: list[str], heading: str) -> str:
    """Return a list below a heading; empty without entries."""
    return f"{heading}\n\n" + "\n".join(f"- {entry}" for entry in entries) if entries else ""


# ---------------------------------------------------------------- Markdown


def plain(text: str) -> str:
    r"""Return text with escapes, so that Markdown shows it unchanged, on one line.

    Examples
    --------
    >>> print(plain("*a* | <b>"))
    \*a\* \| \<b\>
    """
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _code(text: str) -> str:
    """Return text as a code span for a table cell."""
    return f"`{one_line(text)}`".replace("|", "\\|") if "`" not in text else plain(text)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
