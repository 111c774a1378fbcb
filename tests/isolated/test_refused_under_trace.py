"""A refused import frees its memory, also under a tracer and with a deep stack."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

SCRIPT = """
import ctypes, gc, sys
import numpy as np
import interchange as ix
from interchange import _core
from interchange.abi import capsules

source = np.ones((2, 3))
before = sys.getrefcount(source)

class Producer:
    def __dlpack__(self, *, max_version=None, **_):
        capsule = source.__dlpack__(max_version=max_version)
        name = capsules.capsule_name(capsule)
        at = capsules.capsule_pointer(capsule, name) + (8 if max_version is None else 40)
        if sys.argv[1] != "elsewhere":
            ctypes.c_int32.from_address(at).value = 99  # the device type
        return capsule
    def __dlpack_device__(self):
        return (2, 0) if sys.argv[1] == "elsewhere" else (1, 0)

def fresh():
    return _core.consume_capsule(
        Producer().__dlpack__(max_version=(1, 3)), None, ix.Array, "f()"
    )

WAYS = {
    "fresh": fresh,
    "versioned": lambda: ix.from_dlpack(Producer().__dlpack__(max_version=(1, 3))),
    "legacy": lambda: ix.from_dlpack(Producer().__dlpack__()),
    "elsewhere": lambda: ix.from_dlpack(Producer(), stream=-1),
}
act = WAYS[sys.argv[1]]
for version in (None, (1, 3)):  # its deleters are met, which takes some depth
    ix.from_dlpack(source.__dlpack__(max_version=version))

def look(frame, event, arg):
    if event == "call":
        frame.f_locals  # which the frame keeps as it was then
    return look

if sys.argv[2] == "traced":
    sys.settrace(look)
    try:
        act()
    except BufferError as error:
        sys.settrace(None)
        print(sys.getrefcount(source) - before)  # while the error is still held
else:
    def dive(depth):
        if depth:
            return dive(depth - 1)
        try:
            act()
        except Exception:
            pass
    for depth in range(sys.getrecursionlimit() - 120, sys.getrecursionlimit() + 2):
        try:
            dive(depth)
        except Exception:
            pass
    gc.collect()  # an error that met its like refers to itself
    print(sys.getrefcount(source) - before)
"""
WAYS = ("fresh", "versioned", "legacy", "elsewhere")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("circumstance", ["traced", "deep"])
def test_refused_memory_is_released(run_isolated, way, circumstance):
    """Although a trace function refers to local variables, and at any depth of the stack."""
    assert run_isolated(SCRIPT, way, circumstance) == "0\n"
