"""A process is forked while arrays live; the child imports, exports, and ends cleanly."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
import threading
import time
import warnings

import numpy as np

import interchange as ix

FORKS = 25
PATIENCE = 20.0  # [seconds] a child may take


def pointer(dtype="float32"):
    block = (ctypes.c_float * 6)(*range(6))
    return ix.from_pointer(ctypes.addressof(block), (2, 3), dtype, owner=block)


HELD = [pointer(), pointer("bfloat16"), ix.from_dlpack(np.ones(3)), ix.from_buffer(bytearray(8))]
CAPSULES = [array.__dlpack__(max_version=v) for array in HELD for v in (None, (1, 3))]


def exchange():
    """Use objects from before the fork, and create new ones; return whether all is correct."""
    for capsule in CAPSULES:
        ix.from_dlpack(capsule)
    fresh = [*HELD, pointer(), ix.from_dlpack(np.ones(3))]
    shapes = [ix.from_dlpack(x.__dlpack__(max_version=(1, 0))).shape for x in fresh]
    HELD.clear()
    return shapes == [x.shape for x in fresh] and np.from_dlpack(fresh[0])[1, 2] == 5


def fork_once():
    """Fork; return how the child ended."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if exchange() else 2
        finally:
            os._exit(code)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "it hangs"


def plain():
    """One thread, sequential forks."""
    return {fork_once() for _ in range(FORKS)}


def leaving():
    """The child ends as Python ends, with everything still there."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        exchange()
        sys.exit(0)
    return {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


def with_threads():
    """Other threads consume capsules and export at the moment of the fork."""
    stop = threading.Event()

    def work():
        source, own = np.ones(3), pointer("bfloat16")
        while not stop.is_set():
            ix.from_dlpack(source.__dlpack__())
            ix.from_dlpack(source.__dlpack__(max_version=(1, 0)))
            ix.from_dlpack(own.__dlpack__())

    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        return {fork_once() for _ in range(FORKS)}
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _work(queue):
    queue.put(bool(exchange()))


def with_multiprocessing():
    """The start method of multiprocessing."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    worker = context.Process(target=_work, args=(queue,))
    worker.start()
    right = queue.get()
    worker.join()
    return {worker.exitcode} if right else {"wrong values"}


if __name__ == "__main__":
    # Python 3.12 warns of every fork that threads are about: that is the case here
    warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
    print(*globals()[sys.argv[1]]())
