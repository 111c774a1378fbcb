"""Specs: element type, device and layout in one value."""

from __future__ import annotations

from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.layout import Layout
from interchange._types.spec import Spec

FLOAT = DType(2, 32)
LAYOUT = Layout((2, 3))


def test_parts_are_attributes():
    """Shape and strides are those of the layout."""
    spec = Spec(FLOAT, CPU, LAYOUT, 8)

    assert (spec.dtype, spec.device, spec.layout, spec.byte_offset) == (FLOAT, CPU, LAYOUT, 8)
    assert (spec.shape, spec.strides) == ((2, 3), (3, 1))


def test_nbytes_leaves_gaps_out():
    """`nbytes` is the size of the elements, without gaps between them."""
    assert Spec(FLOAT, CPU, Layout((2, 3), (32, 5))).nbytes == 24


def test_nbytes_of_packed_elements_is_rounded_up():
    """Three elements of 4 bits are two bytes."""
    assert Spec(DType(0, 4), CPU, Layout((3,))).nbytes == 2


def test_specs_are_values():
    """Two specs are equal when all four parts are."""
    base = Spec(FLOAT, CPU, LAYOUT)
    others = [
        Spec(DType(2, 64), CPU, LAYOUT),
        Spec(FLOAT, Device(2), LAYOUT),
        Spec(FLOAT, CPU, Layout((2, 3), (1, 2))),
        Spec(FLOAT, CPU, LAYOUT, 4),
    ]

    assert base == Spec(FLOAT, CPU, Layout((2, 3), (3, 1)))
    assert hash(base) == hash(Spec(FLOAT, CPU, Layout((2, 3), (3, 1))))
    assert all(base != other for other in others)
    assert base != "float32"


def test_a_layout_can_be_exchanged():
    """The other parts stay, the offset of a handle as well."""
    spec = Spec(FLOAT, Device(4), LAYOUT, 16).with_layout(Layout((6,)))

    assert spec == Spec(FLOAT, Device(4), Layout((6,)), 16)


def test_repr_shows_every_part():
    """The repr shows every field."""
    text = repr(Spec(FLOAT, CPU, LAYOUT, 8))

    assert text == "Spec(float32, cpu, shape=(2, 3), strides=(3, 1), byte_offset=8)"
