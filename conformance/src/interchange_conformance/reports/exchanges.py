"""The table of producers by consumers, shared by two pages, as data for its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fact(NamedTuple):
    """A detail of a cell, shown when the cell is opened: text, or code such as an address."""

    term: str
    text: str
    is_code: bool = False


class Cell(NamedTuple):
    """The result of an exchange; a cell without facts cannot be opened."""

    group: str
    symbol: str
    word: str
    facts: Sequence[Fact] = ()


class Row(NamedTuple):
    """The results of one producer, with None for pairs that were not tried."""

    name: str
    about: str
    cells: Sequence[Cell | None]


class Exchanges(NamedTuple):
    """Producers by consumers.

    Attributes
    ----------
    note : str
        Remarks about the table.
    meanings : sequence of tuple
        Group, symbol, word and meaning of the contents of cells.
    consumers : sequence of str
        The columns: names, each on one line.
    rows : sequence of Row
        The rows.
    """

    note: str
    meanings: Sequence[tuple[str, str, str, str]]
    consumers: Sequence[str]
    rows: Sequence[Row]
