"""The tables of verdicts on the page: libraries by rules, and producers by consumers.

Source: interchange.  They are readable before any script runs.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from .markup import breakable, legend, mark, scroll, section, severity_mark, text_of
from .states import STATES
from .tabulating import HEADINGS, OUTCOMES
from .texts import one_line, sentence

if TYPE_CHECKING:
    from .markup import Section
    from .model import Exchange, SubjectReport
    from .tabulating import Block, Cell, Grid, Row, Table

_IDS: Final = {"producer": "producers", "consumer": "consumers", "functions": "functions"}
_NOTES: Final = {
    "producer": "Arrays that a library hands out, rule by rule.",
    "consumer": "Arrays that a library takes from others, rule by rule.",
    "functions": "The functions of a namespace, rule by rule.",
}
_SHARES: Final = "An area shows how many of its results pass, of those that apply."


# ---------------------------------------------------------------- by rule


def rules(table: Table) -> Section:
    """Return the verdicts of one role.

    Parameters
    ----------
    table : Table
        As `tables` returns it.
    """
    key = _IDS[table.role]
    heads = "".join(_head(subject) for subject in table.subjects)
    used = {
        cell.state.key
        for block in table.blocks
        for row in block.rows
        for cell in row.cells
        if cell.state
    }
    meanings = legend(
        (state.group, state.symbol, state.word, state.meaning)
        for state in STATES
        if state.key in used
    )
    bodies = "".join(map(_block, table.blocks))
    html = (
        f'<table class="verdicts" data-role="{table.role}">'
        f'<thead><tr><th scope="col">Rule</th>{heads}</tr></thead>{bodies}</table>'
    )
    note = f'<p class="note">{_NOTES[table.role]} {_SHARES}</p>'
    return section(
        key, HEADINGS[table.role], f"{note}{meanings}{scroll(HEADINGS[table.role], html)}"
    )


def _head(subject: SubjectReport) -> str:
    """Return the head of a column."""
    name = one_line(subject.name)
    version = "" if subject.version == "unknown" else text_of(subject.version)
    return (
        f'<th scope="col" data-library="{escape(name)}">{breakable(name)} '
        f"<small>{version}</small></th>"
    )


def _block(block: Block) -> str:
    """Return an area: a row that sums it up, and its rules."""
    area = escape(block.area)
    sums = "".join(_cell(cell, share=True) for cell in block.cells)
    rows = "".join(map(_row, block.rows))
    count_of = f"{len(block.rows)} rule{'s' if len(block.rows) != 1 else ''}"
    return (
        f'<tbody data-area="{area}"><tr class="area"><th scope="rowgroup">'
        f'<span class="name">{text_of(block.heading)}</span> '
        f'<small class="many">{count_of}</small></th>{sums}</tr>{rows}</tbody>'
    )


def _row(row: Row) -> str:
    """Return the row of a rule."""
    rule = escape(row.rule.id)
    cells = "".join(map(_cell, row.cells))
    return (
        f'<tr class="rule" data-rule="{rule}" data-severity="{row.severity}"><th scope="row">'
        f'<span class="name">{rule}</span> {severity_mark(row.severity)} '
        f'<span class="says">{text_of(sentence(row.rule.text))}</span></th>{cells}</tr>'
    )


def _cell(cell: Cell, *, share: bool = False) -> str:
    """Return a cell: symbol and word, or for an area symbol and share."""
    if cell.state is None:
        return "<td></td>"
    state, of = cell.state, f"{cell.passed}/{cell.applicable}"
    shown = f'<span class="unseen">{state.word}, </span><span>{of}</span>'
    return (
        f'<td class="{state.group}" data-state="{state.key}" data-of="{of}">'
        f'<i aria-hidden="true">{state.symbol}</i> '
        f"{shown if share and cell.applicable else f'<span>{state.word}</span>'}</td>"
    )


# ---------------------------------------------------------------- producers by consumers


def grid(table: Grid) -> Section | None:
    """Return producers by consumers.

    Parameters
    ----------
    table : Grid
        As `grid_of` returns it.
    """
    if not table.cells:
        return None
    heads = "".join(
        f'<th scope="col" data-library="{text_of(name)}">{breakable(name)}</th>'
        for name in map(one_line, table.consumers)
    )
    rows = "".join(
        f'<tr class="rule" data-library="{text_of(one_line(producer))}">'
        f'<th scope="row"><span class="name">{text_of(one_line(producer))}</span></th>'
        + "".join(_exchange(table.cells.get((producer, consumer))) for consumer in table.consumers)
        + "</tr>"
        for producer in table.producers
    )
    html = (
        '<table class="verdicts exchanges" data-role="grid"><thead><tr>'
        f'<th scope="col">From <span aria-hidden="true">↓</span> to '
        f'<span aria-hidden="true">→</span></th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    )
    used = {one.status for one in table.cells.values()}
    meanings = legend(
        (outcome.group, outcome.symbol, status, outcome.meaning)
        for status, outcome in OUTCOMES.items()
        if status in used
    )
    note = '<p class="note">An array of each library, taken by each other.</p>'
    return section(
        "grid",
        "Producers by consumers",
        f"{note}{meanings}{scroll('Producers by consumers', html)}",
    )


def _exchange(one: Exchange | None) -> str:
    """Return a cell of the grid."""
    if one is None:
        return "<td></td>"
    outcome = OUTCOMES[one.status]
    return f'<td class="{outcome.group}">{mark(outcome.symbol, one.status)}</td>'
