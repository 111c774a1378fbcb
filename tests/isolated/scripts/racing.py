"""Two threads import one capsule, repeatedly.  Prints the outcomes of the rounds.

``alike``: both are threads of ours, which start together; ``arrow``: likewise, with an Arrow
struct.  ``torch``: the other is torch, which consumes a capsule in one step of C, at an arbitrary
moment.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import threading

import arrow_given
from common import in_threads

import interchange as ix
from interchange import _core
from interchange.abi import BrokenRule
from interchange.abi.arrow import ARROW_ARRAY
from interchange.testing import producers

SWITCH = 1e-6  # [seconds] between changes of threads


def outcome(act, lost):
    """Return what `act` returned, or None where the capsule was lost to another."""
    try:
        return act()
    except lost:
        return None


def race(capsules, take, lost):
    """Return what each of two threads took of some capsules, None where it was second."""
    barrier = threading.Barrier(2)
    taken = [[None] * len(capsules), [None] * len(capsules)]

    def work(which):
        for number, capsule in enumerate(capsules):
            if number % 50 == 0:
                barrier.wait()
            taken[which][number] = outcome(lambda c=capsule: take(c), lost)

    in_threads(work, 2)
    return taken


def winners_of(taken):
    """Return how many of the two imports succeeded in a round."""
    return {sum(one is not None for one in pair) for pair in zip(*taken, strict=True)}


def alike(rounds):
    """Both threads consume strictly; deleters are counted."""
    source = producers.host().but(generation=sys.argv[2])
    capsules = [source.__dlpack__() for _ in range(rounds)]
    taken = race(capsules, ix.from_dlpack, ix.ConsumedCapsuleError)
    winners, before = winners_of(taken), set(source.counts)
    taken.clear()
    capsules.clear()
    print("winners", *winners, "released", *before, "then", *set(source.counts))


def arrow(rounds):
    """Both threads move the struct out; each of its nodes keeps a reference to the memory."""
    block, keep = (ctypes.c_float * 6)(), object()
    before = sys.getrefcount(keep)
    capsules = [arrow_given.array(block, keep) for _ in range(rounds)]
    taken = race(capsules, lambda capsule: _core.take_arrow(capsule, ARROW_ARRAY), BrokenRule)
    winners = winners_of(taken)
    capsules.clear()
    held = (sys.getrefcount(keep) - before) / rounds / arrow_given.NODES
    taken.clear()
    print("winners", *winners, "held", held, "then", sys.getrefcount(keep) - before)


def against_torch(rounds):
    """A capsule is claimed in one step, or another library claims it in between."""
    import numpy as np
    from torch.utils.dlpack import from_dlpack

    array = np.ones(3)
    capsules = [array.__dlpack__() for _ in range(rounds)]
    ours, theirs, at = [None] * rounds, [None] * rounds, [0]

    def other():
        while at[0] < rounds - 1:
            number = at[0]
            # what torch makes of a consumed capsule is a RuntimeError
            if theirs[number] is None:
                theirs[number] = outcome(lambda n=number: from_dlpack(capsules[n]), RuntimeError)

    thread = threading.Thread(target=other)
    thread.start()
    for number, capsule in enumerate(capsules):
        at[0] = number
        for _ in range(random.randrange(60)):  # noqa: S311 - any moment will do
            pass
        ours[number] = outcome(lambda c=capsule: ix.from_dlpack(c), ix.ConsumedCapsuleError)
    thread.join()
    both = sum(mine is not None and its is not None for mine, its in zip(ours, theirs, strict=True))
    lost = sum(its is not None for its in theirs)
    print("both won", both, "and torch won some" if lost else "and torch won none", flush=True)
    os._exit(0)  # a capsule that was consumed twice must not be released twice here


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH)
    if sys.argv[1] == "alike":
        alike(2000)
    elif sys.argv[1] == "arrow":
        arrow(5000)
    else:
        against_torch(40_000)
