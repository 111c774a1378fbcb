"""Locks of a process that are new in a forked child: a thread of the parent may hold them.

Source: POSIX, fork(2): the child has only the thread that called it.
"""

from __future__ import annotations

import os
import threading


class ForkedLock:
    """A lock, as long as the process is not forked.

    Attributes
    ----------
    lock : threading.Lock
        Read where it is taken, since a child has another one.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.Lock()
