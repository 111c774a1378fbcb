"""Shows on a terminal how far a run is: a bar of rich's, or plain lines without it.

Where standard error is no terminal, nothing is shown.  The plain lines are
written by hand for environments that have the kit without rich, such as a folder on the path.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Silent:
    """Shows nothing."""

    def begin(self, name: str, total: int) -> None:
        """Say that a subject is begun, and how many items it has."""

    def step(self, item: str, *, is_bad: bool) -> None:
        """Say that an item has ended."""


class Lines(Silent):
    """Shows a line per subject, and one for each item that is not as expected."""

    def begin(self, name: str, total: int) -> None:
        """Say that a subject is begun, and how many items it has."""
        self._say(f"{name}: {total} items")

    def step(self, item: str, *, is_bad: bool) -> None:
        """Say that an item has ended."""
        if is_bad:
            self._say(f"  not as expected: {item}")

    @staticmethod
    def _say(words: str) -> None:
        """Print a line."""
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()


class Bar(Silent):
    """Shows a bar per subject, which is gone at the end.

    Parameters
    ----------
    bar : rich.progress.Progress
        Where it is drawn.
    """

    def __init__(self, bar: Any) -> None:
        self._bar, self._task, self._bad = bar, bar.add_task("", total=None, found=""), 0

    def begin(self, name: str, total: int) -> None:
        """Say that a subject is begun, and how many items it has."""
        self._bar.reset(self._task, total=total, description=name)

    def step(self, item: str, *, is_bad: bool) -> None:  # noqa: ARG002 - for Lines
        """Say that an item has ended."""
        self._bad += is_bad
        found = f"[red]{self._bad} not as expected" if self._bad else ""
        self._bar.update(self._task, advance=1, found=found)


@contextlib.contextmanager
def progress() -> Iterator[Silent]:
    """Give what shows how far a run is."""
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
