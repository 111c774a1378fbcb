"""The matrix on a terminal: a table that fits its width, and the reasons below it.

Columns that do not fit are printed in a further table.
"""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Final

from interchange_conformance.reports.terminal import Piece, show_lines, terminal_width
from interchange_conformance.reports.texts import printable

from .exchanging import COPIED, FAILED, REFUSED, SHARED, VERDICTS
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interchange_conformance.subject import Kind

    from .exchanging import Cell, Matrix
    from .reports import Reason

_STYLES: Final = {SHARED: "green", COPIED: "yellow", REFUSED: "magenta", FAILED: "bold red"}
_CORNER: Final = "from \\ to"
_GAP: Final = 2  # between columns [characters]
_NARROWEST: Final = 10  # minimum width of wrapped text [columns]


def show(matrix: Matrix) -> None:
    """Print a matrix on standard output."""
    encoding = sys.stdout.encoding or "utf-8"
    symbols = SYMBOLS if encoding.lower().startswith("utf") else ASCII_SYMBOLS
    show_lines(list(_lines(matrix, symbols, terminal_width())))


def _lines(matrix: Matrix, symbols: dict[str, str], width: int) -> Iterator[Sequence[Piece]]:
    """Yield the lines of a matrix."""
    numbers = number_reasons(matrix)
    for columns in _blocks(matrix, width, len(str(len(numbers)))):
        yield from _table(matrix, columns, symbols, numbers)
        yield []
    for verdict in VERDICTS:
        if matrix.count(verdict):
            sign = Piece(f"{symbols[verdict]} {verdict}:", _STYLES[verdict])
            yield from _wrapped(meaning_of(verdict, matrix), width, sign)
    yield []
    yield from _list([(f"{number}", str(reason)) for reason, number in numbers.items()], width)
    yield from _list(
        [("left out:", f"{name} ({why})") for name, why in matrix.absent.items()], width
    )
    for text in (place(matrix), " ".join(remarks(matrix)), releases(matrix)):
        yield from _wrapped(text, width) if text else ()
    yield from _wrapped(summary(matrix), width, style="" if matrix.ok else _STYLES[FAILED])


def _blocks(matrix: Matrix, width: int, digits: int) -> Iterator[Sequence[Kind]]:
    """Yield the columns that fit beside the names of the rows [characters]."""
    names = [_CORNER, *(sample.kind.name for sample in matrix.samples)]
    room = width - max(map(len, names))
    block: list[Kind] = []
    used = 0
    for consumer in matrix.consumers:
        wide = _GAP + max(_GAP + digits, *map(len, consumer.head.split("\n")))
        if block and used + wide > room:
            yield block
            block, used = [], 0
        block.append(consumer)
        used += wide
    if block:
        yield block


def _table(
    matrix: Matrix, columns: Sequence[Kind], symbols: dict[str, str], numbers: dict[Reason, int]
) -> Iterator[Sequence[Piece]]:
    """Yield the lines of a table of some of the columns, without rules."""
    split = [name.split("\n") for name in (_CORNER, *(one.head for one in columns))]
    height = max(map(len, split))
    above = [[""] * (height - len(lines)) + lines for lines in split]
    rows = [[Piece(text, "bold") for text in line] for line in zip(*above, strict=True)]
    for sample in matrix.samples:
        found = (matrix.cells[sample.kind.name, consumer.name] for consumer in columns)
        rows.append([Piece(sample.kind.name), *(_piece(one, symbols, numbers) for one in found)])
    widths = [max(len(piece.text) for piece in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield [
            part
            for piece, width in zip(row, widths, strict=True)
            for part in (piece, Piece(" " * (width - len(piece.text) + _GAP)))
        ]


def _piece(found: Cell, symbols: dict[str, str], numbers: dict[Reason, int]) -> Piece:
    """Return a symbol, with the number of its reason."""
    reason = reason_of(found)
    text = symbols[found.verdict] + ("" if reason is None else f" {numbers[reason]}")
    return Piece(text, _STYLES[found.verdict])


def _list(items: list[tuple[str, str]], width: int) -> Iterator[Sequence[Piece]]:
    """Yield labelled texts, wrapped beside their labels."""
    wide = max((len(label) + 1 for label, _ in items), default=0)
    for label, text in items:
        yield from _wrapped(text, width, Piece(label), wide)
    if items:
        yield []


def _wrapped(
    text: str, width: int, label: Piece | None = None, wide: int = 0, style: str = ""
) -> Iterator[Sequence[Piece]]:
    """Yield text, wrapped next to its label, which has a minimum width."""
    before = f"{label.text} ".ljust(wide) if label else ""
    room = max(_NARROWEST, width - len(before))
    first, *rest = textwrap.wrap(printable(text), room, break_on_hyphens=False) or [""]
    yield [Piece(before, label.style if label else ""), Piece(first, style)]
    for line in rest:
        yield [Piece(" " * len(before)), Piece(line, style)]
