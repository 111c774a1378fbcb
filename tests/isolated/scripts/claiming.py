"""The import of a capsule waits while another thread holds its lock; prints what ended first.

First the lock of the capsule itself is held, then that of another one: two lines.  Only without the
GIL.
"""

from __future__ import annotations

import ctypes
import threading

import numpy as np

import interchange as ix

LONG = 300_000  # [microseconds]
SIZE = 64  # [bytes] at least the size of a PyCriticalSection

api = ctypes.PyDLL(None)  # its calls keep this thread at work


def capsule_of(x):
    return x.__dlpack__(max_version=(1, 3))


def ended_first(*, is_its_own):
    """Return what ended first, the import or the lock."""
    x, other, section = np.ones(3), np.ones(3), ctypes.create_string_buffer(SIZE)
    capsule = capsule_of(x)
    held = capsule if is_its_own else capsule_of(other)
    begun, ended = [], []

    def take():
        while not begun:
            pass
        ix.from_dlpack(capsule)
        ended.append("import")

    thread = threading.Thread(target=take)
    thread.start()
    api.PyCriticalSection_Begin(section, ctypes.py_object(held))
    begun.append(True)
    api.usleep(LONG)
    ended.append("lock")
    api.PyCriticalSection_End(section)
    thread.join()
    return ended[0]


if __name__ == "__main__":
    ix.from_dlpack(capsule_of(np.ones(3)))  # each step is done once
    print(ended_first(is_its_own=True), ended_first(is_its_own=False))
