"""The extent of a layout: bounds, overlap, and values beyond 64-bit integers."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.lib.stride_tricks import as_strided

from interchange._types.layout import (
    INT64_MAX,
    Layout,
    byte_bounds,
    problem,
    strides_in_elements,
)
from interchange.testing.strategies import layouts, shapes

ITEM = 4  # [bytes]


def offsets(shape, strides):
    """Return where each element is, counted from the first [elements]."""
    indices = product(*map(range, shape))
    return [sum(i * step for i, step in zip(at, strides, strict=True)) for at in indices]


# ---------------------------------------------------------------- bounds


@given(layouts(), st.integers(1, 16))
def test_bounds_are_tight(drawn, itemsize):
    """The first and the last byte of the range belong to elements, and no element leaves it."""
    starts = [itemsize * at for at in offsets(*drawn)]

    found = byte_bounds(*drawn, itemsize)

    assert found == ((min(starts), max(starts) + itemsize) if starts else (0, 0))
    assert Layout(*drawn).byte_bounds(itemsize) == found


@given(layouts(min_extent=1))
def test_bounds_are_those_of_numpy(drawn):
    """NumPy's byte_bounds of the same view are the same addresses."""
    shape, strides = drawn
    low, high = byte_bounds(shape, strides, ITEM)
    block = np.zeros((high - low) // ITEM, "i4")
    view = as_strided(block[-low // ITEM :], shape, [ITEM * step for step in strides])
    start = view.__array_interface__["data"][0]

    assert np.lib.array_utils.byte_bounds(view) == (start + low, start + high)


def test_bounds_need_a_stride_for_each_axis():
    """Shape and strides of different lengths are refused."""
    with pytest.raises(ValueError, match="differ in length"):
        byte_bounds((2, 3), (1,), 4)


# ---------------------------------------------------------------- overlap


@given(layouts())
def test_overlap_is_never_missed(drawn):
    """If two indices have the same address, the layout reports a possible overlap."""
    found = offsets(*drawn)

    assert Layout(*drawn).may_overlap or len(set(found)) == len(found)


@given(st.data())
def test_slices_of_dense_layouts_do_not_overlap(data):
    """Basic indices and permutations of a dense array give layouts without overlap."""
    shape = data.draw(shapes(max_axes=5))
    layout = Layout(shape).permute(tuple(data.draw(st.permutations(range(len(shape))))))
    steps = st.builds(slice, st.none(), st.none(), st.sampled_from([1, -1, 2, -2, 3]))

    found, _ = layout.index(tuple(data.draw(steps) for _ in shape))

    assert not found.may_overlap


@given(shapes(min_extent=1, max_axes=4), st.integers(2, 4))
def test_repeated_elements_overlap(shape, times):
    """A stride of 0 along more than one element is an overlap."""
    assert Layout(shape).broadcast((times, *shape)).may_overlap


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((), ()), ((1,), (0,)), ((1, 1), (0, 0)), ((0, 5), (0, 0)), ((5, 0), (1, 1))],
)
def test_nothing_and_one_element_do_not_overlap(shape, strides):
    """Two indices need two elements."""
    assert not Layout(shape, strides).may_overlap


# ---------------------------------------------------------------- byte strides


@given(layouts(min_extent=2), st.integers(1, 16))
def test_byte_strides_come_back_as_elements(drawn, itemsize):
    """Whole multiples of the element are element strides."""
    shape, strides = drawn
    in_bytes = tuple(step * itemsize for step in strides)

    assert strides_in_elements(shape, in_bytes, itemsize) == strides


@given(layouts(), st.integers(2, 16), st.data())
def test_other_byte_strides_have_no_element_strides(drawn, itemsize, data):
    """Strides that are not multiples of the element size are refused if an axis needs them."""
    shape, strides = drawn
    extra = [data.draw(st.integers(0, itemsize - 1)) for _ in shape]
    in_bytes = tuple(s * itemsize + more for s, more in zip(strides, extra, strict=True))

    found = strides_in_elements(shape, in_bytes, itemsize)

    matters = 0 not in shape and any(
        more and extent > 1 for extent, more in zip(shape, extra, strict=True)
    )
    assert (found is None) == matters


def test_elements_without_a_size_have_no_strides():
    """Elements of size 0 are refused instead of a division by 0."""
    assert strides_in_elements((2,), (4,), 0) is None


# ---------------------------------------------------------------- 64 bits

LARGE = st.one_of(
    st.integers(-8, 8),
    st.sampled_from([2**31, 2**32, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, -(2**62), -(2**63)]),
    st.integers(-(2**64), 2**64),
)


@st.composite
def _large(draw):
    """Draw a shape and strides of any size, and an item size."""
    shape = tuple(draw(st.lists(LARGE, max_size=4)))
    strides = tuple(draw(LARGE) for _ in shape)
    return shape, draw(st.sampled_from([None, strides])), draw(st.integers(1, 16))


@given(_large())
@example(((2, -1), None, 4))
@example(((0, -1), None, 4))
@example(((2,), (2**63 - 1,), 1))
@example(((2**31, 2**32), None, 1))
@example(((0, 2**63), None, 1))
def test_no_problem_means_that_every_number_fits(drawn):
    """An accepted layout has extents, strides, products and byte offsets within int64."""
    shape, strides, itemsize = drawn
    if problem(shape, strides, itemsize) is not None:
        return

    numbers = [*shape, *(strides or ()), prod(extent or 1 for extent in shape) * itemsize]
    numbers += byte_bounds(shape, strides, itemsize) if strides else []
    assert all(extent >= 0 for extent in shape)
    assert all(-(2**63) <= number <= INT64_MAX for number in numbers)


@given(_large())
def test_what_fits_is_no_problem(drawn):
    """Every layout that int64 can represent is accepted."""
    shape, strides, itemsize = drawn
    fits = all(extent >= 0 for extent in shape)
    fits = fits and prod(extent or 1 for extent in shape) * itemsize <= INT64_MAX
    if fits and strides is not None:
        low, high = byte_bounds(shape, strides, itemsize)
        fits = low >= -INT64_MAX and high <= INT64_MAX
        fits = fits and all(-(2**63) <= step <= INT64_MAX for step in strides)

    assert (problem(shape, strides, itemsize) is None) == fits


@pytest.mark.parametrize(
    ("shape", "strides", "itemsize", "rule"),
    [
        ((1,) * 65, None, 1, "DLP-SHAPE-1"),
        ((2, -1), None, 4, "DLP-SHAPE-3"),
        ((-(2**63),), None, 4, "DLP-SHAPE-3"),
        ((-2, -3), None, 4, "DLP-SHAPE-3"),
        ((0, -1), None, 4, "DLP-SHAPE-3"),
        ((2**63,), None, 1, "DLP-SHAPE-4"),
        ((2**62,), None, 4, "DLP-SHAPE-4"),
        ((2**32, 2**32), (0, 0), 1, "DLP-SHAPE-4"),
        ((0, 2**32, 2**32), None, 1, "DLP-SHAPE-4"),
        ((2,), (2**63,), 1, "DLP-STRIDES-2"),
        ((2,), (-(2**63) - 1,), 1, "DLP-STRIDES-2"),
        ((1,), (2**63,), 1, "DLP-STRIDES-2"),
        ((2, 2), (2**62, 2**62), 1, "DLP-STRIDES-2"),
        ((3,), (2**62,), 4, "DLP-STRIDES-2"),
        ((3,), (-(2**62),), 4, "DLP-STRIDES-2"),
    ],
)
def test_a_problem_is_reported_with_its_rule(shape, strides, itemsize, rule):
    """Each of axes, extents, size and span has its own rule."""
    what, found = problem(shape, strides, itemsize)

    assert found == rule
    assert str(shape) in what or str(strides) in what or what == f"ndim is {len(shape)}"


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((1,) * 64, None),
        ((), None),
        ((), ()),
        ((1,), (2**63 - 1,)),
        ((0, 3), (2**62, 2**62)),
        ((2**63 - 1,), None),
        ((2**63 - 1,), (0,)),
    ],
)
def test_the_widest_that_fits_is_no_problem(shape, strides):
    """The limits themselves are within the limits."""
    assert problem(shape, strides, 1) is None
