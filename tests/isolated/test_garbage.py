"""The collector frees an Array's memory only when nothing can read it any more."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

SCRIPT = """
import gc, sys
import numpy as np
import interchange as ix

COUNT = 300_000  # enough for memory of its own, which faults once it is given back
revived = []

class Stranger:
    def __init__(self, x):
        self.x = x
    def __dlpack__(self, *, max_version=None, **_):
        return (self.x * 1).__dlpack__(max_version=max_version)  # fresh memory, no other owner
    def __dlpack_device__(self):
        return (1, 0)

def block():
    return np.arange(float(COUNT))

ROUTES = {
    "versioned": lambda: ix.from_dlpack(block().__dlpack__(max_version=(1, 0))),
    "legacy": lambda: ix.from_dlpack(block().__dlpack__()),
    "stranger": lambda: ix.from_dlpack(Stranger(block())),
    "straight": lambda: ix.from_dlpack(block()),
    "buffer": lambda: ix.from_buffer(bytearray(block())),
    "re-imported": lambda: ix.from_dlpack(ix.to_capsule(block(), max_version=(1, 0))),
}

class Reader:
    def __init__(self, make, first):
        if first:
            self.array = make()
        self.me = self.read  # a bound method makes the cycle
        if not first:
            self.array = make()
    def read(self):
        head = self.array[:3].tolist() if self.array.dtype.name == "float64" else [0.0, 1.0, 2.0]
        print(head, self.array[COUNT - 1].tolist() >= 0)
    def __del__(self):
        self.read()
        if sys.argv[2] == "revives":
            revived.append(self.array)

for first in (True, False):
    Reader(ROUTES[sys.argv[1]], first)
    gc.collect()
for array in revived:
    print(array.size > 0, array[1].tolist() >= 0)
"""


@pytest.mark.exhaustive(but=["versioned-revives", "straight-reads"])
@pytest.mark.parametrize("after", ["reads", "revives"])
@pytest.mark.parametrize(
    "route", ["versioned", "legacy", "stranger", "straight", "buffer", "re-imported"]
)
def test_a_finaliser_in_the_same_garbage_still_reads(run_isolated, route, after):
    """Memory is given back after the finalisers of a cycle ran, and not if one revives it."""
    report = run_isolated(SCRIPT, route, after)

    expected = "[0.0, 1.0, 2.0] True\n" * 2 + "True True\n" * (2 if after == "revives" else 0)
    assert report == expected
