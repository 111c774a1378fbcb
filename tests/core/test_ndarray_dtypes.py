"""NumPy's dtype objects are read and not kept, since equal ones are many, with user metadata."""

from __future__ import annotations

import pickle
import sys
import weakref

import numpy as np
import pytest

import interchange as ix

NAMES = ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "l", "q")


class Kept:
    """Stand-in for an object that metadata refers to."""


def dtypes_of(name):
    """Return a dtype, and others that are equal to it."""
    dtype = np.dtype(name)
    copied = pickle.loads(pickle.dumps(np.ones(3, dtype))).dtype
    return dtype, copied, np.dtype(dtype, metadata={"name": name}), dtype.newbyteorder("=")


@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray])
@pytest.mark.parametrize("name", NAMES)
def test_no_dtype_object_is_kept(take, name):
    """No dtype object is kept, whether an equal one was seen before or not."""
    for dtype in dtypes_of(name)[1:]:  # the first is kept by NumPy
        x = np.ones(3, dtype)
        before = sys.getrefcount(x.dtype)
        for _ in range(3):
            take(x)
        after = sys.getrefcount(x.dtype)

        assert after == before


@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray])
def test_metadata_dies_with_its_arrays(take):
    """Metadata is freed with its arrays, as without interchange."""
    kept = Kept()
    alive = weakref.ref(kept)
    x = np.ones(3, np.dtype("f8", metadata={"kept": kept}))
    del kept
    for _ in range(3):
        take(x)
    del x

    assert alive() is None


@pytest.mark.parametrize("name", NAMES)
def test_equal_dtypes_are_the_same_elements(name):
    """Equal dtype objects are the same element type, except those of another byte order."""
    wanted = ix.DType.of(np.dtype(name))
    said = {ix.from_dlpack(np.ones(3, one)).dtype for one in dtypes_of(name) for _ in range(2)}
    swapped = np.ones(3, np.dtype(name).newbyteorder("S"))

    assert said == {wanted}
    if swapped.dtype.byteorder != "|":
        with pytest.raises(ix.ExchangeError):
            ix.from_dlpack(swapped)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of NumPy 2.5
def test_what_is_set_in_place_is_read():
    """The elements are those of the ndarray's dtype at the time of the import."""
    x = np.zeros(4, "i4")
    before = ix.from_dlpack(x).dtype
    x.dtype = "f4"

    assert [str(before), str(ix.from_dlpack(x).dtype)] == ["int32", "float32"]
