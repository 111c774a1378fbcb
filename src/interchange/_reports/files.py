"""Options that write a report, ``--json [FILE]`` and its like: the same for every command.

Without a file, or with ``-``, a report goes to standard output, which then
has nothing else: what libraries print meanwhile goes to standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from . import pages, writing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

_WHERE: Final = "to FILE, or to standard output without one or for '-'"


def add_option(parser: Any, name: str, what: str, *, dest: str | None = None) -> None:
    """Add an option that writes a report.

    Parameters
    ----------
    parser : ArgumentParser or group
        Of the command.
    name : str
        Of the report: ``"json"`` makes ``--json [FILE]``.
    what : str
        What is written, in words.
    dest : str, optional
        Name in the namespace; that of the report when left out.
    """
    parser.add_argument(
        f"--{name}",
        nargs="?",
        const=writing.STDOUT,
        metavar="FILE",
        dest=dest or name.replace("-", "_"),
        help=f"write {what}: {_WHERE}",
    )


def asked_for(options: argparse.Namespace, names: Iterable[str]) -> dict[str, str]:
    """Return where each report that was asked for goes: name of its option -> file.

    Parameters
    ----------
    options : Namespace
        As a parser with `add_option` gives them.
    names : iterable of str
        Of the options.

    Raises
    ------
    ReportError
        A file cannot be written, two reports would go to one, or there is no Jinja2 for a page.
    """
    files = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    places = [os.path.realpath(file) if file != writing.STDOUT else file for file in files.values()]
    for file, place in zip(files.values(), places, strict=True):
        if places.count(place) > 1:
            raise writing.ReportError(f"only one report can go to {file}")
        writing.check_writable(file)
    if "html" in files and (reason := pages.why_no_pages()):
        raise writing.ReportError(f"--html: {reason}")
    return files


def takes_stdout(files: Mapping[str, str]) -> bool:
    """Whether one of the reports goes to standard output, which then has nothing else."""
    return writing.STDOUT in files.values()


@contextlib.contextmanager
def stdout_kept_for(files: Mapping[str, str]) -> Iterator[None]:
    """Lead all that is printed to standard error, where a report is to go to standard output.

    Parameters
    ----------
    files : mapping
        As `asked_for` returns them.
    """
    if not takes_stdout(files):
        yield
        return
    with contextlib.redirect_stdout(sys.stderr), _native_stdout_led_away():
        yield


@contextlib.contextmanager
def _native_stdout_led_away() -> Iterator[None]:
    """Lead what native code prints to standard error, too, and child processes."""
    try:
        kept = os.dup(1)
    except OSError:  # it is closed
        yield
        return
    try:
        with contextlib.suppress(OSError):  # standard error may be closed
            os.dup2(2, 1)
        yield
    finally:
        with contextlib.suppress(OSError, TypeError, AttributeError):
            ctypes.CDLL(None).fflush(None)  # what C holds back would come out at the end
        os.dup2(kept, 1)
        os.close(kept)
