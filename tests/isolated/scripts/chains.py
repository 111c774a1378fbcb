"""A long chain of imports of capsules of imports is dropped.  Prints whether its owner is freed."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np

import interchange as ix

NEWEST = {"max_version": (1, 3)}


class Owner(np.ndarray):
    """An ndarray that can be referred to weakly."""


def described(array):
    """Return memory of ours that refers to an import."""
    return ix.from_pointer(array.ptr, (3,), "bfloat16", owner=array)


LINKS = {
    "versioned": lambda array: ix.from_dlpack(array.__dlpack__(**NEWEST)),
    "legacy": lambda array: ix.from_dlpack(array.__dlpack__()),
    "described": lambda array: ix.from_dlpack(described(array).__dlpack__(**NEWEST)),
    "owner": lambda array: described(ix.from_dlpack(array.__dlpack__(**NEWEST))),
}


def drop_chain(link, length):
    source = np.ones(3).view(Owner)
    alive = weakref.ref(source)
    array = ix.from_dlpack(source)
    for _ in range(length):
        array = LINKS[link](array)
    del source, array
    gc.collect()
    print("freed", alive() is None, flush=True)


if __name__ == "__main__":
    where, link, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if where == "main":
        drop_chain(link, length)
    else:
        thread = threading.Thread(target=drop_chain, args=(link, length))
        thread.start()
        thread.join()
