"""The library array of an Array: references between them, and garbage collection."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._array.native_arrays import native_of
from interchange._core._cycles import may_refer_back


class Owner:
    """Owns memory, and keeps its own Array."""

    def __init__(self):
        self.block = np.arange(6.0).reshape(2, 3)
        self.array = ix.from_pointer(self.block.ctypes.data, (2, 3), "float64", owner=self)


VIEWS = {
    "an Array of reshape": lambda x: xp.reshape(x, (6,)),
    "an Array of flip": xp.flip,
    "an Array of a transpose": lambda x: x.T,
    "an Array of an index": lambda x: x[1:],
    "an Array of broadcast_to": lambda x: xp.broadcast_to(x, (2, 2, 3)),
    "an Array of diagonal": xp.linalg.diagonal,
    "a view of a view": lambda x: xp.reshape(xp.reshape(x, (6,)), (3, 2))[1:],
    "an ndarray": np.asarray,
    "the library's array": native_of,
    "a view of the library's array": lambda x: native_of(x)[1:].T,
    "a memoryview": lambda x: x.as_memoryview(),
    "what a memoryview is of": lambda x: x.as_memoryview().obj,
    "a view of what a memoryview is of": lambda x: x.as_memoryview().obj[1:],
    "an ndarray of what a memoryview is of": lambda x: np.asarray(x.as_memoryview().obj)[1:].T,
    "an ndarray of a memoryview": lambda x: np.asarray(x.as_memoryview())[1:],
    "a capsule": lambda x: x.__dlpack__(max_version=(1, 0)),
}


@pytest.mark.parametrize("look", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("computed", [False, True])
def test_a_view_keeps_the_owner_alive(look, computed):
    """A view keeps the owner alive, however it was created."""
    owner = Owner()
    alive = weakref.ref(owner)
    if computed:
        owner.array + 1
    view = look(owner.array)
    del owner
    gc.collect()

    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "keep", [lambda x: x.as_memoryview(), lambda x: memoryview(x.as_memoryview())[1:]]
)
def test_an_owner_that_keeps_its_memoryview_is_collected(keep):
    """The collector traverses a memoryview and its exporter."""
    owner = Owner()
    alive = weakref.ref(owner)
    owner.kept = keep(owner.array)
    del owner
    gc.collect()

    assert alive() is None


@pytest.mark.parametrize(
    "compute",
    [lambda x: xp.reshape(x, (6,)), xp.flip, lambda x: xp.permute_dims(x, (1, 0)), lambda x: x[1:]],
)
def test_a_view_of_a_result_is_of_the_same_memory(compute):
    """A write through the view is visible in the Array and in the owner's memory."""
    owner = Owner()
    view = compute(owner.array)
    view += 10.0

    assert np.shares_memory(np.asarray(view), owner.block)
    assert owner.block.max() == 15.0


def test_a_view_says_who_gave_the_memory():
    """The owner of a view is that of the Array."""
    owner = Owner()

    assert xp.reshape(owner.array, (6,)).owner is owner


def test_memory_that_must_not_be_written_stays_so():
    """Read-only memory stays read-only in library arrays created per use, and in their views."""
    owner = Owner()
    x = ix.from_pointer(owner.block.ctypes.data, (6,), "float64", owner=owner, readonly=True)
    x + 1

    assert (native_of(x).flags.writeable, xp.reshape(x, (2, 3)).readonly) == (False, True)
    with pytest.raises(ix.ReadOnlyError):
        x += 1


@pytest.mark.parametrize("make", [xp.asarray, lambda x: x.__copy__(), lambda x: x[:]])
def test_each_alias_of_an_array_is_collected_with_its_owner(make):
    """Each alias of an Array has its own library array."""
    owner = Owner()
    alive = weakref.ref(owner)
    owner.alias = make(owner.array)
    owner.alias + owner.array
    del owner
    gc.collect()

    assert alive() is None


class Node:
    """Something that the collector tracks."""


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (None, False),
        (b"abc", False),
        (bytearray(3), False),
        (np.zeros(3), False),
        (memoryview(b"abc"), False),
        (memoryview(memoryview(bytearray(3))), False),
        (Node(), True),
        ((), True),
        ({}, True),
        ((b"abc", Node()), True),
        (memoryview(type("Buffer", (bytearray,), {})(3)), True),
    ],
)
def test_what_may_refer_back_is_what_the_collector_tracks(keep, expected):
    """Objects that may refer back are those that the collector tracks, or may track later."""
    assert may_refer_back(keep) is expected


def test_an_import_keeps_the_librarys_array():
    """An import keeps the library array, since a new one costs more than a sum.

    Capsules hide their owners from the collector in any case.
    """
    x = ix.from_dlpack(np.ones(3))
    x + 1

    assert native_of(x) is native_of(x)
