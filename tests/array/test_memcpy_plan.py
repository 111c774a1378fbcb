"""Plans of strided copies as driver copies, executed on bytes and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, event, given, strategies as st

from interchange._array.memcpy_plan import MOST_COPIES, PITCH_END, plan_copies
from interchange._streams.device_driver import PitchedCopy
from interchange._types.layout import byte_bounds, c_strides, f_strides


def dense(shape, order):
    """Return the strides without gaps."""
    return c_strides(shape) if order == "C" else f_strides(shape)


def apply(copies, source, start, size):
    """Return the result of copies of `size` bytes, with gaps as None; each byte is written once."""
    target = [None] * size
    for copy in copies:
        to, to_pitch, to_rows = copy.target
        at, at_pitch, at_rows = copy.source
        for slice_ in range(copy.depth):
            for row in range(copy.height):
                into = to + (slice_ * to_rows + row) * to_pitch
                out_of = start + at + (slice_ * at_rows + row) * at_pitch
                assert target[into : into + copy.width] == [None] * copy.width
                assert out_of >= 0
                target[into : into + copy.width] = source[out_of : out_of + copy.width]
    return target


def by_numpy(source, start, shape, strides, itemsize, order):
    """Return the bytes that NumPy's copy of the same elements has."""
    view = np.ndarray(
        shape,
        f"V{itemsize}",
        source,
        start,
        tuple(step * itemsize for step in strides),
    )
    return list(view.tobytes(order))


@st.composite
def strided(draw):
    """Draw a shape, strides on it, the size of an element, and an order for the copy."""
    itemsize = draw(st.sampled_from([1, 2, 3, 4, 8]))
    extents = st.sampled_from([*range(1, 7)] * 4 + [0])
    shape = tuple(draw(st.lists(extents, max_size=5)))
    order = draw(st.permutations(range(len(shape))))
    strides = [0] * len(shape)
    reach = 1
    for axis in order:  # an axis may skip, reverse, repeat or overlap elements
        stretch = draw(st.sampled_from([1, 1, 1, 2, 3]))
        extra = draw(st.sampled_from([0, 0, 0, 1, 5]))
        sign = draw(st.sampled_from([1, 1, 1, 1, -1]))
        step = draw(st.sampled_from([reach * stretch + extra] * 6 + [0, 1]))
        strides[axis] = sign * step
        reach = max(reach, step * max(shape[axis], 1))
    return shape, tuple(strides), itemsize, draw(st.sampled_from("CF"))


@given(strided())
def test_the_pieces_make_the_copy_that_numpy_makes(drawn):
    """Every byte of the target is written once, with NumPy's value."""
    shape, strides, itemsize, order = drawn
    low, high = byte_bounds(shape, strides, itemsize)
    assume(high - low < 200_000)
    source = bytes(np.random.default_rng(7).integers(0, 256, high - low, np.uint8))

    copies = plan_copies(shape, strides, dense(shape, order), itemsize)

    event("host" if copies is None else f"{min(len(copies), 3)} copies")
    if copies is not None:
        size = int(np.prod(shape)) * itemsize
        expected = by_numpy(source, -low, shape, strides, itemsize, order)
        assert apply(copies, list(source), -low, size) == expected


@given(strided())
def test_every_piece_is_one_that_a_driver_takes(drawn):
    """Pitches cover rows and stay below the limit, slices cover their rows, and copies are few."""
    shape, strides, itemsize, order = drawn

    copies = plan_copies(shape, strides, dense(shape, order), itemsize) or []

    assert len(copies) <= MOST_COPIES
    for copy in copies:
        for _, pitch, rows in (copy.target, copy.source):
            assert copy.height == 1 or copy.width <= pitch < PITCH_END
            assert rows >= copy.height


@given(strided())
def test_few_elements_are_never_left_to_the_host(drawn):
    """Few elements are copied by the driver for any strides, one by one if necessary."""
    shape, strides, itemsize, order = drawn

    copies = plan_copies(shape, strides, dense(shape, order), itemsize)

    assert copies is not None or np.prod(shape) > MOST_COPIES


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("shape", "itemsize"), [((), 8), ((1,), 4), ((1, 1, 1), 2), ((3, 4, 5), 4), ((2**40,), 8)]
)
def test_what_lies_side_by_side_is_one_run(shape, itemsize, order):
    """A copy without gaps is one copy of bytes, however many axes it has."""
    strides = dense(shape, order)
    size = int(np.prod(shape, dtype=object)) * itemsize

    assert plan_copies(shape, strides, strides, itemsize) == [
        PitchedCopy(size, 1, 1, (0, size, 1), (0, size, 1))
    ]


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (0, 0)])
def test_no_elements_are_no_pieces(shape):
    """No elements result in no copies, for any strides."""
    assert plan_copies(shape, (7,) * len(shape), dense(shape, "C"), 4) == []


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        # every second element: rows of one
        ((5,), (2,), PitchedCopy(4, 5, 1, (0, 4, 5), (0, 8, 5))),
        # some columns
        ((3, 4), (10, 1), PitchedCopy(16, 3, 1, (0, 16, 3), (0, 40, 3))),
        # a block of a volume
        ((2, 3, 4), (60, 10, 1), PitchedCopy(16, 3, 2, (0, 16, 3), (0, 40, 6))),
        # every second row and column
        ((3, 4), (20, 2), PitchedCopy(4, 4, 3, (0, 4, 4), (0, 8, 10))),
        # a block with all columns: two axes are one
        ((2, 3, 4), (24, 4, 1), PitchedCopy(48, 2, 1, (0, 48, 2), (0, 96, 2))),
        # axes of length 1 do not count
        ((1, 3, 1, 4), (-7, 10, 0, 1), PitchedCopy(16, 3, 1, (0, 16, 3), (0, 40, 3))),
    ],
)
def test_what_fits_one_copy_is_one_copy(shape, strides, expected):
    """Rows, columns and blocks are each one call, where pitches allow."""
    assert plan_copies(shape, strides, dense(shape, "C"), 4) == [expected]


@pytest.mark.parametrize(
    ("shape", "strides", "order", "count"),
    [
        ((3, 4), (1, 3), "C", 3),  # a transpose: slices would overlap
        ((3, 4), (4, 1), "F", 3),  # see above
        ((64, 5), (-5, 1), "C", 64),  # rows in reverse
        ((64, 5), (0, 1), "C", 64),  # one row again and again
        ((5, 64), (1, 1), "C", 5),  # windows that overlap: columns are rows of one element
        ((2, 3, 4), (61, 10, 1), "C", 2),  # the distance of slices is not a multiple of the rows
        ((2, 3, 4, 5), (1000, 100, 10, 1), "C", 2),  # one axis too many
        ((2,), (2**29,), "C", 2),  # rows too far apart
    ],
)
def test_what_fits_no_single_copy_is_a_few(shape, strides, order, count):
    """Axes that no single copy covers are looped over, the shortest ones first."""
    copies = plan_copies(shape, strides, dense(shape, order), 4)

    assert len(copies) == count


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((65,), (-1,)), ((65, 65), (0, -1)), ((65, 65), (1, 65)), ((2,) * 20, tuple(range(3, 63, 3)))],
)
def test_too_many_copies_are_left_to_the_host(shape, strides):
    """The host copies if single-element copies would take longer than copying everything."""
    assert plan_copies(shape, strides, dense(shape, "C"), 4) is None


def test_many_copies_are_made_while_each_moves_much():
    """A walk is worth it as long as its steps are long."""
    long, short = 2**14, 2**13  # [elements] of 4 bytes

    copies = plan_copies((100, long), (-long, 1), (long, 1), 4)

    assert len(copies) == 100
    assert plan_copies((100, short), (-short, 1), (short, 1), 4) is None
