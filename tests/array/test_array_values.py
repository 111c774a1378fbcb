"""Values assigned to an Array on the host besides Arrays and numbers: ndarrays, which are copied.

Source: array API standard 2025.12, Indexing; NumPy, "Assigning values to indexed arrays".
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange import xp

KEYS = [slice(0, 3), slice(None, None, 2), slice(None, None, -2), [5, 0, 1], np.array([1, 1, 2])]


@given(
    key=st.sampled_from(KEYS),
    value=st.sampled_from(
        [
            np.arange(3.0)[::-1],
            np.ones((1, 3)),
            np.float32([7, 8, 9]),
            np.uint8([7, 8, 9]),
            np.broadcast_to(4.0, (3,)),
            np.array(5.0),
            np.array([6]),
        ]
    ),
)
def test_an_ndarray_is_written_where_and_as_numpy_writes_it(key, value):
    """An ndarray is assigned as NumPy does, for all layouts, element types and kinds of keys."""
    memory, expected = np.zeros(6), np.zeros(6)
    ix.from_dlpack(memory)[key] = value
    expected[key] = value

    assert memory.tolist() == expected.tolist()


def test_an_ndarray_over_the_same_memory_is_read_before_it_is_written_over():
    """An ndarray over the same memory is read before it is overwritten."""
    memory = np.arange(6.0)
    ix.from_dlpack(memory)[::-1] = memory

    assert memory.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (np.array([0.5]), "IX-XP-4"),
        (np.array([1j]), "IX-XP-4"),
        (np.ma.array([1, 2], mask=[False, True]), "AI-MASK-1"),
        (np.ma.masked, "AI-MASK-1"),
        (np.array([None]), "DLP-DTYPE-3"),
        (np.array(["1"]), "DLP-DTYPE-3"),
        (np.array([1], ">i8"), "DLP-DTYPE-3"),
        (np.zeros(1, [("a", int)]), "AI-DESCR-1"),
    ],
)
def test_an_ndarray_that_would_lose_something_is_refused_and_nothing_is_written(value, rule):
    """A fraction among whole numbers, a mask, or elements that no Array has."""
    memory = np.zeros(2, int)
    with pytest.raises(ix.InterchangeError) as caught:
        ix.from_dlpack(memory)[:] = value

    assert (caught.value.rule, caught.value.call) == (rule, "Array.__setitem__()")
    assert memory.tolist() == [0, 0]


@pytest.mark.interop
def test_an_ndarray_is_written_by_a_library_that_takes_none():
    """PyTorch refuses ndarrays as values, and gets a tensor over the same memory."""
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    ix.set_backend("cpu", "torch")
    try:
        array = xp.zeros(6, dtype=xp.float64)
        array[::2] = np.arange(3.0)[::-1]
        array[np.array([1, 3])] = np.array([7.0, 8.0])
        assert array.tolist() == [2.0, 7.0, 1.0, 8.0, 0.0, 0.0]
    finally:
        ix.set_backend("cpu", None)


class _Managed(np.ndarray):
    """An ndarray over managed memory, as numba-cuda makes them: work may be pending on it."""

    __cuda_array_interface__ = None


def test_an_ndarray_that_devices_reach_is_neither_value_nor_index():
    """An ndarray in memory that devices reach is refused: pending work would be ignored."""
    managed = np.arange(2).view(_Managed)
    array = ix.from_dlpack(np.zeros(4))

    with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
        array[:2] = managed
    with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
        array[managed]


def test_a_list_is_no_value():
    """A list is refused as a value; `xp.asarray` makes an Array of it."""
    with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
        xp.zeros(2)[:] = [1.0, 2.0]
