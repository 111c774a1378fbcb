"""The table of producers by consumers, which two pages have, as data for its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fact(NamedTuple):
    """What a cell tells when it is opened.

    Attributes
    ----------
    term, text : str
        What it is of, and it.
    is_code : bool
        Whether it is for programs: an address, the id of a rule.
    """

    term: str
    text: str
    is_code: bool = False


class Cell(NamedTuple):
    """What became of an array.

    Attributes
    ----------
    group : str
        What gives it its colour.
    symbol, word : str
        What stands in it.
    facts : sequence of Fact
        What is behind it; without any, it does not open.
    """

    group: str
    symbol: str
    word: str
    facts: Sequence[Fact] = ()


class Row(NamedTuple):
    """What became of the arrays of one producer.

    Attributes
    ----------
    name, about : str
        The producer, on one line, and what is said of it.
    cells : sequence of Cell or None
        One per consumer; None where nobody tried.
    """

    name: str
    about: str
    cells: Sequence[Cell | None]


class Exchanges(NamedTuple):
    """Producers by consumers.

    Attributes
    ----------
    note : str
        What a reader should know.
    meanings : sequence of tuple
        Group, symbol, word and meaning of what stands in cells.
    consumers : sequence of str
        The columns: names, each on one line.
    rows : sequence of Row
        The rows.
    """

    note: str
    meanings: Sequence[tuple[str, str, str, str]]
    consumers: Sequence[str]
    rows: Sequence[Row]
