"""Indexing and assignment: integers, slices, new axes, masks and arrays of integers.

Source: array API standard 2025.12, "Indexing".
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from xp_oracle import values as v
from xp_oracle.comparing import check
from xp_oracle.effort import effort
from xp_oracle.keys import basic, keys, masks, wrong_keys
from xp_oracle.worlds import OURS, STRICT, Arr, Foreign

KEYS = {"basic": basic, "masks": masks, "any": keys}


def get(array, key):
    """Return the elements at a key."""
    return array[key]


def put(array, key, value):
    """Assign, and return the array afterwards."""
    array[key] = value
    return array


def drawn(draw, least=0):
    """Draw an array of any type."""
    return draw(v.arrays(draw(v.dtypes("all")), draw(v.shapes(least))))


@pytest.mark.parametrize("kind", KEYS)
@effort
@given(st.data())
def test_what_is_at_a_key_agrees(kind, data):
    """Values, shape and type agree; one element is a 0-dimensional array."""
    x = drawn(data.draw)

    check("__getitem__", get, x, data.draw(KEYS[kind](x.shape)))


@effort
@given(st.data())
def test_a_key_that_is_not_meant_ends_as_in_the_oracle(data):
    """Out of bounds, of another type, or too long."""
    x = drawn(data.draw)

    check("__getitem__", get, x, data.draw(wrong_keys(x.shape)))


@effort
@given(st.data())
def test_slices_beyond_the_ends_are_cut(data):
    """Slices beyond the ends are clipped, as in Python: the standard leaves it open."""
    x = drawn(data.draw, 1)
    ends = st.none() | st.integers(-9, 9)
    key = slice(data.draw(ends), data.draw(ends), data.draw(st.sampled_from((None, 1, -1, 2, -3))))

    check("__getitem__", get, x, (key, ...))
    check("__getitem__", get, x, key)


@effort
@given(st.data())
def test_what_is_assigned_agrees(data):
    """Scalars and arrays that broadcast to the selection are assigned as in the oracle."""
    x = drawn(data.draw)
    key = data.draw(basic(x.shape, new_axes=False))
    shape = x.values[told(key)].shape
    if data.draw(st.booleans()):
        value = data.draw(v.scalars(x.dtype))
    else:
        value = data.draw(v.arrays(x.dtype, data.draw(v.below(shape))))

    check("__setitem__", put, x, key, value)


def told(key):
    """Return a key in the form that NumPy accepts."""
    if isinstance(key, tuple):
        return tuple(map(told, key))
    return key.values if isinstance(key, Arr) else key


@effort
@given(st.data())
def test_what_is_assigned_by_a_mask_agrees(data):
    """A mask assigns one value to all selected elements, or one to each."""
    x = drawn(data.draw)
    mask = data.draw(masks(x.shape))
    shape = x.values[mask.values].shape
    if data.draw(st.booleans()):
        value = data.draw(v.scalars(x.dtype))
    else:
        value = data.draw(v.arrays(x.dtype, () if data.draw(st.booleans()) else shape))

    check("__setitem__", put, x, mask, value)


@effort
@given(st.data())
def test_an_assignment_that_is_not_meant_ends_as_in_the_oracle(data):
    """Assignments with a wrong key, a wrong shape or a value that is no number are refused."""
    x = drawn(data.draw)
    if data.draw(st.booleans()):
        key, value = data.draw(wrong_keys(x.shape)), data.draw(v.scalars(x.dtype))
    else:
        wrong = ("text", None, {}, Arr(np.ones((7, 7))), Arr(np.ones((*x.shape, 5))))
        key, value = ..., data.draw(st.sampled_from(wrong))

    check("__setitem__", put, x, key, value)


def test_an_array_that_must_not_be_written_is_not():
    """An assignment and an in-place operator are ValueErrors, and no element is changed."""
    memory = np.arange(3.0)
    memory.flags.writeable = False
    x = OURS.xp.from_dlpack(memory)

    with pytest.raises(ValueError):
        x[0] = 7.0
    with pytest.raises(ValueError):
        x += 1.0
    assert memory.tolist() == [0.0, 1.0, 2.0]


def test_an_assignment_reaches_the_memory_that_was_imported():
    """Neither the import nor the assignment copies the memory."""
    memory = np.arange(6.0).reshape(2, 3)
    x = OURS.xp.from_dlpack(memory)

    x[1, ...] = OURS.xp.asarray([7.0, 8.0, 9.0])
    x += 1
    assert memory.tolist() == [[1.0, 2.0, 3.0], [8.0, 9.0, 10.0]]


def test_a_foreign_array_is_no_key_and_no_value():
    """An array of another library as key is a TypeError or an IndexError."""
    x = OURS.xp.asarray([1.0, 2.0, 3.0])

    with pytest.raises((TypeError, IndexError)):
        x[Foreign()]
    with pytest.raises((TypeError, IndexError)):
        x[STRICT.xp.asarray([0, 1])]
    with pytest.raises(TypeError):
        x[...] = STRICT.xp.asarray([1.0, 2.0, 3.0])
