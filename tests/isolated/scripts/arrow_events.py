"""Arrow columns with events on the emulated driver, at the end of a process or after a fork.

Source: The Arrow C device data interface, Memory management.  The argument selects the case.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import sys
import threading

import interchange as ix
from interchange_conformance.emucuda import load

emulator = load()
from cuda.bindings import driver  # noqa: E402 - the emulated one is loaded before it

SIZE = 64  # [bytes]


def start():
    """Return an Array with work pending on its own stream."""
    driver.cuInit(0)
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
    stream, ptr = int(driver.cuStreamCreate(1)[1]), int(driver.cuMemAlloc(SIZE)[1])
    return ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=stream)


class One:
    """An export with one method."""

    def __init__(self, export) -> None:
        self.__arrow_c_device_array__ = export.__arrow_c_device_array__


def lent(array):
    """Return owners of events: capsules that were not consumed, streams, and imports."""
    export = ix.to_arrow(array)
    return [
        export.__arrow_c_device_array__(),
        export.__arrow_c_device_stream__(),
        ix.from_arrow(One(export)),
        ix.from_arrow(One(export))[::2],
    ]


def in_globals():
    """Leave them to the module."""
    globals()["left"] = lent(start())


def in_builtins():
    """Keep them in an object that is cleared last at exit."""
    builtins.left = lent(start())


def in_cycles():
    """Leave them as garbage."""
    gc.disable()
    cycle = [lent(start())]
    cycle.append(cycle)


def in_atexit():
    """Release them when the end has begun."""
    atexit.register(lent(start()).clear)


def in_daemon_thread():
    """Leave them on the stack of a thread that never ends."""
    ready = threading.Event()

    def hold():
        held = lent(start())
        ready.set()
        threading.Event().wait()
        del held

    threading.Thread(target=hold, daemon=True).start()
    ready.wait()


def forked():
    """Release them in a child, without touching the parent's events."""
    array = start()
    held = lent(array)
    before = emulator.live().events
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        held.clear()
        gc.collect()
        print("child", emulator.live().events == before, flush=True)
        try:
            ix.to_arrow(array).__arrow_c_device_array__()
        except ix.ExchangeError as error:
            print("child", error.rule, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    held.clear()
    gc.collect()
    print("parent", before, emulator.live().events)


def fail(*_):
    """Send an exception on its way."""
    raise KeyError("on its way")


def drop(array, which):
    """Release one of them meanwhile, and print the result."""
    try:
        len(lent(array).pop(which), fail())
    except KeyError as error:
        print(error.args)


def in_flight():
    """Release each of them while an exception is in flight."""
    array = start()
    for which in range(4):
        drop(array, which)
    gc.collect()
    print(emulator.live().events)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
