"""ndarrays that the collector traverses keep their owner alive, for every view of them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._array.native_arrays import native_of


class Owner:
    """Owns memory, and may be waited for."""

    def __init__(self):
        self.block = np.arange(6.0)

    def describe(self):
        return ix.from_pointer(self.block.ctypes.data, (2, 3), "float64", owner=self)


def below(array, depth):
    """Return an object at a given depth of ``base`` below an ndarray."""
    for _ in range(depth):
        array = array.base
    return array


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("look", [native_of, lambda a: native_of(xp.matrix_transpose(a))])
def test_whoever_holds_a_base_holds_the_memory(look, depth):
    """Libraries keep the lowest ndarray in place of a view: its memory must not be freed."""
    owner = Owner()
    alive, array = weakref.ref(owner), owner.describe()
    lowest = below(look(array), depth)
    del owner, array
    gc.collect()

    assert lowest is not None
    assert alive() is not None


def test_a_copy_of_a_tracked_array_has_no_base():
    """A copy of a tracked array owns its memory and has no base."""
    array = native_of(Owner().describe()).base

    assert array.copy().base is None
