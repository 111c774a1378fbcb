"""A long chain of imports of capsules of imports is dropped.  Prints whether its owner is freed."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref

import arrow_given
import numpy as np
from common import NEWEST

import interchange as ix
from interchange import _core
from interchange.abi.arrow import ARROW_ARRAY, ARROW_ARRAY_STREAM


class Owner(np.ndarray):
    """An ndarray that can be referred to weakly."""


def described(array):
    """Return memory of ours that refers to an import."""
    return ix.from_pointer(array.ptr, (3,), "bfloat16", owner=array)


block = (ctypes.c_float * 6)()


def taken(held):
    """Return an owner of an export that keeps an owner of an export."""
    return _core.take_arrow(arrow_given.array(block, held), ARROW_ARRAY)


def streamed(held):
    """Return an owner of a chunk, whose stream is gone."""
    stream = _core.take_arrow(arrow_given.stream(block, held), ARROW_ARRAY_STREAM)
    chunk = _core.new_arrow(ARROW_ARRAY)
    _core.call_stream(stream, "next", chunk)
    return chunk


LINKS = {
    "versioned": lambda array: ix.from_dlpack(array.__dlpack__(**NEWEST)),
    "legacy": lambda array: ix.from_dlpack(array.__dlpack__()),
    "described": lambda array: ix.from_dlpack(described(array).__dlpack__(**NEWEST)),
    "arrow": taken,
    "arrow capsule": lambda held: arrow_given.array(block, held),
    "arrow stream": streamed,
    "arrow array": lambda array: ix.from_pointer(array.ptr, (3,), "float32", owner=taken(array)),
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
