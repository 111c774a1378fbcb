"""Imports are interrupted by code that imports: by the collector, by a signal.  Prints how often.

Both may run between any two steps of an import.  A lock that is not made for that never opens
again; the watchdog ends the process then.
"""

from __future__ import annotations

import faulthandler
import gc
import signal
import sys
import time

import numpy as np

import interchange as ix

PATIENCE = 10.0  # [seconds]
MOST = 1.5  # [seconds]
ENOUGH = 300
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

source = np.ones(3)
interruptions = 0
busy = False


def one_import():
    ix.from_dlpack(source.__dlpack__())
    ix.from_dlpack(source.__dlpack__(max_version=(1, 0)))


def interrupt(*_):
    """Import, unless it is an import in here that is interrupted."""
    global busy, interruptions  # noqa: PLW0603 - an interrupt has no other place to store it
    if busy:
        return
    busy = True
    one_import()
    interruptions += 1
    busy = False


def keep_importing():
    end, kept = time.monotonic() + MOST, []
    while interruptions < ENOUGH and time.monotonic() < end:
        if not HAS_GIL:
            kept.append([])  # a collection follows what grows
        one_import()


def by_the_collector():
    gc.callbacks.append(interrupt)
    gc.set_threshold(1, 1 * HAS_GIL, 1)  # 0: without the GIL, however much there is
    keep_importing()
    gc.callbacks.remove(interrupt)


def by_a_signal():
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    keep_importing()
    signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    globals()[sys.argv[1]]()
    print("interrupted", interruptions > ENOUGH / 10)
