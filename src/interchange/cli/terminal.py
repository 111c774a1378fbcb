"""Text on a terminal: wrapped paragraphs and tables, plain, as wide as the terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Final

from .output import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDTH: Final = 100  # if the terminal does not report its width [columns]
_NARROWEST: Final = 10  # that text is wrapped to [columns]
_GAP: Final = "  "


def show(line: str = "") -> None:
    """Print a line, with escapes for what is invisible or not in the terminal's encoding."""
    encoding = sys.stdout.encoding or "utf-8"
    print(printable(line).rstrip().encode(encoding, "backslashreplace").decode(encoding))


def show_text(text: str, label: str = "", width: int = 0) -> None:
    """Print text, wrapped beside its label.

    `text`: the text.
    `label`: the label before the first line.
    `width`: of the label and the space behind it, at least [characters].
    """
    before = f"{label} ".ljust(width) if label else ""
    room = max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 0)).columns - len(before))
    for line in textwrap.wrap(text, room, break_on_hyphens=False) or [""]:
        show(before + line)
        before = " " * len(before)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table without rules.

    `head`: of each column; the last of several lines is directly above the column.
    `rows`: the cells below it.
    """
    split = [name.split("\n") for name in head]
    height = max(map(len, split))
    above = [[""] * (height - len(lines)) + lines for lines in split]
    table = [*zip(*above, strict=True), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        show(_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
