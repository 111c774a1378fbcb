"""Files that are written whole, or not at all; what cannot be written is said beforehand.

Source: POSIX rename(), which replaces a file in one step.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Final

STDOUT: Final = "-"
"""Name of a file that stands for standard output."""


class ReportError(OSError):
    """A report cannot be written; the text says which, and why."""


def check_writable(name: str) -> None:
    """Refuse a file that could not be written, before minutes go into what shall stand in it.

    Parameters
    ----------
    name : str
        Path of the file, or ``"-"`` for standard output.

    Raises
    ------
    ReportError
        There is no such directory, it is one, or nobody may write there.
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
    """Raise for what can be seen to be in the way."""
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
    """Write a file whole, or leave what was there as it was.

    Parameters
    ----------
    name : str
        Path of the file, or ``"-"`` for standard output.
    text : str
        What shall stand in it.

    Raises
    ------
    ReportError
        It could not be written.
    BrokenPipeError
        Nobody reads standard output any more, as when it is piped into ``head``.
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
    """Return the error."""
    what = "to standard output" if name == STDOUT else name
    return ReportError(f"cannot write {what}: {why}")


def _is_special(path: Path) -> bool:
    """Whether there is a pipe or a device, which must be written to and never be replaced."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _real(path: Path) -> Path:
    """Return the file that a symbolic link leads to: the link itself stays."""
    return Path(os.path.realpath(path))


def _replace(path: Path, text: str) -> None:
    """Write a file beside the one that is meant, and put it in its place."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)  # some disks say only now that they are full
        Path(temporary).chmod(_mode(path))
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Return the permissions of a file: those that it has, or those of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _print(text: str) -> None:
    """Write on standard output whatever its encoding has; what is not written now never is."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError:
        forget_stdout()
        raise


def forget_stdout() -> None:
    """Lead standard output nowhere, so that its end does not fail a second time.

    Source: Python, "Note on SIGPIPE".
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
