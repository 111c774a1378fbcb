"""The matrix on a terminal: a table as wide as there is room for, and the reasons underneath.

Source: interchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .matrix import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .output import console
from .reports import (
    ASCII_SYMBOLS,
    MEANINGS,
    SYMBOLS,
    number_reasons,
    place,
    reason_of,
    releases,
    remarks,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .matrix import Cell, Matrix
    from .reports import Reason
    from .subjects import Subject

_STYLES: Final = {SHARED: "green", COPIED: "yellow", REFUSED: "magenta", FAILED: "bold red"}
_CORNER: Final = "from \\ to"
_GAP: Final = 2  # between columns [characters]


def show(matrix: Matrix) -> None:
    """Print a matrix on standard output."""
    out = console()
    symbols = ASCII_SYMBOLS if out.options.ascii_only else SYMBOLS
    numbers = number_reasons(matrix)
    for columns in _blocks(matrix, out.width, len(str(len(numbers)))):
        out.print(_table(matrix, columns, symbols, numbers))
        out.print()
    for verdict in VERDICTS:
        if matrix.count(verdict):
            head = f"[{_STYLES[verdict]}]{symbols[verdict]} {verdict}[/]"
            out.print(f"{head}: {MEANINGS[verdict]}")
    out.print()
    _print_list(out, [(f"{number}", str(reason)) for reason, number in numbers.items()])
    _print_list(out, [("left out:", f"{name} ({why})") for name, why in matrix.absent.items()])
    if matrix.device != "cpu":
        out.print(place(matrix), markup=False)
    out.print(" ".join(remarks(matrix)), markup=False)
    out.print(releases(matrix), markup=False)
    out.print(summary(matrix), markup=False, style="" if matrix.ok else _STYLES[FAILED])


def _blocks(matrix: Matrix, width: int, digits: int) -> Iterator[Sequence[Subject]]:
    """Yield the columns that have room beside the names of the rows [characters]."""
    names = [_CORNER, *(sample.subject.name for sample in matrix.samples)]
    room = width - max(map(len, names))
    block: list[Subject] = []
    used = 0
    for consumer in matrix.consumers:
        wide = _GAP + max(_GAP + digits, *map(len, consumer.short.split("\n")))
        if block and used + wide > room:
            yield block
            block, used = [], 0
        block.append(consumer)
        used += wide
    if block:
        yield block


def _table(
    matrix: Matrix,
    columns: Sequence[Subject],
    symbols: dict[str, str],
    numbers: dict[Reason, int],
) -> Any:
    """Return a table of some of the columns."""
    from rich.table import Table

    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    table.add_column(_CORNER, no_wrap=True, vertical="bottom")
    for consumer in columns:
        table.add_column(consumer.short, no_wrap=True, vertical="bottom")
    for sample in matrix.samples:
        name = sample.subject.name
        cells = (matrix.cells[name, consumer.name] for consumer in columns)
        table.add_row(name, *(_cell(cell, symbols, numbers) for cell in cells))
    return table


def _cell(cell: Cell, symbols: dict[str, str], numbers: dict[Reason, int]) -> str:
    """Return a symbol, with the number of its reason."""
    reason = reason_of(cell)
    text = symbols[cell.verdict] + ("" if reason is None else f" {numbers[reason]}")
    return f"[{_STYLES[cell.verdict]}]{text}[/]"


def _print_list(out: Any, items: list[tuple[str, str]]) -> None:
    """Print labelled texts, wrapped beside their labels."""
    from rich.table import Table

    if not items:
        return
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    from rich.text import Text

    for label, text in items:
        grid.add_row(label, Text(text))
    out.print(grid)
    out.print()
