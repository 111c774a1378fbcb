"""One operation, repeated: memory does not grow, and reference counts of owners are unchanged.

The arguments are a set of operations, `arrays`, `columns` or `table`, and beginnings of names of
operations of ``growth_<set>.py``; all of them without names.  Prints for each the number of
repetitions, the growth of the resident memory [bytes], and the growth of the references.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys

import numpy as np
from common import resident

MANY, SOME = 100_000, 10_000
WARM = 2_000

source = np.ones((2, 3), np.float32)
block = (ctypes.c_float * 6)()
address = ctypes.addressof(block)
text = bytearray(24)


def refused(act, error):
    """Return an act that is expected to be refused."""

    def attempt():
        try:
            act()
        except error:
            return
        raise AssertionError("nothing was refused")

    return attempt


def references():
    """Return how often the owners are referred to."""
    return sum(map(sys.getrefcount, (source, block, text)))


def repeat(act, times):
    for _ in range(times):
        act()


def measure(act, times):
    """Return the growth and the references gained; growth that is due to chance does not repeat."""
    for _ in range(3):
        gc.collect()
        held, grown = references(), -resident()
        repeat(act, times)
        gc.collect()
        grown += resident()
        gained = references() - held
        if grown <= times and not gained:
            break
    return grown, gained


def main(kind, *names):
    """Measure operations of a set."""
    operations = importlib.import_module(f"growth_{kind}")
    for name in filter(lambda name: name.startswith(names or ""), operations.ACTS):
        act, times = operations.act_of(name), operations.times_of(name)
        repeat(act, min(WARM, times))
        print(name, times, *measure(act, times), flush=True)
        del act


if __name__ == "__main__":
    from growth import main  # not those of __main__: the operations share the owners of the module

    main(*sys.argv[1:])
