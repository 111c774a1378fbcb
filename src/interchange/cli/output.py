"""Where the command line writes: the terminal, by way of rich, and files, whole or not at all.

Source: interchange.  rich is imported when something is to be drawn, and not before.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
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
    folder = Path(name).parent
    if name == STDOUT:
        return
    if not folder.is_dir():
        raise UsageError(f"cannot write {name}: there is no directory {folder}")
    if Path(name).is_dir():
        raise UsageError(f"cannot write {name}: it is a directory")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {name}: the directory {folder} is not writable")


def write(name: str, text: str) -> None:
    """Write a file whole, or not at all; standard output for ``"-"``."""
    if name == STDOUT:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        return
    path = Path(name)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Return the permissions of a file: those that it has, or those of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
