"""Whether compiled code that lies in a file may be loaded: it must be this user's alone.

Source: POSIX, "stat" and "File Access Permissions".  The cache of kernels and the caches of the
conformance kit ask here; what they say no to is compiled again, or kept somewhere else.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def is_own(state: os.stat_result) -> bool:
    """Whether a file or a folder is this user's, and no other user can write there."""
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_own_file(path: Path) -> bool:
    """Whether a path is a regular file, no symbolic link, of this user's own."""
    return _is_own(path, stat.S_IFREG)


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder, no symbolic link, of this user's own."""
    return _is_own(path, stat.S_IFDIR)


def _is_own(path: Path, kind: int) -> bool:
    """Whether a path is there, is of a kind, and is this user's own."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_IFMT(state.st_mode) == kind and is_own(state)
