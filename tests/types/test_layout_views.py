"""Layouts agree with NumPy's views of the same memory."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.lib.stride_tricks import as_strided

from interchange import OutOfBoundsError, ViewError
from interchange._types.layout import Layout, c_strides, f_strides
from interchange.testing.strategies import layouts, shapes

ITEM = 4  # [bytes]


def reach(shape, strides):
    """Return the lowest and the highest element, counted from the first [elements]."""
    if 0 in shape:
        return 0, 0
    ends = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    return sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)


def numpy_view(shape, strides):
    """Return NumPy's view of numbered memory, and the number of its first element."""
    low, high = reach(shape, strides)
    block = np.arange(high - low + 1, dtype="i4")
    return as_strided(block[-low:], shape, [ITEM * step for step in strides]), -low


def elements(layout, first):
    """Return the numbers that a layout reaches, as nested by its shape."""
    grid = np.zeros(layout.shape, "i8") + first
    for axis, (extent, step) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        along = [1] * len(layout.shape)
        along[axis] = extent
        grid = grid + (np.arange(extent) * step).reshape(along)
    return grid


def steps_that_matter(shape, strides):
    """Return strides with those left out that no element depends on."""
    return [step for extent, step in zip(shape, strides, strict=True) if extent > 1]


def raises(error, function, *arguments):
    """Return whether a call raises exactly that error."""
    try:
        function(*arguments)
    except error as caught:
        return type(caught) is error
    return False


# ---------------------------------------------------------------- dense layouts


@given(shapes())
def test_dense_strides_are_those_of_numpy(shape):
    """C and F order are NumPy's; without strides a layout is row-major, and none is 0.

    Strides of a dense layout without elements differ from those of a broadcast.
    """
    c_order, f_order = np.empty(shape, "i4"), np.empty(shape, "i4", order="F")
    layout = Layout(shape)

    if 0 not in shape:
        assert c_strides(shape) == tuple(step // ITEM for step in c_order.strides)
        assert f_strides(shape) == tuple(step // ITEM for step in f_order.strides)
    assert all(step > 0 for step in c_strides(shape) + f_strides(shape))
    assert (layout.strides, layout.is_c_contiguous) == (c_strides(shape), True)


@given(layouts(), st.integers(1, 16))
def test_properties_are_those_of_numpy(drawn, itemsize):
    """Contiguity, also for unit axes and empty arrays, size (without axes 1) and byte strides."""
    view, _ = numpy_view(*drawn)
    layout = Layout(*drawn)

    assert layout.is_c_contiguous == view.flags.c_contiguous
    assert layout.is_f_contiguous == view.flags.f_contiguous
    assert (layout.ndim, layout.size) == (view.ndim, view.size)
    assert layout.strides_in_bytes(itemsize) == tuple(step * itemsize for step in drawn[1])


# ---------------------------------------------------------------- basic indexing


def _axis_index(extent):
    """Return a strategy for the index of one axis, mostly within it."""
    ends = st.one_of(
        st.none(), st.integers(-extent - 3, extent + 3), st.sampled_from([2**70, -(2**70)])
    )
    steps = st.one_of(
        st.none(), st.integers(-5, 5).filter(bool), st.sampled_from([2**40, -(2**40)])
    )
    slices = st.builds(slice, ends, ends, steps)
    return st.one_of(st.integers(-extent - 1, extent), slices)


@st.composite
def _indices(draw, shape):
    """Draw a basic index: ints, slices, None and at most one Ellipsis."""
    axes = draw(st.integers(0, len(shape)))
    tail = draw(st.booleans()) and axes < len(shape)
    extents = shape[len(shape) - axes :] if tail else shape[:axes]
    parts = [draw(_axis_index(extent)) for extent in extents]
    if tail:
        parts.insert(0, Ellipsis)
    elif draw(st.booleans()):
        parts.append(Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@given(st.data())
def test_a_basic_index_selects_what_numpy_selects(data):
    """For ints, slices of any step, None and Ellipsis, shape and elements are NumPy's."""
    shape, strides = data.draw(layouts())
    key = data.draw(_indices(shape))
    view, first = numpy_view(shape, strides)
    layout = Layout(shape, strides)
    if raises(IndexError, lambda: view[key]):
        with pytest.raises(OutOfBoundsError):
            layout.index(key)
        return

    found, offset = layout.index(key)

    expected = view[key]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(elements(found, first + offset), expected)


@given(st.data())
def test_a_basic_index_has_the_strides_of_numpy(data):
    """Along axes longer than 1 the strides are NumPy's, so that views of views stay right."""
    shape, strides = data.draw(layouts())
    parts = [
        data.draw(st.builds(slice, st.none(), st.none(), st.sampled_from([1, 2, -1])))
        for _ in shape
    ]
    key = tuple(parts)
    view, _ = numpy_view(shape, strides)

    found, _ = Layout(shape, strides).index(key)

    expected = [step // ITEM for step in view[key].strides]
    if found.size:
        assert steps_that_matter(found.shape, found.strides) == steps_that_matter(
            found.shape, expected
        )


@given(st.data())
def test_an_empty_selection_stays_at_the_first_element(data):
    """An empty selection computes no address and stays at the first element."""
    shape, strides = data.draw(layouts(min_extent=1).filter(lambda drawn: drawn[0]))
    start = data.draw(st.integers(-9, 9))

    found, offset = Layout(shape, strides).index(slice(start, start))

    assert (found.shape[0], offset) == (0, 0)


@given(layouts())
def test_the_whole_index_changes_nothing(drawn):
    """``x[...]`` and ``x[()]`` have the same shape, strides and first element."""
    layout = Layout(*drawn)

    for key in (..., ()):
        found, offset = layout.index(key)
        assert (found.shape, offset) == (layout.shape, 0)
        assert not layout.size or steps_that_matter(*drawn) == steps_that_matter(
            found.shape, found.strides
        )


@pytest.mark.parametrize(
    "key",
    [
        *(1.0, True, np.True_, "x", b"x", [0, 1], (0, [1]), frozenset()),
        *map(np.array, (True, 1.5, [0, 1], [True, False])),
        (slice(None), np.array([0])),
        *((..., ...), (0, 0, 0), (0, 0, ..., 0)),
        *(slice("a", None), slice(None, 1.5)),
    ],
    ids=repr,
)
def test_other_indices_make_no_view(key):
    """Masks, lists and arrays need copies, and other keys are invalid: all are refused."""
    with pytest.raises(OutOfBoundsError, match="IX-INDEX-1"):
        Layout((2, 3)).index(key)


@pytest.mark.parametrize("step", [0, np.int64(0), False], ids=repr)
def test_a_step_of_zero_is_a_value_error(step):
    """A step of zero is a ValueError, as in NumPy and Python's lists."""
    with pytest.raises(ViewError, match="has a step of 0") as caught:
        Layout((2, 3)).index((0, slice(None, None, step)))

    assert isinstance(caught.value, ValueError)
    assert caught.value.rule == "IX-INDEX-1"


@pytest.mark.parametrize("key", [np.int64(1), np.array(1), np.uint8(1)], ids=repr)
def test_integers_of_other_libraries_are_ints(key):
    """An object with ``__index__`` and no axes is an int."""
    assert Layout((2, 3)).index(key) == (Layout((3,), (1,)), 3)


# ---------------------------------------------------------------- permutations


@given(st.data())
def test_permuting_is_transposing(data):
    """Any permutation, with negative axes as well, is NumPy's transpose."""
    shape, strides = data.draw(layouts())
    axes = data.draw(st.permutations(range(len(shape))))
    signed = tuple(axis - len(shape) * data.draw(st.booleans()) for axis in axes)
    view, _ = numpy_view(shape, strides)

    found = Layout(shape, strides).permute(signed)

    expected = view.transpose(signed)
    assert found.shape == expected.shape
    assert found.strides_in_bytes(ITEM) == expected.strides


@given(shapes(max_axes=4), st.lists(st.integers(-5, 5), max_size=5).map(tuple))
def test_what_is_no_permutation_is_refused(shape, axes):
    """A permutation is accepted exactly if NumPy accepts it."""
    view = np.empty(shape, "i4")
    allowed = not raises(ValueError, view.transpose, axes) and not raises(
        np.exceptions.AxisError, view.transpose, axes
    )
    # NumPy reads an empty tuple as "reverse", the standard does not.
    allowed = allowed and len(axes) == len(shape)

    assert raises(ViewError, Layout(shape).permute, axes) != allowed


# ---------------------------------------------------------------- broadcasting


@given(st.data())
def test_spreading_is_broadcasting(data):
    """A broadcast has NumPy's strides, and is refused for a shape that NumPy refuses."""
    shape, strides = data.draw(layouts(max_axes=4))
    lead = data.draw(shapes(max_axes=2))
    stretched = tuple(
        data.draw(st.sampled_from([extent, extent, extent if extent > 1 else 3, 0, 2]))
        for extent in shape
    )
    wanted = lead + stretched[data.draw(st.integers(0, 1)) :]
    view, _ = numpy_view(shape, strides)
    layout = Layout(shape, strides)
    if raises(ValueError, np.broadcast_to, view, wanted):
        with pytest.raises(ViewError):
            layout.broadcast(wanted)
        return

    found = layout.broadcast(wanted)

    expected = np.broadcast_to(view, wanted)
    assert found.shape == expected.shape
    if found.size:
        assert steps_that_matter(wanted, found.strides) == steps_that_matter(
            wanted, [step // ITEM for step in expected.strides]
        )


# ---------------------------------------------------------------- reshaping


@st.composite
def _other_shapes(draw, size):
    """Draw a shape with that many elements."""
    if size == 0:
        return tuple(draw(st.permutations([0, *draw(st.lists(st.integers(0, 4), max_size=3))])))
    left, shape = size, []
    while left > 1:
        divisors = [n for n in range(2, left + 1) if left % n == 0]
        shape.append(draw(st.sampled_from(divisors)))
        left //= shape[-1]
    ones = draw(st.integers(0, 2))
    return tuple(draw(st.permutations(shape + [1] * ones)))


@st.composite
def _nearly_dense(draw):
    """Draw layouts that often can be reshaped: permuted, sliced and broadcast dense ones."""
    shape = draw(shapes(max_axes=4))
    layout = Layout(shape)
    if draw(st.booleans()):
        layout = layout.permute(tuple(draw(st.permutations(range(len(shape))))))
    if draw(st.booleans()):
        steps = st.builds(slice, st.none(), st.none(), st.sampled_from([1, 1, -1, 2]))
        layout, _ = layout.index(tuple(draw(steps) for _ in shape))
    if draw(st.booleans()):
        layout = layout.broadcast((draw(st.integers(1, 3)), *layout.shape))
    return layout.shape, layout.strides


@given(st.data())
def test_reshaping_is_a_view_exactly_when_numpy_makes_one(data):
    """A reshape is a view if and only if NumPy's is."""
    shape, strides = data.draw(st.one_of(layouts(), _nearly_dense()))
    wanted = data.draw(_other_shapes(prod(shape)))
    view, first = numpy_view(shape, strides)

    found = Layout(shape, strides).reshape(wanted)

    shares = not raises(ValueError, lambda: view.reshape(wanted, copy=False))
    assert (found is not None) == shares
    if found is not None:
        np.testing.assert_array_equal(elements(found, first), view.reshape(wanted))


@given(layouts(), shapes(), shapes(min_extent=1), st.data())
def test_reshaping_keeps_every_element(drawn, wanted, shape, data):
    """Another number of elements is refused; a contiguous layout takes every shape of its size."""
    layout = Layout(*drawn)
    found = Layout(shape).reshape(data.draw(_other_shapes(prod(shape))))

    assert prod(wanted) == layout.size or layout.reshape(wanted) is None
    assert found is not None
    assert found.is_c_contiguous


# ---------------------------------------------------------------- values


@given(layouts())
def test_layouts_are_values(drawn):
    """Equal layouts are equal keys."""
    shape, strides = drawn

    assert Layout(shape, strides) == Layout(tuple(shape), tuple(strides))
    assert hash(Layout(shape, strides)) == hash(Layout(tuple(shape), tuple(strides)))


def test_layouts_differ_by_shape_and_by_strides():
    """Layouts differ exactly if shape or strides differ, and the repr shows both."""
    layout = Layout((2, 3))

    for other in (Layout((3, 2)), Layout((2, 3), (1, 2)), ((2, 3), (3, 1))):
        assert layout != other
    assert repr(layout) == "Layout(shape=(2, 3), strides=(3, 1))"
