"""Many threads do the same with the same objects at once: ``together.py SECONDS OPERATION``.

Prints the errors; there must be none.  Objects for a first use are created for each
round; all threads begin a round together.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
import threading
import time

import numpy as np
from common import in_threads

import interchange as ix
from interchange.testing import producers

THREADS = 8
SETS = 16
"""The number of objects for first uses in a round, so that threads do not wait for each other."""
LEAST = 3  # rounds, however slow the machine is
PATIENCE = 20.0  # [seconds]
VERSION = (1, 3)
ndarray = np.arange(24, dtype="f4").reshape(2, 3, 4)


def nothing():
    """Return no error once all objects are dropped."""
    return True


def import_and_drop():
    """One ndarray, one Array, one buffer: imported and dropped without a leak."""
    ours, block = ix.from_dlpack(ndarray), bytearray(8)

    def act(_):
        taken = ix.from_dlpack(ndarray), ix.from_dlpack(ours), ix.asarray(block)
        return tuple(x.shape for x in taken) == ((2, 3, 4), (2, 3, 4), (8,))

    return act, all, nothing


def array_of(capsule):
    """Return the Array of a capsule, None where another thread won it."""
    try:
        return ix.from_dlpack(capsule)
    except ix.ConsumedCapsuleError:
        return None


def consume_one_capsule():
    """One thread consumes the capsule, the others get an error, and the deleter runs once."""
    sources = [producers.host().but(generation=name) for name in ("legacy", "versioned")]
    capsules = [source.__dlpack__() for source in sources]

    def act(_):
        return [array_of(capsule) for capsule in capsules]

    def judge(results):
        wins = [sum(array is not None for array in each) for each in zip(*results, strict=True)]
        return (wins, [source.deleter_calls for source in sources]) == ([1, 1], [0, 0])

    return act, judge, lambda: [source.deleter_calls for source in sources] == [1, 1]


def meet_a_type():
    """A new type, while others are collected."""
    kind = type("Sub", (np.ndarray,), {})
    x = ndarray.view(kind)
    others = [type("Other", (np.ndarray,), {}) for _ in range(THREADS)]

    def act(which):
        other = ndarray[0].view(others[which])
        others[which] = None
        found = [ix.from_dlpack(x), ix.asarray(x), ix.from_dlpack(other), ix.from_dlpack(x)]
        return [y.shape for y in found] == [(2, 3, 4), (2, 3, 4), (3, 4), (2, 3, 4)]

    return act, all, nothing


def meet_a_dtype():
    """Dtype objects of their own, as unpickled arrays have, of several types in turn."""
    blocks = [pickle.loads(pickle.dumps(np.ones(3, kind))) for kind in ("f8", "i2", "c16", "?")]

    def act(which):
        found = [ix.from_dlpack(blocks[(which + i) % 4]) for i in range(8)]
        expected = [blocks[(which + i) % 4].dtype.name for i in range(8)]
        return [str(y.dtype) for y in found] == expected

    return act, all, nothing


def export_first():
    """Memory that an Array owns is shared by exports, and released once, after all of them."""
    source = producers.host().but(generation="versioned")
    x = ix.from_dlpack(source.__dlpack__())

    def act(_):
        return ix.from_dlpack(x.__dlpack__(max_version=VERSION)), x._keepalive, np.from_dlpack(x)

    def judge(results):
        nonlocal x
        kept = {id(keep) for _, keep, _ in results}
        same = {each[0].ptr for each in results} == {x.ptr}
        x = None
        return (len(kept), same, source.deleter_calls) == (1, True, 0)

    return act, judge, lambda: source.deleter_calls == 1


def describe_first():
    """A computed result, and a description made in Python, are read by all threads."""
    computed = ix.from_dlpack(ndarray) + 1
    block = (ctypes.c_double * 7)(*range(7))
    shape = (1,) * 8 + (7,)
    described = ix.from_pointer(ctypes.addressof(block), shape, "float64", owner=block)
    imported = ix.from_dlpack(ndarray)

    def act(_):
        kinds = computed.dtype, described.dtype, imported.dtype
        exported = [x.__dlpack__(max_version=VERSION) for x in (computed, described, imported)]
        shapes = [ix.from_dlpack(capsule).shape for capsule in exported]
        same = [x.ptr == ix.from_dlpack(x).ptr for x in (computed, described, imported)]
        specs = tuple(id(x._spec) for x in (computed, described, imported))
        return tuple(map(str, kinds)), computed.readonly, tuple(shapes), all(same), specs

    def judge(results):
        kinds, readonly, shapes, same, _ = results[0]
        expected = ("float32", "float64", "float32"), False, ((2, 3, 4), shape, (2, 3, 4)), True
        return len(set(results)) == 1 and (kinds, readonly, shapes, same) == expected

    return act, judge, nothing


def change_fields():
    """Fields are set and read; the old value lives as long as there is a reference to it."""
    x = ix.from_dlpack(ndarray)

    def act(which):
        keep = x._keepalive
        x._owner = [which]
        x._keepalive = (keep, which) if keep is ndarray else ndarray
        x._flags = which % 2
        x._pending_work = None
        return type(x._owner) is list and x._flags in {0, 1} and x._pending_work is None

    return act, all, nothing


def compute():
    """Operators of the same Arrays, whose library is met by all at once."""
    x, y = ix.asarray(ndarray), ix.asarray(np.ones((2, 3, 4)))

    def act(_):
        found = x + y, 24 - x, x < y, y / 2
        return [z.tolist() for z in found] == [
            (ndarray + 1).tolist(),
            (24 - ndarray).tolist(),
            (ndarray < 1).tolist(),
            np.full((2, 3, 4), 0.5).tolist(),
        ]

    return act, all, nothing


def check_contracts():
    """One function with a contract that some arguments meet and others do not."""

    @ix.accepts_arrays(x=ix.Contract(dtype="float32", shape=("n", 3, "m"), writable=True))
    def shape_of(x):
        return x.shape

    wrong = np.ones((2, 3), np.int8)

    def act(which):
        if which % 2:
            return shape_of(ndarray) == (2, 3, 4)
        try:
            shape_of(wrong)
        except ix.ContractError as error:
            return "int8" in str(error)

    return act, all, nothing


class Rounds:
    """Rounds of one operation, until the time is over or an error occurs."""

    def __init__(self, prepare, seconds):
        self.prepare, self.end = prepare, time.monotonic() + seconds
        self.beginning = threading.Barrier(THREADS, self.begin)
        self.looking = threading.Barrier(THREADS, self.look)
        self.count, self.wrong = 0, []

    def run(self):
        """Return the number of rounds, and the errors of the last one."""
        in_threads(self.work, THREADS)
        return self.count, self.wrong[:1]

    def begin(self):
        late = self.count >= LEAST and time.monotonic() > self.end
        self.is_over = late or bool(self.wrong)
        if not self.is_over:
            self.count += 1
            self.results = [None] * THREADS
            prepared = [self.prepare() for _ in range(SETS)]
            self.acts, self.judges, self.ends = zip(*prepared, strict=True)

    def look(self):
        for judge, *results in zip(self.judges, *self.results, strict=True):
            if not self.wrong and not judge(results):
                self.wrong.append(f"round {self.count}: {results!r:.300}")

    def see_the_end(self):
        """Wait until dropped objects are collected, each by its own thread without the GIL."""
        limit = time.monotonic() + PATIENCE
        while not self.wrong and not all(end() for end in self.ends):
            if time.monotonic() > limit:
                self.wrong.append(f"round {self.count}: something is left")
            time.sleep(0)

    def work(self, which):
        while True:
            self.beginning.wait()
            if self.is_over:
                return
            try:
                self.results[which] = [act(which) for act in self.acts]
            except BaseException as error:  # noqa: BLE001 - reported at the end
                self.results[which] = [None] * SETS
                self.wrong.append(repr(error))
            self.looking.wait()
            self.results[which] = None
            self.see_the_end()


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    held = sys.getrefcount(ndarray)
    count, wrong = Rounds(globals()[sys.argv[2]], float(sys.argv[1])).run()
    gc.collect()
    print(count >= LEAST, wrong, sys.getrefcount(ndarray) - held, flush=True)
