"""The table of producers by consumers, shared by two pages, as data for its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fact(NamedTuple):
    """A detail of a cell, shown when the cell is opened.

    Attributes
    ----------
    term, text : str
        Its name and its value.
    is_code : bool
        Whether it is code: an address, the id of a rule.
    """

    term: str
    text: str
    is_code: bool = False


class Cell(NamedTuple):
    """The result of an exchange.

    Attributes
    ----------
    group : str
        Group that determines its colour.
    symbol, word : str
        Its content.
    facts : sequence of Fact
        Its details; without any, it cannot be opened.
    """

    group: str
    symbol: str
    word: str
    facts: Sequence[Fact] = ()


class Row(NamedTuple):
    """The results of one producer.

    Attributes
    ----------
    name, about : str
        The producer, on one line, and a remark about it.
    cells : sequence of Cell or None
        One per consumer; None for pairs that were not tried.
    """

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
