"""Compiled kernels, kept on disk for later processes.

Source: POSIX, "rename" (files appear complete); `interchange.abi._owned` (the folder).  The machine
code is executed, so that the folder and its files must belong to this user, and no other
user may write there.  On any failure a kernel is compiled as without a cache.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import llvmlite
import llvmlite.binding as llvm

import interchange
from interchange.abi._owned import is_own, kernels_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORMAT: Final = 3
"""Version of the files, and of the way in which kernels are compiled."""
MOST_FILES: Final = 1024
MOST_BYTES: Final = 64 << 20  # [bytes], of all files together
_NAME: Final = re.compile(r"[0-9a-f]{64}(\.[0-9a-f]{16})?")
"""A key, or a file being written; other files are left alone."""
_HEAD: Final = b"interchange kernel\n"
_CHECKSUM: Final = 32  # [bytes]
_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_FILE: Final = _READ | getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = _READ | getattr(os, "O_DIRECTORY", 0)
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def get_or_compile(
    parts: tuple[str, ...], make: Callable[[], bytes], *, on_disk: bool = True
) -> bytes:
    """Return the result for these parts from an earlier call of any process, or make it.

    `parts` are all that it depends on, besides versions: source, target, options.
    """
    if not on_disk:
        return make()
    key = key_of(parts)
    found = load(key)
    if found is None:
        found = make()
        store(key, found)
    return found


def key_of(parts: tuple[str, ...]) -> str:
    """Return the name of a file; it includes the length of each part."""
    known = hashlib.sha256()
    for part in (*versions(), *parts):
        data = part.encode()
        known.update(b"%d:" % len(data) + data)
    return known.hexdigest()


@functools.cache
def versions() -> tuple[str, ...]:
    """Return the versions of the compilers."""
    info = ".".join(map(str, llvm.llvm_version_info))
    return str(FORMAT), interchange.__version__, llvmlite.__version__, info


def load(key: str) -> bytes | None:
    """Return the stored data, None if there is none, or if it is damaged."""
    with suppress(OSError, ValueError), _opened() as folder:
        if folder is None:
            return None
        file = os.open(key, _FILE, dir_fd=folder)
        with os.fdopen(file, "rb") as stream:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode) or not is_own(state):
                return None
            data = _unpacked(key, stream.read(MOST_BYTES))
        if data is not None:
            os.utime(key, dir_fd=folder)  # the least recently used file is removed first
        return data
    return None


def store(key: str, data: bytes) -> None:
    """Store data for later processes, if possible, and make room for it."""
    new = f"{key}.{os.urandom(8).hex()}"
    with suppress(OSError, ValueError), _opened(make=True) as folder:
        if folder is None:
            return
        try:
            with os.fdopen(os.open(new, _NEW, 0o600, dir_fd=folder), "wb") as stream:
                stream.write(_packed(key, data))
            os.replace(new, key, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
        _remove_oldest(folder)


@contextmanager
def _opened(*, make: bool = False) -> Iterator[int | None]:
    """Open the folder; None if there is none, or if another user could write to it."""
    path = kernels_folder()
    if path is None:
        yield None
        return
    if make:
        path.mkdir(0o700, parents=True, exist_ok=True)
    folder = os.open(path, _FOLDER)
    try:
        yield folder if is_own(os.fstat(folder)) else None
    finally:
        os.close(folder)


def _packed(key: str, data: bytes) -> bytes:
    """Return the contents of a file."""
    return _HEAD + hashlib.sha256(key.encode() + data).digest() + data


def _unpacked(key: str, contents: bytes) -> bytes | None:
    """Return the data of a file, None if it differs from what was written under this key."""
    data = contents[len(_HEAD) + _CHECKSUM :]
    return data if contents == _packed(key, data) else None


def _remove_oldest(folder: int) -> None:
    """Remove the least recently used files, if there are too many."""
    found = []
    for name in filter(_NAME.fullmatch, os.listdir(folder)):
        with suppress(OSError):  # another process removed it
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
            found.append((state.st_mtime_ns, name, state.st_size))
    size = 0
    for count, (_, name, length) in enumerate(sorted(found, reverse=True), 1):
        size += length
        if count > MOST_FILES or size > MOST_BYTES:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
