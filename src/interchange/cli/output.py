"""Where the command line writes: the terminal, by way of rich, and files, whole or not at all.

Source: interchange.  rich is imported when something is to be drawn, and the kit, which knows how
files are written, when something is to be written; neither before.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDOUT: Final = "-"
"""Name of a file that stands for standard output."""
_WIDTH: Final = 100  # where nobody says how wide the terminal is [columns]


class UsageError(Exception):
    """What was asked cannot be done: the command ends with code 2, and the text."""


# ---------------------------------------------------------------- the terminal


def require_rich() -> None:
    """Raise UsageError where nothing can be drawn."""
    try:
        import rich  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as error:
        way_out = 'pip install "array-interchange[demo]"'
        raise UsageError(f"drawing tables takes rich; install it with: {way_out}") from error


def console(*, stderr: bool = False) -> Any:
    """Return a console: as wide as the terminal or COLUMNS say, plain where it is none."""
    require_rich()
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH
    return Console(stderr=stderr, width=width, highlight=False)


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[str], object]]:
    """Give a function that tells what is done next, on a bar where somebody can see it.

    Parameters
    ----------
    total : int
        How often it is called, at most.
    """
    if not sys.stderr.isatty():
        yield str
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=30), TextColumn("{task.description}"))
    with Progress(
        *columns,
        console=console(stderr=True),
        auto_refresh=False,  # a thread would write while a library is kept quiet
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)

        def tell(words: str) -> None:
            bar.update(task, advance=1, description=words, refresh=True)

        yield tell


# ---------------------------------------------------------------- files


def check_writable(name: str) -> None:
    """Refuse a file that could not be written, before hours go into what shall stand in it."""
    from interchange_conformance.reports import writing

    with _usage_errors(writing.ReportError):
        writing.check_writable(name)


def write(name: str, text: str) -> None:
    """Write a file whole, or leave what was there as it was; standard output for ``"-"``.

    Devices and pipes are written to, and what a symbolic link leads to: neither is replaced.
    """
    from interchange_conformance.reports import writing

    with _usage_errors(writing.ReportError):
        writing.write(name, text)


@contextlib.contextmanager
def _usage_errors(errors: type[Exception]) -> Iterator[None]:
    """Make errors of the user of the kit's errors."""
    try:
        yield
    except errors as error:
        raise UsageError(str(error)) from error
