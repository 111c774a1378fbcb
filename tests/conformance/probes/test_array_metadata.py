"""The metadata of an array is read from every protocol that it supports."""

from __future__ import annotations

import array

import pytest

from interchange_conformance.probes.array_metadata import ArrayMetadata, has_protocol, metadata_of
from interchange_conformance.zoo import host


class Interface:
    """An array with one of the two array interfaces."""

    def __init__(self, name, typestr="<f4", shape=(2, 3)):
        setattr(self, name, {"shape": shape, "typestr": typestr, "data": (0, False), "version": 3})


class Refusing:
    """An array whose protocols all raise."""

    def __dlpack__(self, **keywords):
        raise BufferError(keywords)

    @property
    def __array_interface__(self):
        raise RuntimeError

    @property
    def shape(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (host((2, 3), "int16"), ArrayMetadata("__dlpack__", (2, 3), "int16")),
        (host((), "bfloat16"), ArrayMetadata("__dlpack__", (), "bfloat16")),
        (host((4,), (0, 3, 1)), ArrayMetadata("__dlpack__", (4,), "?")),
        (
            Interface("__array_interface__", "|b1"),
            ArrayMetadata("__array_interface__", (2, 3), "bool"),
        ),
        (
            Interface("__cuda_array_interface__", ">c16", (5,)),
            ArrayMetadata("__cuda_array_interface__", (5,), "complex128"),
        ),
        (
            Interface("__array_interface__", "|V8"),
            ArrayMetadata("__array_interface__", (2, 3), "?"),
        ),
        (memoryview(b"abc"), ArrayMetadata("its buffer", (3,), "uint8")),
        (array.array("d", [1, 2]), ArrayMetadata("its buffer", (2,), "float64")),
        (
            array.array("l", [1, 2]),
            ArrayMetadata("its buffer", (2,), f"int{8 * array.array('l').itemsize}"),
        ),
    ],
)
def test_each_protocol_is_read(x, said):
    """The shape and, if there is one, the name of the element type are read."""
    assert metadata_of(x)[0] == said


def test_attributes_count_where_there_are_some():
    """Most libraries have attributes, with different spellings of element types."""
    x = type("Tensor", (), {"shape": [2, 3], "dtype": "mylib.bool_"})()

    assert metadata_of(x) == [ArrayMetadata("the array", (2, 3), "bool")]


def test_every_way_is_asked():
    """All protocols are read, not only the first."""
    numpy = pytest.importorskip("numpy")

    ways = [said.by for said in metadata_of(numpy.zeros((2, 3), "float32"))]

    assert ways == ["__dlpack__", "__array_interface__", "its buffer", "the array"]


@pytest.mark.parametrize("x", [object(), None, 3, Refusing()])
def test_what_says_nothing_is_no_error(x):
    """This holds even if all protocols raise."""
    assert metadata_of(x) == []


@pytest.mark.parametrize(
    ("x", "does"),
    [
        (host(), True),
        (b"", True),
        (Interface("__array_interface__"), True),
        (Interface("__cuda_array_interface__"), True),
        ([1.0], False),
        (object(), False),
    ],
)
def test_an_array_has_a_protocol(x, does):
    """One protocol is sufficient."""
    assert has_protocol(x) == does


def test_metadata_has_a_text():
    """The text is used as evidence."""
    assert str(ArrayMetadata("its buffer", (3,), "int8")) == "its buffer says int8 of shape (3,)"
