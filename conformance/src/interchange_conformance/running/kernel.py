"""What Linux offers to keep processes together: orphans come home, children end with their parent.

Source: prctl(2), proc_pid_task_children(5).  Elsewhere nothing of it is there, and what a library
leaves running stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends.

    Parameters
    ----------
    parent : int
        Its process id, should it have ended already.
    """
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def die_first() -> None:
    """Have the kernel end this process before others where memory is short."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def leave_no_core() -> None:
    """Have this process and its descendants write no core file when they crash."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def children() -> set[int]:
    """Return the process ids of this process's children, ended ones that were not waited for too.

    Empty where the kernel does not tell.
    """
    found: set[int] = set()
    for thread in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            found.update(map(int, thread.read_text(encoding="ascii").split()))
    return found


def _control(option: int, value: int) -> None:
    """Call prctl, where there is one."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(*map(ctypes.c_ulong, (option, value, 0, 0, 0)))
