"""Programs on the CPU give NumPy's results for arrays of every size and layout."""

from __future__ import annotations

import numpy as np
import pytest

from .comparing import left_by, on_host, wrong
from .programs import PROGRAMS

pytestmark = pytest.mark.interop  # that extra installs LLVM

SIZES = (0, 1, 2, 31, 32, 33, 64, 100)


def run(name, case):
    """Return the arrays after a run of the kernel on the CPU."""
    return left_by(on_host(PROGRAMS[name].kernel), case)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_numpy_does(name, size):
    """This includes full and partial blocks, and empty arrays."""
    case = PROGRAMS[name].make(size)

    assert wrong(case, run(name, case), case.expected) == []


def in_fortran_order(array):
    """Return a copy whose first axis varies fastest."""
    return np.asfortranarray(array)


def apart(array):
    """Return a copy with gaps between the elements."""
    wide = np.zeros((*array.shape[:-1], 3 * array.shape[-1]), array.dtype)
    wide[..., ::3] = array
    return wide[..., ::3]


def backwards(array):
    """Return a copy whose strides are negative."""
    return np.flip(np.flip(array).copy())


def not_aligned_to_lines(array):
    """Return a copy that starts one element after the start of its memory."""
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
    """The results are the same for every layout, and gaps are not written."""
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
    """A second run gives the same result as the first."""
    case = PROGRAMS[name].make(33)
    before = [np.copy(each) for each in case.arguments]

    first, second = run(name, case), run(name, case)

    assert wrong(case, second, first) == []
    assert all(map(np.array_equal, case.arguments, before))


def test_two_views_of_one_array_are_computed_in_place():
    """The sum of an array and itself is written into the array."""
    x = np.arange(40, dtype=np.float32)
    kernel = PROGRAMS["vector_add"].kernel

    kernel[2, 32](x, x, x)

    assert x.tolist() == list(range(0, 80, 2))


def test_many_blocks_on_many_workers_find_the_same():
    """The grid is large enough to be divided among workers."""
    case = PROGRAMS["prefix_sums"].make(20_000)

    assert wrong(case, run("prefix_sums", case), case.expected) == []
