"""Lines on the terminal: laid out here, in colours and with a progress bar where rich is installed.

rich is imported when something is drawn, and not before; without it, and
where standard output is no terminal, the same lines are plain.  Columns and paragraphs are laid out
by hand, because the base install has no rich, and the words must be the same with and without it.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final

from interchange._reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_WIDTH: Final = 100  # where nobody says how wide the terminal is [columns]
_NARROWEST: Final = 10  # that text is wrapped to [columns]
GAP: Final = 2
"""Between the columns of a table [characters]."""

Cell = tuple[str, str]
"""Text, and its style as rich calls it; an empty one is plain."""


class Terminal:
    """Standard output, a line at a time.

    Attributes
    ----------
    width : int
        Of the terminal, as it or the variable COLUMNS says [columns].
    is_ascii : bool
        Whether its encoding may lack other characters.
    """

    def __init__(self) -> None:
        self.width: int = shutil.get_terminal_size((_WIDTH, 0)).columns
        self._encoding = sys.stdout.encoding or "utf-8"
        self.is_ascii: bool = not self._encoding.lower().startswith("utf")
        self._rich = _rich_console(sys.stdout) if sys.stdout.isatty() else None

    def line(self, *cells: Cell) -> None:
        """Print one line, however long it is.

        Parameters
        ----------
        *cells : tuple of str and str
            Its pieces.
        """
        written = [(self._written(text), style) for text, style in cells]
        if self._rich is None:
            print("".join(text for text, _ in written).rstrip())
            return
        from rich.text import Text

        self._rich.print(Text.assemble(*written), soft_wrap=True)

    def text(self, text: str, *, label: Cell = ("", ""), width: int = 0, style: str = "") -> None:
        """Print text, wrapped beside its label.

        Parameters
        ----------
        text : str
            What is wrapped.
        label : tuple of str and str, optional
            What stands before its first line.
        width : int, optional
            Of the label and the space behind it, at least [characters].
        style : str, optional
            Of the text.
        """
        words, look = label
        before = f"{words} ".ljust(width) if words else ""
        room = max(_NARROWEST, self.width - len(before))
        first, *rest = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        self.line((before, look), (first, style))
        for line in rest:
            self.line((" " * len(before), ""), (line, style))

    def table(self, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Print a table without lines.

        Parameters
        ----------
        head : sequence of str
            Of each column; of several lines, the last stands above the column.
        rows : iterable of sequences of cells
            Below it.
        """
        split = [name.split("\n") for name in head]
        height = max(map(len, split))
        above = [[""] * (height - len(lines)) + lines for lines in split]
        table = [[(text, "bold") for text in line] for line in zip(*above, strict=True)]
        table += [list(row) for row in rows]
        widths = [max(len(text) for text, _ in column) for column in zip(*table, strict=True)]
        for row in table:
            self.line(*_padded(row, widths))

    def _written(self, text: str) -> str:
        """Return text with what is hidden, and what the encoding lacks, written out."""
        text = printable(text)
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)


def _padded(row: Sequence[Cell], widths: Sequence[int]) -> Iterator[Cell]:
    """Yield the cells of a row as wide as their columns, and what stands between them."""
    for (text, style), width in zip(row, widths, strict=True):
        yield text, style
        yield " " * (width - len(text) + GAP), ""


def _rich_console(stream: Any) -> Any:
    """Return a console of rich's, or None where there is none."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    return Console(file=stream, highlight=False)


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str], object]]:
    """Give a function that tells what is done next, on a bar where rich can show one to somebody.

    Parameters
    ----------
    total : int
        How often it is called, at most.
    """
    console = _rich_console(sys.stderr) if sys.stderr.isatty() else None
    if console is None:
        yield str
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=30), TextColumn("{task.description}"))
    with Progress(
        *columns,
        console=console,
        auto_refresh=False,  # a thread would write while a library is kept quiet
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)

        def tell(words: str) -> None:
            bar.update(task, advance=1, description=words, refresh=True)

        yield tell
