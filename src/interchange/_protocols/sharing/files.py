"""Descriptors of shared files: those of this process, those of an exporter, and new memfds.

Source: Linux, proc(5), ``/proc/PID/fd``; memfd_create(2); fcntl(2), File Sealing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .mappings import Mapping

_OPEN: Final = os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)
_OWN: Final = "/proc/self/fd"


def find_descriptor(mapping: Mapping) -> int | None:
    """Return a new descriptor of the file of a mapping, or None if this process has none.

    The object that mapped the file usually keeps one.  If it does not, the file is opened by its
    name, if that still names this file.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(_OWN):
            if _is_file(f"{_OWN}/{name}", mapping):
                return _duplicate(int(name), mapping)
    for path in _names(mapping):
        if _is_file(path, mapping):
            with contextlib.suppress(OSError):
                return _duplicate(os.open(path, os.O_RDONLY | _OPEN), mapping, closes=True)
    return None


def _is_file(path: str, mapping: Mapping) -> bool:
    """Whether a path leads to the regular file of a mapping."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return is_same(found, mapping.device, mapping.inode)


def is_same(found: os.stat_result, device: int, inode: int) -> bool:
    """Whether a file is a regular one with this device and inode."""
    return (found.st_dev, found.st_ino) == (device, inode) and stat.S_ISREG(found.st_mode)


def _duplicate(descriptor: int, mapping: Mapping, *, closes: bool = False) -> int | None:
    """Return a duplicate of a descriptor, after its file is checked again."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl

    try:
        new = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    except OSError:  # another thread has closed it
        return None
    finally:
        if closes:
            os.close(descriptor)
    if is_same(os.fstat(new), mapping.device, mapping.inode):
        return new
    os.close(new)
    return None


def _names(mapping: Mapping) -> Iterator[str]:
    """Yield the name of the file of a mapping, as the kernel knows it."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as text:
        for line in text:
            span, _, _, _, _, *name = line.rstrip("\n").split(maxsplit=5)
            start, end = (int(each, 16) for each in span.split("-"))
            if start <= mapping.start < end and name:
                yield name[0]
                return


def path_of(pid: int, descriptor: int) -> str:
    """Return the path by which another process opens a descriptor."""
    return f"/proc/{pid}/fd/{descriptor}"


def open_file(path: str, device: int, inode: int, *, writable: bool) -> int | None:
    """Open a file of another process, or return None if the path leads to another file.

    The file is compared before it is opened: to open a device has effects, and to open a pipe
    waits.

    Raises OSError: the process or its descriptor does not exist, or belongs to another user.
    """
    if not is_same(os.stat(path), device, inode):
        return None
    descriptor = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | _OPEN)
    if is_same(os.fstat(descriptor), device, inode):
        return descriptor
    os.close(descriptor)
    return None


def new_file(nbytes: int) -> int:
    """Return a descriptor of new memory of a fixed size, which no file system names.

    `nbytes`: size [bytes].
    """
    from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl

    descriptor = os.memfd_create("interchange", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, nbytes)
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
