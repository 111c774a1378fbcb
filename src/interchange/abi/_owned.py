"""Checks that compiled code in a file is safe to load: only this user may write it.

Source: POSIX, "stat" and "File Access Permissions".  The cache of kernels and the caches of the
conformance kit check files here; files that fail the check are compiled again, or stored elsewhere.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def is_own(state: os.stat_result) -> bool:
    """Whether a file or a folder belongs to this user, and no other user can write there."""
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_own_file(path: Path) -> bool:
    """Whether a path is a regular file, not a symbolic link, that only this user can write."""
    return _is_own(path, stat.S_IFREG)


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder, not a symbolic link, that only this user can write."""
    return _is_own(path, stat.S_IFDIR)


def _is_own(path: Path, kind: int) -> bool:
    """Whether a path exists, is of a kind, and can be written by this user only."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_IFMT(state.st_mode) == kind and is_own(state)
