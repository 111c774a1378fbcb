"""100,000 views and handles leave memory and reference counts where they were."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

OBJECTS = (
    *("ndarray", "many-axes", "array", "capsule-array", "computed", "bytes", "interface"),
    *("device", "subclass"),
)
SCRIPT = """
import gc, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy as np
import interchange as ix
import probe

class Interface:
    def __init__(self, x):
        self.x, self.__array_interface__ = x, x.__array_interface__

block = np.ones((2, 3))
MAKE = {
    "ndarray": lambda: block,
    "many-axes": lambda: block.reshape((1,) * 9 + (6,)),
    "array": lambda: ix.asarray(block),
    "capsule-array": lambda: ix.from_dlpack(block.__dlpack__()),
    "computed": lambda: ix.asarray(block) + 1,
    "bytes": lambda: b"abcdef",
    "interface": lambda: Interface(block),
    "device": lambda: ix.from_pointer(4096, (2, 3), "float32", device="cuda:0", stream=7),
    "subclass": lambda: block.view(type("Block", (np.ndarray,), {})),
}
x = MAKE[sys.argv[2]]()
is_slow = sys.argv[2] in {"bytes", "interface", "device", "subclass"}
count = 20_000 if is_slow else 100_000

def measure():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), sys.getrefcount(x), sys.getrefcount(block)

def work(count):
    probe.views(x, count)
    probe.views_with(x, count)
    if type(x) is ix.Array:
        probe.handles(x, count)

work(2000)
before = measure()
work(count)
after = measure()
print((after[0] - before[0]) / count, after[1] - before[1], after[2] - before[2])
"""


@pytest.mark.parametrize("kind", OBJECTS)
def test_views_and_handles_leave_nothing(run_isolated, probe, kind):
    """Less than a byte of memory each, and no reference."""
    grown, *references = run_isolated(SCRIPT, probe.parent, kind).split()

    assert (float(grown) < 2, references) == (True, ["0", "0"])


def test_refusals_leave_nothing(run_isolated, probe):
    """The view of an object that is no array, and its release, leak nothing."""
    script = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import interchange as ix
import probe

x = object()

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

probe.refusals(x, 10_000)  # CPython 3.10 takes one more block of memory late
before = resident(), sys.getrefcount(x)
probe.refusals(x, 10_000)
print((resident() - before[0]) / 10_000, sys.getrefcount(x) - before[1])
"""
    grown, references = run_isolated(script, probe.parent).split()

    assert (float(grown) < 20, references) == (True, "0")


def test_threads_that_share_arrays_leave_nothing(run_isolated, probe):
    """Eight of them, who view the same arrays and ask the same handles."""
    script = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
import interchange as ix
import probe

sys.setswitchinterval(1e-5)
block = np.ones((2, 3))
arrays = [ix.asarray(block), ix.asarray(block) + 1, ix.from_dlpack(block.__dlpack__())]
probe.views(block, 10)
before = [sys.getrefcount(x) for x in (block, *arrays)]

def work():
    for _ in range(200):
        probe.views(block, 100)
        for x in arrays:
            probe.views(x, 100)
            probe.handles(x, 100)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([sys.getrefcount(x) for x in (block, *arrays)] == before)
"""
    assert run_isolated(script, probe.parent) == "True\n"
