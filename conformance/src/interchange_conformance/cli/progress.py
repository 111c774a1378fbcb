"""Progress on a terminal: a progress bar with rich, plain lines without it.

Nothing is shown if standard error is not a terminal.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Silent:
    """Show nothing."""

    def begin(self, name: str, total: int) -> None:
        """Show a subject, and its number of items."""

    def step(self, item: str, *, is_bad: bool) -> None:
        """Show that an item has ended."""

    def tell(self, words: str) -> None:
        """Show the next step."""


class Lines(Silent):
    """Show one line per subject, and one for each item that is not as expected."""

    def begin(self, name: str, total: int) -> None:
        """Show a subject, and its number of items."""
        self._say(f"{name}: {total} items")

    def step(self, item: str, *, is_bad: bool) -> None:
        """Show that an item has ended."""
        if is_bad:
            self._say(f"  not as expected: {item}")

    @staticmethod
    def _say(words: str) -> None:
        """Print a line."""
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()


class Bar(Silent):
    """Show a progress bar per subject, which is removed at the end."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._task, self._bad = bar, bar.add_task("", total=None, found=""), 0

    def begin(self, name: str, total: int) -> None:
        """Show a subject, and its number of items."""
        self._bar.reset(self._task, total=total, description=name)

    def tell(self, words: str) -> None:
        """Show the next step."""
        self._bar.update(self._task, advance=1, description=words, refresh=True)

    def step(self, item: str, *, is_bad: bool) -> None:  # noqa: ARG002 - for Lines
        """Show that an item has ended."""
        self._bad += is_bad
        found = f"[red]{self._bad} not as expected" if self._bad else ""
        self._bar.update(self._task, advance=1, found=found)


@contextlib.contextmanager
def progress() -> Iterator[Silent]:
    """Yield an object that shows the progress of a run."""
    if not sys.stderr.isatty():
        yield Silent()
        return
    try:
        from rich import progress as rich
        from rich.console import Console
    except ModuleNotFoundError:
        yield Lines()
        return
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=30),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[found]}"),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)
