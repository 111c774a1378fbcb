"""Reports in files: command-line options for them, and atomic writing.

Source: POSIX rename(), which replaces a file atomically.  Without a file name, or with ``-``, a
report is written to standard output, which then contains only the report: output of libraries is
redirected to standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import pages

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

STDOUT: Final = "-"
"""File name that stands for standard output."""
_WHERE: Final = "to FILE, or to standard output without FILE or for '-'"


class ReportError(OSError):
    """A report cannot be written; the message contains the file and the reason."""


def add_option(parser: Any, name: str, what: str, *, dest: str | None = None) -> None:
    """Add an option that writes a report.

    Parameters
    ----------
    parser : ArgumentParser or group
        Parser of the command.
    name : str
        Name of the report: ``"json"`` adds ``--json [FILE]``.
    what : str
        Contents of the report, for the help.
    dest : str, optional
        Name in the namespace; by default that of the report.
    """
    parser.add_argument(
        f"--{name}",
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        dest=dest or name.replace("-", "_"),
        help=f"write {what}: {_WHERE}",
    )


def asked_for(options: argparse.Namespace, names: Iterable[str]) -> dict[str, str]:
    """Return the file of each requested report: name of its option -> file.

    Raises `ReportError`: a file cannot be written, two reports name one file, or Jinja2 is missing
    for a page.
    """
    files = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    places = [os.path.realpath(file) if file != STDOUT else file for file in files.values()]
    for file, place in zip(files.values(), places, strict=True):
        if places.count(place) > 1:
            raise ReportError(f"only one report can go to {file}")
        check_writable(file)
    if "html" in files and (reason := pages.why_no_pages()):
        raise ReportError(f"--html: {reason}")
    return files


def takes_stdout(files: Mapping[str, str]) -> bool:
    """Return whether a report is written to standard output, which is then exclusive to it."""
    return STDOUT in files.values()


@contextlib.contextmanager
def stdout_kept_for(files: Mapping[str, str]) -> Iterator[None]:
    """Redirect standard output to standard error if a report is written to standard output."""
    if not takes_stdout(files):
        yield
        return
    with contextlib.redirect_stdout(sys.stderr), _native_stdout_redirected():
        yield


@contextlib.contextmanager
def _native_stdout_redirected() -> Iterator[None]:
    """Redirect output of native code and child processes to standard error, too."""
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
            ctypes.CDLL(None).fflush(None)  # their buffers would otherwise be printed at exit
        os.dup2(kept, 1)
        os.close(kept)


# ---------------------------------------------------------------- writing


def check_writable(name: str) -> None:
    """Refuse a file that cannot be written, before the run whose result it is for.

    Raises `ReportError`: the directory is missing, the file is a directory, or it is not writable.
    """
    if name == STDOUT:
        return
    path = Path(name)
    try:
        _refuse(name, path)
    except ReportError:
        raise
    except OSError as error:
        raise _error(name, error.strerror or str(error)) from error


def _refuse(name: str, path: Path) -> None:
    """Raise an error if a file cannot be written."""
    folder = path.parent
    if not folder.is_dir():
        raise _error(name, f"there is no directory {folder}")
    if path.is_dir():
        raise _error(name, "it is a directory")
    if path.exists() and not os.access(path, os.W_OK):
        raise _error(name, "it is not writable")
    if not _is_special(path) and not os.access(_real(path).parent, os.W_OK):
        raise _error(name, f"the directory {folder} is not writable")


def write(name: str, text: str) -> None:
    """Write a whole file, or leave the old one unchanged; ``"-"`` is standard output.

    Raises `ReportError`: it could not be written; `BrokenPipeError`: the reader of standard output
    has ended, as ``head`` does.
    """
    check_writable(name)
    try:
        if name == STDOUT:
            _print(text)
        elif _is_special(Path(name)):
            Path(name).write_text(text, encoding="utf-8", errors="backslashreplace")
        else:
            _replace(_real(Path(name)), text)
    except OSError as error:
        if name == STDOUT and isinstance(error, BrokenPipeError):
            raise
        raise _error(name, error.strerror or str(error)) from error


def _error(name: str, why: str) -> ReportError:
    """Return the error for a file."""
    what = "to standard output" if name == STDOUT else name
    return ReportError(f"cannot write {what}: {why}")


def _is_special(path: Path) -> bool:
    """Return whether it is a pipe or a device, which is written directly and not replaced."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _real(path: Path) -> Path:
    """Return the target of a symbolic link: the link itself is kept."""
    return Path(os.path.realpath(path))


def _replace(path: Path, text: str) -> None:
    """Write a temporary file in the same folder, and rename it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)  # a full disk may report an error only now
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Return the permissions of an existing file, or those of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _print(text: str) -> None:
    """Write to standard output, with escapes for characters that it cannot encode, and flush it."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError:
        forget_stdout()
        raise


def forget_stdout() -> None:
    """Send standard output to the null device, so that flushing at exit cannot fail.

    Source: Python, "Note on SIGPIPE".
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
