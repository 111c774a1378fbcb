"""One allocation fails in each exchange, the next one in the next.  Prints leaks.

``allocations.py ACT`` prints the number of exchanges that failed, and those after which references
to owners were left.
"""

from __future__ import annotations

import _testcapi
import ctypes
import gc
import sys

import arrow_given
import numpy as np
from common import NEWEST

import interchange as ix
from interchange import _core
from interchange.abi.arrow import ARROW_ARRAY, ARROW_ARRAY_STREAM, ARROW_SCHEMA

MOST, WARM = 200, 20
block, source = np.zeros(64, np.uint8), np.ones((2, 3))


def describe():
    return ix.from_pointer(block.ctypes.data, (2, 3), "bfloat16", owner=block)


floats = (ctypes.c_float * 6)()


def arrow_array():
    return arrow_given.array(floats, block)


def arrow_stream():
    return arrow_given.stream(floats, block)


def take_array(capsule):
    return _core.take_arrow(capsule, ARROW_ARRAY)


def ask_stream(stream):
    """Let a stream export its chunks; if a call fails, earlier results are collected."""
    schema, chunk = _core.new_arrow(ARROW_SCHEMA), _core.new_arrow(ARROW_ARRAY)
    _core.call_stream(stream, "schema", schema)
    _core.call_stream(stream, "next", chunk)
    return schema, chunk


again = describe()
again.__dlpack__()
again.__dlpack__(**NEWEST)
kept = []

ACTS = {  # the setup, and the call under test
    "export-versioned": (list, lambda _: again.__dlpack__(max_version=(1, 3))),
    "export-legacy": (list, lambda _: again.__dlpack__()),
    "export-first": (list, lambda _: describe().__dlpack__(**NEWEST)),
    "import-versioned": (lambda: source.__dlpack__(**NEWEST), ix.from_dlpack),
    "import-legacy": (source.__dlpack__, ix.from_dlpack),
    "import-own": (lambda: again.__dlpack__(**NEWEST), ix.from_dlpack),
    "import-numpy": (lambda: source, ix.from_dlpack),
    "import-buffer": (lambda: block, ix.from_buffer),
    "arrow-array": (list, lambda _: arrow_array()),
    "arrow-stream": (list, lambda _: arrow_stream()),
    "arrow-take": (arrow_array, take_array),
    "arrow-ask": (lambda: _core.take_arrow(arrow_stream(), ARROW_ARRAY_STREAM), ask_stream),
}


def references():
    maker = getattr(again, "_make_capsule", None)  # of the ctypes core
    owners = (block, source, getattr(maker, "__self__", again._keepalive))
    return sum(map(sys.getrefcount, owners))


def attempt(act, made, place):
    """Return whether the call failed; its results are collected when memory is available again."""
    _testcapi.set_nomemory(place, place + 1)
    try:
        kept.append(act(made))
    except Exception:  # noqa: BLE001 - MemoryError, and what ctypes and libraries make of it
        return True
    finally:
        _testcapi.remove_mem_hooks()
    return False


def main(name):
    make, act = ACTS[name]
    for _ in range(WARM):
        act(make())
    kept.extend([None] * MOST)  # room
    kept.clear()
    gc.collect()
    before, failed, leaking = references(), 0, []
    for place in range(MOST):
        failed += attempt(act, make(), place)
        kept.clear()
        if references() != before:
            leaking.append(place)
            before = references()
    print(failed > 0, leaking)


if __name__ == "__main__":
    main(sys.argv[1])
