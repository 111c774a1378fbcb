"""Both cores copy strided elements of any layouts as if the source were copied first."""

from __future__ import annotations

import ctypes

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

ITEMSIZES = [1, 2, 3, 4, 8, 12, 16]
UNLOCKED = 70_003  # bytes that are copied without the GIL


@st.composite
def copies(draw):
    """A shape, an item size, and for target and source a start and strides [elements].

    Axes of the target are nested, in any order and direction; those of the source may be anything.
    """
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    itemsize = draw(st.sampled_from(ITEMSIZES))
    steps, reach = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        steps[axis] = reach * draw(st.sampled_from([1, 1, 2]))
        reach = steps[axis] * max(shape[axis], 1)
        steps[axis] *= draw(st.sampled_from([1, -1]))
    theirs = [draw(st.sampled_from([*steps, 0, 1, -1, 2, 7])) for _ in shape]
    gap = draw(st.integers(-2 * itemsize, 6 * itemsize))
    return tuple(shape), itemsize, tuple(steps), tuple(theirs), gap


def element_offsets(shape, steps):
    """Return the position of each element, in C order [elements]."""
    return [
        sum(index * step for index, step in zip(place, steps, strict=True))
        for place in np.ndindex(*shape)
    ]


@given(copies())
def test_the_source_is_read_before_the_target_is_written(cores, copy):
    """Overlapping memory in all directions: the result is that of a copy of the source."""
    shape, itemsize, steps, theirs, gap = copy
    targets, sources = element_offsets(shape, steps), element_offsets(shape, theirs)
    room = 2 * (max(map(abs, targets + sources), default=0) + 8) * itemsize
    start, source = room // 2, room // 2 + gap
    before = np.random.default_rng(0).integers(0, 256, room, dtype=np.uint8).tobytes()
    expected = bytearray(before)
    for to, at in zip(targets, sources, strict=True):
        place, given = start + to * itemsize, source + at * itemsize
        expected[place : place + itemsize] = before[given : given + itemsize]

    for name, core in cores.items():
        memory = ctypes.create_string_buffer(before, room)
        base = ctypes.addressof(memory)
        core.copy_strided(shape, itemsize, base + start, steps, base + source, theirs)
        assert memory.raw == expected, name


@pytest.mark.parametrize("itemsize", [1, 4, 16])
@pytest.mark.parametrize(
    "axes", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (2, 0, 1)], ids=["C", "F", "planes", "channels"]
)
def test_many_elements_are_copied_in_tiles_without_the_gil(cores, axes, itemsize):
    """Transposes of many elements, whose last tiles are not full, are copied whole."""
    shape = (3, 300, 301)
    count = np.prod(shape) * itemsize
    assert count > UNLOCKED
    source = np.arange(count, dtype=np.uint64).astype(np.uint8).view(f"V{itemsize}").reshape(shape)
    view = source.transpose(axes)
    strides = tuple(step // itemsize for step in view.strides)
    for core in cores.values():
        target = np.zeros(view.shape, view.dtype)
        dense = tuple(step // itemsize for step in target.strides)
        there, here = target.ctypes.data, source.ctypes.data
        core.copy_strided(view.shape, itemsize, there, dense, here, strides)
        assert target.tobytes() == view.tobytes()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (((1,) * 65, 1, 0, (1,) * 65, 0, (1,) * 65), ValueError),
        (((2,), 1, 0, (), 0, (1,)), IndexError),
        (((2,), 8, 0, (2**62,), 0, (1,)), OverflowError),
        (((2,), 1, 0, (2**70,), 0, (1,)), OverflowError),
        (((2,), 1, "0", (1,), 0, (1,)), TypeError),
        (([2], 1, 0, (1,), 0, (1,)), TypeError),
    ],
    ids=["axes", "strides", "bytes", "a large stride", "no address", "a list"],
)
def test_arguments_that_describe_no_array_are_refused(cores, arguments, error):
    """C refuses them with an exception, before memory is accessed."""
    with pytest.raises(error):
        cores["native"].copy_strided(*arguments)
