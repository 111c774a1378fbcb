"""Operators on both cores: the same results and errors for every pair, and no leaks."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

ALIKE = """
import operator, warnings
import numpy as np
import interchange as ix
from interchange import xp

warnings.simplefilter("ignore")

class Wraps:
    def __radd__(self, other):
        return "theirs"

    def __gt__(self, other):
        return "greater"

flat = np.arange(6.0)
far = ix.asarray(np.arange(12.0)[::2])
OPERANDS = {
    "array": ix.asarray(flat), "computed": ix.asarray(flat) + 1, "view": ix.asarray(flat)[::-1],
    "far": far, "integers": ix.asarray(np.arange(6)), "bools": ix.asarray(np.arange(6) > 2),
    "matrix": xp.reshape(xp.arange(36.0), (6, 6)), "0-d": ix.asarray(np.array(2.0)),
    "computed 0-d": ix.asarray(np.array(2.0)) + 1, "empty": xp.zeros(0), "one": xp.ones(1),
    "read-only": ix.asarray(b"abcdef"), "other shape": xp.zeros(4),
    "int": 2, "float": 2.5, "bool": True, "complex": 1j, "big": 10**30, "np.float32": np.float32(2),
    "np.bool": np.True_, "ndarray": flat, "text": "a", "None": None, "list": [1], "theirs": Wraps(),
}
WORDS = ["add", "and_", "floordiv", "lshift", "matmul", "mod", "mul", "or_", "pow", "rshift", "sub",
         "truediv", "xor", "lt", "le", "eq", "ne", "gt", "ge"]

def shown(x):
    if type(x) is ix.Array:
        return f"{x.dtype} {x.shape} {x.readonly} {x.tolist()}"
    return repr(x)

for word in WORDS:
    act = getattr(operator, word)
    for one, x in OPERANDS.items():
        for other, y in OPERANDS.items():
            if not (isinstance(x, ix.Array) or isinstance(y, ix.Array)):
                continue
            for again in range(2):  # the second time, both keep their ndarrays
                try:
                    print(word, one, other, shown(act(x, y)))
                except Exception as error:
                    print(word, one, other, type(error).__name__, str(error)[:200])
"""

GROWTH = """
import gc, sys
import numpy as np
import interchange as ix

x, flat = ix.asarray(np.ones(3)) + 1, ix.asarray(np.array(2.0)) + 1
other = ix.asarray(np.ones(2)) + 1

def refused(act):
    try:
        act()
    except (TypeError, ValueError):
        pass

def work():
    x + x, 1 + x, x < x, x == 2.5, flat * flat, x @ x
    for act in (lambda: x + other, lambda: x + "a", lambda: x | 1.5, lambda: x < "a"):
        refused(act)

def blocks():
    gc.collect()
    return sys.getallocatedblocks()

for _ in range(100):
    work()
before = blocks()
for _ in range(2000):
    work()
print(blocks() - before < 100)
"""


def test_operators_end_alike(run_isolated, cores):
    """Element type, shape, flags and elements of every pair agree; or class and message."""
    readable, native = (
        run_isolated(ALIKE, env={"INTERCHANGE_CORE": name}).splitlines() for name in cores
    )

    assert native == readable


def test_operators_leave_nothing_behind(run_isolated, cores):
    """Neither results nor refusals leak."""
    for name in cores:
        assert run_isolated(GROWTH, env={"INTERCHANGE_CORE": name}) == "True\n"
