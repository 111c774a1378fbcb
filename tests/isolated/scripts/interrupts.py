"""Exchanges are interrupted at random moments by a handler that raises.  Prints what leaks.

``interrupts.py LOOP ROUNDS [SEED]`` prints how many interrupts ended an exchange, how many were
raised in a finaliser of ours, where CPython reports and drops them, in another finaliser, and how
many references to owners were left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import itertools
import random
import signal
import sys

import arrow_given
import numpy as np
from common import NEWEST

import interchange as ix
from interchange import _core
from interchange.abi import capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_ARRAY_STREAM, ARROW_SCHEMA

PATIENCE = 600.0  # [seconds]
SOONEST, LATEST = 5e-6, 250e-6  # of an interrupt [seconds]
WARM = 300
block = np.zeros(64, np.uint8)


class Interrupted(BaseException):
    """The exception of the handler; no code catches it by its class."""


def export():
    """Memory of ours is described and exported: for the first time, and again."""
    again = [describe("bfloat16"), describe("float32")]
    lends = [array.__dlpack__(**NEWEST) and maker_of(array) for array in again]

    def act():
        for array in again:
            array.__dlpack__(**NEWEST)
            array.__dlpack__()
            array.__dlpack__(**NEWEST)
            array.__dlpack__()
        describe("float32").__dlpack__(**NEWEST)

    return act, lambda: sum(map(sys.getrefcount, (block, *lends)))


def maker_of(array):
    """Return the ctypes core's functions that create capsules, or that keep memory."""
    make = getattr(array, "_make_capsule", None)
    return getattr(make, "__self__", array._keepalive)


def describe(dtype):
    """Return an Array over memory of ours."""
    return ix.from_pointer(block.ctypes.data, (2, 3), dtype, owner=block)


def numpy():
    """An ndarray comes in, straight and by negotiation."""
    source = np.ones((2, 3))

    def act():
        ix.from_dlpack(source)
        ix.from_dlpack(source, device="cpu")

    return act, lambda: sys.getrefcount(source)


def torch():
    """A tensor comes in through the table of C functions."""
    import torch

    source = torch.ones(2, 3)
    return lambda: ix.from_dlpack(source), source._use_count


def capsule():
    """A capsule is imported: one of each generation, and a refused one."""
    source = np.ones((2, 3))
    strange = ix.from_pointer(block.ctypes.data, (2, 3), "float32", device=(12, 0), owner=block)

    def act():
        ix.from_dlpack(source.__dlpack__())
        ix.from_dlpack(source.__dlpack__(**NEWEST))
        ix.from_buffer(block)
        made = strange.__dlpack__(**NEWEST)
        address = capsules.capsule_pointer(made, capsules.VERSIONED)
        ctypes.c_int32.from_address(address + 40).value = 99  # the device type
        with contextlib.suppress(BufferError):
            ix.from_dlpack(made)

    return act, lambda: sum(map(sys.getrefcount, (source, block)))


def cai():
    """A record comes in."""
    from interchange_conformance.emucuda import load

    load()
    from cuda.bindings import driver

    for name, *args in (("cuInit", 0), ("cuDevicePrimaryCtxRetain", 0)):
        context = getattr(driver, name)(*args)[-1]
    driver.cuCtxSetCurrent(context)
    record = {"shape": (2, 3), "typestr": "<f4", "data": (int(driver.cuMemAlloc(64)[1]), False)}
    record.update(version=3, stream=None, strides=None)
    owner = type("Owner", (), {"__cuda_array_interface__": record})()
    return lambda: ix.from_cai(owner), lambda: sys.getrefcount(owner)


def arrow():
    """Arrow structs are taken from capsules and streams, and exported if possible."""
    floats = (ctypes.c_float * 6)()

    def act():
        _core.take_arrow(arrow_given.array(floats, block), ARROW_ARRAY)
        stream = _core.take_arrow(arrow_given.stream(floats, block), ARROW_ARRAY_STREAM)
        schema, chunk = _core.new_arrow(ARROW_SCHEMA), _core.new_arrow(ARROW_ARRAY)
        _core.call_stream(stream, "schema", schema)
        _core.call_stream(stream, "next", chunk)
        _core.call_stream(stream, "next", chunk)
        _core.stream_error(stream)

    return act, lambda: sys.getrefcount(block)


class Timer:
    """Interrupts once, some time from now, and again if that was raised where it is lost."""

    def __init__(self, seed):
        self.moments = random.Random(seed)  # noqa: S311 - moments
        self.is_set = False
        self.dropped = {"ours": 0, "another": 0}

    def set(self, soonest=SOONEST):
        self.is_set = True
        signal.setitimer(signal.ITIMER_REAL, self.moments.uniform(soonest, LATEST))

    def ring(self, *_):
        if self.is_set:
            self.is_set = False
            raise Interrupted

    def count_dropped(self, unraisable):
        """Count an interrupt in a finaliser, and tell anything else."""
        self.is_set = False
        if unraisable.exc_type is Interrupted:
            module = getattr(unraisable.object, "__module__", None) or ""
            self.dropped["ours" if module.startswith("interchange.") else "another"] += 1
        else:
            sys.__unraisablehook__(unraisable)
        self.set(LATEST / 2)


def interrupted(act, rounds, timer):
    """Act until it was interrupted so often; one interrupt is over before the next comes."""
    for _ in range(rounds):
        with contextlib.suppress(Interrupted):
            timer.set()
            while True:
                act()


def main(name, rounds, seed=1):
    act, references = globals()[name]()
    for _ in range(WARM):
        act()
    gc.collect()
    before, timer = references(), Timer(int(seed))
    signal.signal(signal.SIGALRM, timer.ring)
    sys.unraisablehook = timer.count_dropped
    interrupted(act, int(rounds), timer)
    gc.collect()
    counts = {"rounds": rounds, **timer.dropped, "left": references() - before}
    print(name, *itertools.chain.from_iterable(counts.items()))


if __name__ == "__main__":
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    main(*sys.argv[1:])
