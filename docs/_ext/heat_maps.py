"""Heat maps: tables of coloured signs with fixed headers, as HTML.

Source: HTML, "Tabular data"; CSS Positioned Layout 3, "Sticky positioning".  Every sign has a text
for screen readers, and every colour has a sign; ``heat-maps.css`` has the colours for light and
dark.  Needs no Sphinx.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Cell(NamedTuple):
    """The contents of one cell.

    Attributes
    ----------
    kind : str
        The class that gives it its colour; empty for an empty cell.
    sign : str
        One letter or sign.
    words : str
        The meaning of the sign.
    link : str
        Address of the details, if any.
    """

    kind: str
    sign: str
    words: str
    link: str = ""


NOTHING = Cell("", "", "")


class Row(NamedTuple):
    """One row: its head, the link of the head, and its cells; a title has none."""

    head: str
    link: str
    cells: Sequence[Cell]


class Column(NamedTuple):
    """The head of a column, and where it leads."""

    head: str
    link: str = ""


def heat_map(label: str, corner: str, columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """Return a heat map.

    Parameters
    ----------
    label : str
        Its name.
    corner : str
        The text above the heads of the rows.
    columns : sequence of Column
        The heads of the columns.
    rows : iterable of Row
        The rows, and the titles between them.
    """
    heads = "".join(
        f'<th scope="col"><span>{_linked(one.head, one.link)}</span></th>' for one in columns
    )
    body = "\n".join(_row(row, len(columns)) for row in rows)
    return (
        f'<div class="heat-map" role="group" aria-label="{escape(label)}"><table>\n'
        f'<thead><tr><th scope="col">{escape(corner)}</th>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def legend(cells: Iterable[tuple[Cell, str]]) -> str:
    """Return a list of the meanings of cells."""
    entries = "".join(
        f'<li><span class="heat-sign {cell.kind}">{escape(cell.sign)}</span>'
        f"<span>{escape(meaning)}</span></li>"
        for cell, meaning in cells
    )
    return f'<ul class="heat-legend">{entries}</ul>'


def _row(row: Row, width: int) -> str:
    """Return one row."""
    head = _linked(row.head, row.link)
    if not row.cells:
        return f'<tr class="title"><th scope="rowgroup">{head}</th><td colspan="{width}"></td></tr>'
    return f'<tr><th scope="row">{head}</th>{"".join(map(_cell, row.cells))}</tr>'


def _cell(cell: Cell) -> str:
    """Return one cell."""
    if not cell.sign:
        return "<td></td>"
    said = f'{escape(cell.sign)}<span class="unseen"> {escape(cell.words)}</span>'
    shown = f'<a href="{escape(cell.link)}">{said}</a>' if cell.link else said
    return f'<td class="{cell.kind}" title="{escape(cell.words)}">{shown}</td>'


def _linked(text: str, link: str) -> str:
    """Return text, which leads somewhere or nowhere."""
    return f'<a href="{escape(link)}">{escape(text)}</a>' if link else escape(text)
