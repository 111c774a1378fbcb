"""Both cores answer callers of __dlpack__ in the same way, even for invalid arguments."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

CALLS = """
import ctypes, json
import interchange as ix
from interchange.abi import capsule_name
block = (ctypes.c_float * 6)()
array = ix.from_pointer(ctypes.addressof(block), (2, 3), "float32", owner=block)
BIG = 10**30
VERSIONS = [
    (0, 5), (-1, 0), (1, -1), (True, 0), (BIG, 0), (-BIG, 0), (1, BIG), (1,), (1, 2, 3), [1, 0],
    "1", (1.0, 0), (2, 0), (1, 0), (1, "a"), 1, 0, False, (), None,
]
KEYWORDS = [
    {}, {"stream": None}, {"stream": 0}, {"stream": -1}, {"stream": 1}, {"stream": "1"},
    {"dl_device": (1, 0)}, {"dl_device": (2, 0)}, {"dl_device": 1}, {"copy": False},
    {"copy": True}, {"copy": 1}, {"bad": 1}, {f"k{i}": i for i in range(70)},
    {"copy": None, "dl_device": None, "stream": None, "max_version": (1, 3)},
    {"stream": None, "max_version": None, "bad": None},
]
def outcome(act):
    try:
        return capsule_name(act()).decode()
    except Exception as error:
        words = str(error).replace("Tensor.__dlpack__", "Array.__dlpack__")
        return type(error).__name__, getattr(error, "rule", None), words
for version in VERSIONS:
    print(json.dumps(outcome(lambda: array.__dlpack__(max_version=version))))
for keywords in KEYWORDS:
    print(json.dumps(outcome(lambda: array.__dlpack__(**keywords))))
for count in (1, 2, 70):
    print(json.dumps(outcome(lambda: array.__dlpack__(*range(count)))))
"""

IMPORTS = """
import json
import numpy as np
import interchange as ix
x = np.ones(3)
def outcome(*args, **keywords):
    try:
        return str(ix.from_dlpack(*args, **keywords).shape)
    except Exception as error:
        return type(error).__name__, getattr(error, "rule", None), str(error)
class Text(str):
    pass
for again in range(3):
    for args, keywords in [
        ((), {}), ((x,), {}), ((x, x), {}), ((), {"x": x}), ((x,), {"foo": 1}), ((x,), {"copy": 3}),
        ((x,), {"copy": False}), ((x,), {"device": None}), ((x,), {"stream": 1}), ((None,), {}),
        ((x,), {Text("copy"): None}), ((np.ndarray,), {}), ((ix.Array,), {}), ((ix,), {}),
        ((x.__dlpack__,), {}), ((x[0],), {}), (([x],), {}), ((ix.from_dlpack(x),), {}),
    ]:
        print(json.dumps(outcome(*args, **keywords)).replace("import_()", "from_dlpack()"))
"""

NOTHING = """
import copy, json, pickle
import interchange as ix
nothing = object.__new__(ix.Array)
class Sub(ix.Array):
    __slots__ = ("a", "__dict__")
ACTS = [
    repr, str, len, bool, hash, iter, memoryview, copy.copy, copy.deepcopy, pickle.dumps,
    ix.from_dlpack, ix.asarray, ix.inspect, lambda x: x.ptr, lambda x: x.shape, lambda x: x.T,
    lambda x: x.__dlpack__(), lambda x: x.__dlpack__(max_version=(1, 3)), lambda x: x[0],
    lambda x: x.__dlpack__(copy=True), lambda x: x.__dlpack_device__(), lambda x: x + 1,
    lambda x: x == x, lambda x: x.tolist(), lambda x: x.device, lambda x: x.dtype,
    lambda x: x.__cuda_array_interface__, lambda x: x.__array_interface__, lambda x: x.strides,
]
for x in (nothing, object.__new__(Sub)):
    for act in ACTS:
        try:
            act(x)
            print("fine")
        except (AttributeError, TypeError) as error:
            print(type(error).__name__)
"""


@pytest.mark.parametrize("script", ["CALLS", "IMPORTS", "NOTHING"])
def test_calls_end_alike(run_isolated, cores, script):
    """Class, rule and message of every call agree; for an uninitialised Array the class."""
    readable, native = (
        run_isolated(globals()[script], env={"INTERCHANGE_CORE": name}).splitlines()
        for name in cores
    )

    assert native == readable
