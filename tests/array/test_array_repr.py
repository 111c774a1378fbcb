"""The repr of Arrays: small ones, huge ones and those that the host cannot read."""

from __future__ import annotations

import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers


def test_a_small_array_shows_all_of_itself():
    """Shape, dtype, device, strides, read-only, owner, and the elements."""
    text = repr(ix.asarray(np.arange(6, dtype="i4").reshape(2, 3)))

    assert text == (
        "Array(shape=(2, 3), dtype=int32, device=cpu, strides=(3, 1), readonly=False,"
        " owner=numpy.ndarray,\n"
        "      [[0, 1, 2],\n"
        "       [3, 4, 5]])"
    )


def test_a_builtin_owner_has_its_bare_name():
    """The repr of a built-in owner omits its module."""
    text = repr(ix.from_buffer(b"ab"))

    assert text == (
        "Array(shape=(2,), dtype=uint8, device=cpu, strides=(1,), readonly=True, owner=bytes,\n"
        "      [97, 98])"
    )


def test_a_scalar_shows_its_element():
    """An array without axes is shown as a number."""
    text = repr(ix.asarray(np.array(2.5)))

    assert text.endswith("owner=numpy.ndarray,\n      2.5)")


def test_unknown_is_shown_as_unknown():
    """The repr shows that writability is unknown."""
    assert "readonly=None" in repr(ix.from_dlpack(producers.host().but(generation="legacy")))


@pytest.mark.parametrize("shape", [(10**6,), (1000, 1000), (100, 100, 100), (1,) * 20 + (10**6,)])
def test_a_large_array_is_not_printed_whole(shape):
    """The repr of a large array reads its edges only."""
    array = ix.asarray(np.zeros(1, "i1")).broadcast_to(shape)

    text = repr(array)

    assert "..." in text
    assert len(text) < 6000


def test_a_huge_array_is_printed_at_once():
    """The time does not depend on the size: this one would take a year."""
    array = ix.asarray(np.zeros(1, "i1")).broadcast_to((min(2**60, sys.maxsize),))

    assert "[0, 0, 0, ..., 0, 0, 0]" in repr(array)


def test_nothing_shows_no_elements():
    """An empty array has its description only."""
    text = repr(ix.from_pointer(0, (0, 3), "uint8", owner=b""))

    assert text == (
        "Array(shape=(0, 3), dtype=uint8, device=cpu, strides=(3, 1), readonly=False, owner=bytes)"
    )


@pytest.mark.parametrize("dtype", ["opaque64", "float32x2", "uint4"])
def test_elements_that_numpy_cannot_show_are_not_shown(dtype):
    """Elements without a NumPy dtype are not shown, only the description."""
    block = bytearray(64)
    array = ix.from_pointer(ix.from_buffer(block).ptr, (4,), dtype, owner=block)

    assert repr(array) == (
        f"Array(shape=(4,), dtype={dtype}, device=cpu, strides=(1,), readonly=False,"
        " owner=bytearray)"
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4_padded"])
def test_elements_of_ml_dtypes_are_shown(dtype):
    """Elements that ml_dtypes can format are shown."""
    block = bytearray(8)
    array = ix.from_pointer(ix.from_buffer(block).ptr, (4,), dtype, owner=block)

    assert "[0, 0, 0, 0])" in repr(array)


def test_str_is_repr():
    """`str` and `repr` are the same."""
    array = ix.from_buffer(b"ab")

    assert str(array) == f"{array}" == repr(array)


# ---------------------------------------------------------------- notebooks and rich


def _picture(array):
    """Return the attributes of the table, and the texts and shades of the picture, of the HTML."""
    tree = ET.fromstring(array._repr_html_())  # noqa: S314 - ours
    rows = {row.find("th").text: row.find(".//code").text for row in tree.iter("tr")}
    svg = tree.find(".//svg")
    if svg is None:
        return rows, [], []
    texts = [int(one.text) for one in svg.iter("text")]
    return rows, texts, [float(one.get("fill-opacity")) for one in svg.iter("rect")]


@pytest.mark.parametrize(
    ("array", "offsets"),
    [
        (np.zeros((2, 3)), [0, 1, 2, 3, 4, 5]),
        (np.zeros((2, 3)).T, [0, 3, 1, 4, 2, 5]),
        (np.zeros((2, 3))[::-1], [0, 1, 2, -3, -2, -1]),
        (np.broadcast_to(np.zeros(3), (2, 3)), [0, 1, 2, 0, 1, 2]),
        (np.zeros((5, 2, 3))[:, :, ::2], [0, 2, 3, 5]),
        (np.zeros(3), [0, 1, 2]),
        (np.array(1.0), [0]),
        (np.zeros((0, 3)), []),
    ],
)
def test_a_notebook_shows_the_memory_order(array, offsets):
    """Each cell has its offset, and shades are in the order of memory."""
    x = ix.asarray(array)
    rows, texts, shades = _picture(x)

    assert texts == offsets
    by_offset = dict(sorted(zip(texts, shades, strict=True)))
    assert [*by_offset.values()] == sorted(by_offset.values())
    assert rows == {
        "shape": str(x.shape),
        "dtype": "float64",
        "device": "cpu",
        "strides": str(x.strides),
        "readonly": str(x.readonly),
        "owner": "numpy.ndarray",
    }


def test_a_notebook_shows_a_part_of_a_large_array():
    """The caption says which part."""
    x = ix.asarray(np.zeros((2, 100, 7)))

    assert len(_picture(x)[1]) == 6 * 7
    assert "Offset of each element of x[0, :6, :] from the first" in x._repr_html_()


def test_a_notebook_shows_device_memory_without_reading_it():
    """There are no elements, and the same picture."""
    x = ix.from_pointer(4096, (2, 3), "float16", device="cuda:0")

    rows, texts, _ = _picture(x)
    assert (rows["device"], texts) == ("cuda:0", [0, 1, 2, 3, 4, 5])
    assert "<pre>" not in x._repr_html_()


@pytest.mark.emulated
@pytest.mark.usefixtures("machine")
def test_memory_that_was_allocated_here_is_owned_by_interchange():
    """The object that frees it is not named."""
    x = ix.asarray(bytearray(4)).to_device("cuda")

    assert "owner=interchange)" in repr(x)
    assert ("owner", "interchange") in list(x.__rich_repr__())


def test_the_text_of_a_notebook_is_escaped():
    """Names of types and elements are text, and no HTML."""
    owner = type("<script>", (bytearray,), {"__module__": "a&b"})(b"abc")
    html = ix.asarray(owner)._repr_html_()

    assert "a&amp;b.&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<pre>[97, 98, 99]</pre>" in html


def test_rich_shows_attributes_and_few_elements():
    """Other elements are left out, and those that cannot be read."""
    pretty = pytest.importorskip("rich.pretty")

    assert pretty.pretty_repr(ix.asarray(bytearray(b"ab")), max_width=200) == (
        "Array(shape=(2,), dtype=DType('uint8'), device=Device('cpu'), strides=(1,),"
        " readonly=False, owner=<class 'bytearray'>, elements=[97, 98])"
    )
    for array in (np.zeros(101), np.zeros(0)):
        assert "elements" not in dict(ix.asarray(array).__rich_repr__())
