"""Linux functions that keep processes together: adopting orphans, ending with the parent.

Source: prctl(2), proc_pid_task_children(5).  On other platforms they have no effect, and processes
that a library leaves running remain.
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
    """Make the kernel kill this process when its parent ends."""
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def die_first() -> None:
    """Make the kernel kill this process before others if memory is short."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def leave_no_core() -> None:
    """Disable core files of this process and its descendants."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def children() -> set[int]:
    """Return the process ids of this process's children, including those not yet reaped.

    Empty if the kernel does not list them.
    """
    found: set[int] = set()
    for thread in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            found.update(map(int, thread.read_text(encoding="ascii").split()))
    return found


def _control(option: int, value: int) -> None:
    """Call prctl, if available."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(*map(ctypes.c_ulong, (option, value, 0, 0, 0)))
