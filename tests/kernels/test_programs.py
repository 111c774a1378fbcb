"""Programs on the CPU: what NumPy computes, for arrays of every size and layout."""

from __future__ import annotations

import numpy as np
import pytest

from .comparing import left_by, wrong
from .programs import PROGRAMS

pytestmark = pytest.mark.interop  # LLVM comes with that extra

SIZES = (0, 1, 2, 31, 32, 33, 64, 100)


def run(name, case):
    """Return what the kernel leaves on the CPU."""
    kernel = PROGRAMS[name].kernel
    return left_by(lambda grid, block, given: kernel[grid, block](*given), case)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_numpy_does(name, size):
    """Whether blocks are full or not, and where there is nothing to do."""
    case = PROGRAMS[name].make(size)

    assert wrong(case, run(name, case), case.expected) == []


def in_fortran_order(array):
    """Return a copy whose first axis varies fastest."""
    return np.asfortranarray(array)


def apart(array):
    """Return a copy whose elements have others between them."""
    wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)
    wide[..., ::3] = array
    return wide[..., ::3]


def backwards(array):
    """Return a copy whose strides are negative."""
    return np.flip(np.flip(array).copy())


def not_aligned_to_lines(array):
    """Return a copy that begins one element behind the beginning of memory."""
    memory = np.zeros(array.size + 1, array.dtype)
    found = memory[1:].reshape(array.shape)
    found[...] = array
    return found


LAYOUTS = {
    each.__name__: each for each in (in_fortran_order, apart, backwards, not_aligned_to_lines)
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_layout_of_arrays_does_not_matter(name, layout):
    """The same numbers, however they lie in memory; what lies between them stays as it is."""
    case = PROGRAMS[name].make(33)
    arguments = [
        LAYOUTS[layout](each) if isinstance(each, np.ndarray) else each for each in case.arguments
    ]

    PROGRAMS[name].kernel[case.grid, case.block](*arguments)

    assert wrong(case, {place: arguments[place] for place in case.expected}, case.expected) == []
    for each in arguments:
        if layout == "apart" and isinstance(each, np.ndarray):
            assert not each.base[..., 1::3].any()
            assert not each.base[..., 2::3].any()


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_that_are_only_read_stay_as_they_are(name):
    """And a second run finds what the first one did."""
    case = PROGRAMS[name].make(33)
    before = [np.copy(each) for each in case.arguments]

    first, second = run(name, case), run(name, case)

    assert wrong(case, second, first) == []
    assert all(map(np.array_equal, case.arguments, before))


def test_two_views_of_one_array_are_computed_in_place():
    """The sum of an array and itself, into itself."""
    x = np.arange(40, dtype=np.float32)
    kernel = PROGRAMS["vector_add"].kernel

    kernel[2, 32](x, x, x)

    assert x.tolist() == list(range(0, 80, 2))


def test_many_blocks_on_many_workers_find_the_same():
    """A grid that is large enough to be shared out."""
    case = PROGRAMS["prefix_sums"].make(20_000)

    assert wrong(case, run("prefix_sums", case), case.expected) == []
