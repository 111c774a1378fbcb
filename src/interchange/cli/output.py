"""Where reports are written: standard output, and files, whole or not at all.

Source: interchange; POSIX rename(), which replaces a file in one step.  The conformance kit, which
interchange works without and which knows nothing of its commands, has its own.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

STDOUT: Final = "-"
"""Name of a file that stands for standard output."""


class UsageError(Exception):
    """What was asked cannot be done: the command ends with code 2, and the text."""


def check_writable(name: str) -> None:
    """Refuse a file that could not be written, before hours go into what shall stand in it."""
    path = Path(name)
    if name == STDOUT:
        return
    if not path.parent.is_dir():
        raise _error(name, f"there is no directory {path.parent}")
    if path.is_dir():
        raise _error(name, "it is a directory")
    place = path if path.exists() else _real(path).parent
    if not os.access(place, os.W_OK):
        raise _error(name, f"{place} is not writable")


def write(name: str, text: str) -> None:
    """Write a file whole, or leave what was there as it was; standard output for ``"-"``.

    Devices and pipes are written to, and what a symbolic link leads to: neither is replaced.
    """
    if name == STDOUT:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    check_writable(name)
    path = _real(Path(name))
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        else:
            _replace(path, text)
    except OSError as error:
        raise _error(name, error.strerror or str(error)) from error


def _error(name: str, why: str) -> UsageError:
    """Return the error."""
    return UsageError(f"cannot write {name}: {why}")


def _real(path: Path) -> Path:
    """Return the file that a symbolic link leads to: the link itself stays."""
    return Path(os.path.realpath(path))


def _replace(path: Path, text: str) -> None:
    """Write a file beside the one that is meant, and put it in its place."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_mask()
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)  # some disks say only now that they are full
        Path(made).chmod(mode)
        Path(made).replace(path)
    finally:
        with contextlib.suppress(OSError):
            Path(made).unlink(missing_ok=True)


def _mask() -> int:
    """Return which permissions a new file does not get; there is no way to ask but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
