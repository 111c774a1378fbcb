"""`xp.asarray` of sequences: any nested sequence of numbers."""

from __future__ import annotations

import array
from collections import UserList, UserString, deque
from collections.abc import Sequence

import numpy as np
import pytest

import interchange as ix
from interchange import xp


class Row(Sequence):
    """A sequence of a program's own."""

    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


class Held(Row):
    """The same, of which the memory is to be had."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values)


SEQUENCES = [
    (range(3), [0, 1, 2]),
    (range(0), []),
    (deque([1.5, 2.0]), [1.5, 2.0]),
    (UserList([True, False]), [True, False]),
    (Row(1, 2.5, 3), [1.0, 2.5, 3.0]),
    (Row(), []),
    (Row(Row(1, 2), range(2), (3, 4), [5, 6]), [[1, 2], [0, 1], [3, 4], [5, 6]]),
    ([range(2), deque([2, 3])], [[0, 1], [2, 3]]),
    ((Row(Row(1j)),), [[[1j]]]),
    (deque([deque(), deque()]), [[], []]),
    (Row(xp.asarray([1, 2]), range(2)), [[1, 2], [0, 1]]),
    (Row(np.float32(1.5), 2), [1.5, 2.0]),
    (Row(Held(1, 2), Held(3, 4)), [[1, 2], [3, 4]]),
]
every_sequence = pytest.mark.parametrize(
    ("given", "expected"), SEQUENCES, ids=lambda x: type(x).__name__
)


@every_sequence
def test_a_sequence_becomes_an_array(given, expected):
    """The type is that of NumPy for such a list, or the one passed."""
    found = xp.asarray(given)

    assert found.tolist() == expected
    assert found.dtype == np.asarray(expected).dtype
    assert xp.asarray(given, dtype="complex64").tolist() == np.asarray(expected, "c8").tolist()
    assert xp.asarray(given, copy=True).tolist() == expected


@every_sequence
def test_a_sequence_is_never_shared(given, expected):
    """A sequence has no memory to share; the import functions name the call that converts it."""
    with pytest.raises(ix.CopyNeededError, match="no memory of elements"):
        xp.asarray(given, copy=False)
    with pytest.raises(ix.NoProtocolError, match=r"interchange\.xp\.asarray\(") as caught:
        ix.asarray(given)
    code = caught.value.hint.partition("`")[2].partition("`")[0]
    if "(x)" in code:
        assert eval(code, {"interchange": ix, "x": given}).tolist() == expected  # noqa: S307


@pytest.mark.interop
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_sequence_becomes_an_array_of_any_library(computing_with, library):
    """A sequence is converted for every library, also one that accepts lists only."""
    computing_with(library)
    for given in (Row(range(2), deque([2, 3])), [deque([0, 1]), (2, 3)]):
        assert xp.asarray(given, dtype="float32").tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize("given", [{1, 2}, {1: 2}, iter([1]), "12", UserString("12"), Row("a")])
def test_what_is_no_sequence_of_numbers_is_refused(given):
    """Sets and iterators have no places, text no numbers."""
    with pytest.raises(TypeError):
        xp.asarray(given)


def test_a_masked_array_in_a_sequence_is_refused():
    """A masked array in a sequence is refused, as in a list."""
    with pytest.raises(ix.ExchangeError, match="AI-MASK-1"):
        xp.asarray(Row(np.ma.array([1, 2], mask=[0, 1])))


@pytest.mark.parametrize("given", [b"ab", bytearray(b"ab"), memoryview(b"ab")])
def test_a_buffer_is_shared_and_no_sequence(given):
    """A buffer is shared, although `collections.abc` counts it as a sequence."""
    assert xp.asarray(given, copy=False).tolist() == [97, 98]
    assert xp.asarray(Row(array.array("B", given))).tolist() == [[97, 98]]
