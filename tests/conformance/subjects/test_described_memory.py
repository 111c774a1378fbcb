"""Memory that a library only describes is read and written by shape, strides, type and address."""

from __future__ import annotations

import ctypes

import pytest

from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.subjects import _common
from interchange_conformance.zoo import ELEMENTS, host

LAYOUTS = {
    "c-order": (3, 1),
    "f-order": (1, 2),
    "backwards": (-3, -1),
    "repeated": (0, 1),
    "gaps": (16, 5),
}
READABLE = (*_common.PLAIN, "bfloat16")


@pytest.mark.parametrize("strides", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", READABLE)
def test_elements_are_read_in_c_order(dtype, strides):
    """All strides are supported, from the address of the first element."""
    source = host((2, 3), dtype, strides=strides)

    found = _common.elements(source.said.data, (2, 3), strides, dtype)

    assert found == source.values()


def test_no_strides_are_c_order():
    """The older structs have no strides."""
    source = host((2, 3), "int16")

    assert _common.elements(source.said.data, (2, 3), None, "int16") == [0, 1, 2, 3, 4, 5]


def test_a_scalar_has_one_element():
    """For an empty array nothing is read."""
    source = host((), "float64")

    assert _common.elements(source.said.data, (), (), "float64") == [0.0]
    assert _common.elements(0, (0, 3), (3, 1), "float64") == []


def test_memory_is_loaded_once_and_no_more_than_it_takes():
    """The range is from the lowest element to the end of the highest."""
    asked = []

    def load(address, nbytes):
        asked.append((address, nbytes))
        return bytes(nbytes)

    _common.elements(1000, (2, 3), (-8, 1), "int16", load)

    assert asked == [(1000 - 16, 2 * (8 + 3))]


def test_unknown_numbers_are_no_verdict():
    """A check that reads them is not applicable."""
    with pytest.raises(NotApplicable, match="float8_e5m2"):
        _common.elements(0, (1,), (1,), "float8_e5m2")


@pytest.mark.parametrize("dtype", READABLE)
def test_one_is_one(dtype):
    """The bytes that are written are read as 1."""
    block = ctypes.create_string_buffer(_common.one(dtype))

    assert _common.elements(ctypes.addressof(block), (), (), dtype) == [1]


@pytest.mark.parametrize("dtype", READABLE)
def test_sizes_of_elements_are_those_of_dlpack(dtype):
    """The size is computed from bits and lanes, in bytes."""
    _, bits, lanes = ELEMENTS[dtype]

    assert _common.itemsize(dtype) == bits * lanes // 8


def test_too_many_axes_cannot_be_made():
    """NumPy supports at most 64."""
    with pytest.raises(CannotMakeError, match="65 axes"):
        _common.numpy_array((1,) * 65, "float32")
