"""The matrix on a terminal: a table as wide as there is room for, and the reasons underneath.

Columns that find no room go into a further block by hand: rich, which may be
missing, squeezes them instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .matrix import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .reports import (
    ASCII_SYMBOLS,
    SYMBOLS,
    meaning_of,
    number_reasons,
    place,
    reason_of,
    releases,
    remarks,
    summary,
)
from .terminal import GAP, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .matrix import Cell as Found, Matrix
    from .reports import Reason
    from .subjects import Subject
    from .terminal import Cell

_STYLES: Final = {SHARED: "green", COPIED: "yellow", REFUSED: "magenta", FAILED: "bold red"}
_CORNER: Final = "from \\ to"


def show(matrix: Matrix) -> None:
    """Print a matrix on standard output."""
    out = Terminal()
    symbols = ASCII_SYMBOLS if out.is_ascii else SYMBOLS
    numbers = number_reasons(matrix)
    for columns in _blocks(matrix, out.width, len(str(len(numbers)))):
        head = [_CORNER, *(consumer.short for consumer in columns)]
        out.table(head, _rows(matrix, columns, symbols, numbers))
        out.line()
    for verdict in VERDICTS:
        if matrix.count(verdict):
            sign = f"{symbols[verdict]} {verdict}:"
            out.text(meaning_of(verdict, matrix), label=(sign, _STYLES[verdict]))
    out.line()
    _print_list(out, [(f"{number}", str(reason)) for reason, number in numbers.items()])
    _print_list(out, [("left out:", f"{name} ({why})") for name, why in matrix.absent.items()])
    if matrix.device != "cpu":
        out.text(place(matrix))
    out.text(" ".join(remarks(matrix)))
    out.text(releases(matrix))
    out.text(summary(matrix), style="" if matrix.ok else _STYLES[FAILED])


def _blocks(matrix: Matrix, width: int, digits: int) -> Iterator[Sequence[Subject]]:
    """Yield the columns that have room beside the names of the rows [characters]."""
    names = [_CORNER, *(sample.subject.name for sample in matrix.samples)]
    room = width - max(map(len, names))
    block: list[Subject] = []
    used = 0
    for consumer in matrix.consumers:
        wide = GAP + max(GAP + digits, *map(len, consumer.short.split("\n")))
        if block and used + wide > room:
            yield block
            block, used = [], 0
        block.append(consumer)
        used += wide
    if block:
        yield block


def _rows(
    matrix: Matrix,
    columns: Sequence[Subject],
    symbols: dict[str, str],
    numbers: dict[Reason, int],
) -> Iterator[list[Cell]]:
    """Yield the rows of a table of some of the columns."""
    for sample in matrix.samples:
        name = sample.subject.name
        found = (matrix.cells[name, consumer.name] for consumer in columns)
        yield [(name, ""), *(_cell(one, symbols, numbers) for one in found)]


def _cell(found: Found, symbols: dict[str, str], numbers: dict[Reason, int]) -> Cell:
    """Return a symbol, with the number of its reason."""
    reason = reason_of(found)
    text = symbols[found.verdict] + ("" if reason is None else f" {numbers[reason]}")
    return text, _STYLES[found.verdict]


def _print_list(out: Terminal, items: list[tuple[str, str]]) -> None:
    """Print labelled texts, wrapped beside their labels."""
    wide = max((len(label) + 1 for label, _ in items), default=0)
    for label, text in items:
        out.text(text, label=(label, ""), width=wide)
    if items:
        out.line()
