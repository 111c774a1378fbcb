"""The figures of the docs show the current protocols, kinds of arrays and layers."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import numbers

SAMPLE = np.arange(3, dtype="f4")


class Dlpack:
    """Supports DLPack alone."""

    __dlpack__ = SAMPLE.__dlpack__
    __dlpack_device__ = SAMPLE.__dlpack_device__


class ArrayInterface:
    """Supports NumPy's array interface alone."""

    __array_interface__ = SAMPLE.__array_interface__


class ArrowArray:
    """Supports Arrow alone."""

    def __arrow_c_array__(self, requested_schema=None):
        """Return the sample as a column."""
        return numbers("float32", 3).__arrow_c_array__()


class ArrayMethod:
    """Has ``__array__`` alone."""

    def __array__(self, dtype=None, copy=None):
        """Return the sample."""
        return SAMPLE


SPEAKERS = {
    "DLPack": Dlpack(),
    "array interface": ArrayInterface(),
    "Arrow": ArrowArray(),
    "buffer protocol": memoryview(SAMPLE),
    "__array__": ArrayMethod(),
}


@pytest.fixture(scope="module")
def figures(docs_module):
    """The module that draws them."""
    return docs_module("figures")


def _shown(svg):
    """Return the texts of a figure."""
    return [text.text or "" for text in ET.fromstring(svg).iter("text")]  # noqa: S314 - ours


@pytest.mark.parametrize("name", SPEAKERS)
def test_what_supports_a_protocol_of_the_figure_goes_in(figures, name):
    """Each protocol of the host is used alone; the protocol of devices is named."""
    assert {*SPEAKERS, "CUDA Array Interface"} == set(figures.protocols_in())
    assert ix.asarray(SPEAKERS[name]).shape == (3,)


def test_what_comes_out_is_what_an_array_has(figures):
    """An attribute of each protocol's name."""
    names = {name: attribute for attribute, name in figures._PROTOCOLS.items()}

    assert figures.protocols_out()
    assert "Arrow" in figures.protocols_out()
    assert all(
        hasattr(ix.ArrowExport if name == "Arrow" else ix.Array, names[name])
        for name in figures.protocols_out()
    )


def test_a_protocol_that_the_figure_does_not_know_is_an_error(figures):
    """Otherwise the figure would be incomplete."""
    with pytest.raises(figures.UnknownProtocolError, match="__tensor_view__"):
        figures._named(["__dlpack__", "__tensor_view__"])


def test_the_figure_shows_every_target(figures):
    """The figure has all targets of `convert`, except for Arrays themselves."""
    assert set(ix.TARGETS) - {"interchange"} <= set(_shown(figures.exchange_figure()))


def test_the_figure_shows_every_kind_of_array_of_the_matrix(root, figures):
    """The figure has every kind of array of the matrix, by the name of its library."""
    text = (root / "docs" / "_generated" / "matrix.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)
    shown = [word for word in _shown(figures.exchange_figure()) if word]

    assert rows
    assert [row for row in rows if not any(row.startswith(word) for word in shown)] == [
        "interchange"
    ]


def test_the_layers_are_those_of_the_linter(figures, project):
    """The layers are all packages, in the linter's order."""
    layers = re.search(r'containers = \["interchange"\]\nlayers = \[(.*?)\]', project, re.DOTALL)
    assert layers is not None
    drawn = [name for layer in figures.layers() for name in layer.packages]

    assert drawn == re.findall(r'"(\w+)"', layers[1])
    assert [layer.number for layer in figures.layers()] == list("876543210")


def test_every_property_is_handled(figures):
    """Each property has its own layer, and functions that call the layers in order."""
    handled = [layer.properties for layer in figures.layers() if layer.properties]

    assert [{name} for name in figures.PROPERTIES if {name} not in handled] == []
    assert set(figures.PROPERTIES) in handled


@pytest.mark.parametrize("name", ["exchange_figure", "layers_figure"])
def test_a_figure_has_a_text(figures, name):
    """The figure has a text for screen readers."""
    drawn = ET.fromstring(getattr(figures, name)())  # noqa: S314 - ours

    assert drawn.get("role") == "img"
    assert drawn.findtext("title")
    assert len(drawn.findtext("desc") or "") > 100
