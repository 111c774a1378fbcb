"""Where compiled code is kept, and whether it is safe to load: only this user may write it.

Source: POSIX, "stat" and "File Access Permissions"; XDG Base Directory Specification (the folder).
The cache of kernels and the caches of the conformance kit check files here; files that fail the
check are compiled again, or stored elsewhere.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "INTERCHANGE_CACHE_DIR"
"""Environment variable that names the folder of kernels."""


def cache_folder() -> Path | None:
    """Return the folder of all caches of this user, None if there is no home directory."""
    above = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not above.is_absolute():
        with suppress(RuntimeError):  # there is no home directory
            above = Path("~/.cache").expanduser()
    return above / "interchange" if above.is_absolute() else None


def kernels_folder() -> Path | None:
    """Return the folder of compiled kernels, None if none are kept."""
    if os.name != "posix":
        return None
    asked = os.environ.get(CACHE_VARIABLE)
    if asked is not None:
        return Path(asked) if asked else None
    above = cache_folder()
    return None if above is None else above / "kernels"


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
