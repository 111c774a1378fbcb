"""The strategies draw layouts within their memory, with the elements that NumPy reads."""

from __future__ import annotations

import pytest
from hypothesis import find, given

from interchange.testing import strategies
from interchange_conformance.zoo.memory import c_strides, itemsize

np = pytest.importorskip("numpy")


@given(strategies.shapes())
def test_shapes_have_at_most_six_axes(shape):
    """Shapes are tuples of small extents."""
    assert type(shape) is tuple
    assert len(shape) <= strategies.MOST_AXES
    assert all(extent >= 0 for extent in shape)


@given(strategies.layouts())
def test_a_layout_has_one_step_per_axis(layout):
    """Shape and strides are of one length."""
    shape, strides = layout

    assert len(shape) == len(strides)


def steps_of_real_axes(layout):
    """Return the steps of the axes that have more than one element."""
    return [step for extent, step in zip(*layout, strict=True) if extent > 1]


@pytest.mark.parametrize(
    "feature",
    [
        lambda layout: layout[0] == (),
        lambda layout: 0 in layout[0],
        lambda layout: len(layout[0]) == strategies.MOST_AXES,
        lambda layout: min(steps_of_real_axes(layout), default=0) < 0,
        lambda layout: 0 in steps_of_real_axes(layout),
        lambda layout: layout[0] == (2,) and layout[1][0] > 1,
    ],
    ids=["scalar", "empty", "six-axes", "negative", "zero", "gaps"],
)
def test_every_kind_of_layout_is_drawn(feature):
    """The strategy reaches all that it promises."""
    assert feature(find(strategies.layouts(), feature))


@given(strategies.sources())
def test_a_drawn_producer_stays_within_its_memory(source):
    """Every byte that the struct describes is in the block."""
    said, memory = source.said, source.memory
    if 0 in said.shape:
        return
    strides = c_strides(said.shape) if said.strides is None else said.strides
    steps = [(extent - 1) * step for extent, step in zip(said.shape, strides, strict=True)]
    size = itemsize(said.dtype)
    first = said.data + said.byte_offset - memory.address

    assert first + size * sum(min(0, step) for step in steps) >= 0
    assert first + size * (sum(max(0, step) for step in steps) + 1) <= memory.size


@given(strategies.sources())
def test_a_drawn_producer_lists_what_numpy_reads(source):
    """values() equals NumPy's own strided view over the same bytes."""
    said, memory = source.said, source.memory
    dtype = np.dtype(NAME_OF[said.dtype])
    strides = c_strides(said.shape) if said.strides is None else said.strides
    expected = np.empty(said.shape, dtype)
    if expected.size:
        view = np.frombuffer(memory.view(), np.uint8)
        first = said.data + said.byte_offset - memory.address
        start = view[first : first + dtype.itemsize].view(dtype)
        steps = [step * dtype.itemsize for step in strides]
        expected = np.lib.stride_tricks.as_strided(start, said.shape, steps)

    assert source.values() == expected.ravel().tolist()


NAME_OF = {strategies.ELEMENTS[name]: name for name in strategies.NUMPY_NAMES}


@given(strategies.sources())
def test_numpy_imports_what_is_drawn(source):
    """NumPy reads the same elements, and releases the memory once."""
    view = np.from_dlpack(source)
    elements = view.ravel().tolist()
    del view

    assert elements == source.values()
    assert source.deleter_calls == 1
