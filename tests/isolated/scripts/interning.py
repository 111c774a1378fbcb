"""Devices and element types are created by two threads at once, in a way that the argument names.

Prints the number of bytecodes, if any, and what was wrong.
"""

from __future__ import annotations

import gc
import itertools
import pickle
import sys
import threading

import switching
from common import in_threads

import interchange as ix

NUMBERS = itertools.count(100)
MAKERS = {
    "device": lambda n: ix.Device(2, n),
    "device by name": lambda n: ix.Device.of(f"cuda:{n}"),
    "device of a pickle": lambda n: pickle.loads(b"cinterchange\nDevice\n(I2\nI%d\ntR." % n),
    "dtype": lambda n: ix.DType(2, 32, n),
    "dtype by name": lambda n: ix.DType.of(f"float32x{n}"),
    "dtype of a pickle": lambda n: pickle.loads(
        b"cinterchange._types.dtypes\n_from_text\n(Vfloat32x%d\ntR." % n
    ),
}


FILES = ("_types/devices.py", "_types/dtypes.py", "_types/interning.py", "/weakref.py")


def judge(thing, one, other):
    """Return the outcomes that are not the same object."""
    make, number = thing[:2]
    if isinstance(one, BaseException) or isinstance(other, BaseException):
        return f"{one!r} {other!r}"
    later = make(number)
    return None if one is other is later else "two objects"


def first_met(name):
    """Both threads create new objects."""
    return switching.try_all(
        lambda: (MAKERS[name], next(NUMBERS)),
        lambda t: t[0](t[1]),
        lambda t: t[0](t[1]),
        judge,
        FILES,
    )


def dropped(name):
    """One thread drops the last reference while the other requests the object."""

    def make():
        number = next(NUMBERS)
        return MAKERS[name], number, [MAKERS[name](number)]

    def drop(thing):
        thing[2].clear()
        return thing[0](thing[1])

    return switching.try_all(make, drop, lambda t: t[0](t[1]), judge, FILES)


def many(name):
    """Many threads make the same, without a trace function, as often as they can."""
    sys.setswitchinterval(1e-6)
    threads, rounds = 8, 400
    barrier = threading.Barrier(threads)
    made = [[None] * threads for _ in range(rounds)]

    def work(which):
        for number, row in enumerate(made):
            if number % 20 == 0:
                barrier.wait()
            row[which] = MAKERS[name](number + 100)

    in_threads(work, threads)
    return rounds, sum(len(set(map(id, row))) > 1 for row in made) or {}


def in_garbage(name):
    """A finaliser revives what held the only reference."""
    revived = []

    class Holder:
        def __init__(self, value):
            self.value, self.me = value, self

        def __del__(self):
            revived.append(self.value)

    Holder(MAKERS[name](777))
    gc.collect()
    return len(revived), {} if MAKERS[name](777) is revived[0] else "two objects"


CASES = {"met": first_met, "dropped": dropped, "many": many, "garbage": in_garbage}
count, wrong = CASES[sys.argv[1]](sys.argv[2])
print(count > 0, wrong)
