"""The figures of columns agree with real columns: shapes, strides, elements."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

import interchange as ix

NAMES = ("primitive", "lists", "nested", "tensors", "bits", "chunks", "in", "out")
GUIDES = ("docs/guides/columns-and-tensors.md", "docs/guides/arrays-as-columns.md")


@pytest.fixture(scope="module")
def drawn(docs_module):
    """The module that draws them."""
    return docs_module("column_figures")


def _pyarrow_columns(drawn):
    """Return the array of each layout, created by pyarrow."""
    import pyarrow as pa

    def of(layout, *sizes):
        column = pa.array(layout.buffer, pa.int64())
        for size in sizes:
            column = pa.FixedSizeListArray.from_arrays(column, size)
        return column

    there = zip(drawn.PRIMITIVE.buffer, drawn.PRIMITIVE.validity, strict=True)
    values = [value if one else None for value, one in there]
    start, rows = drawn.PRIMITIVE.offset, drawn.PRIMITIVE.shape[0]
    of_type = pa.fixed_shape_tensor(pa.int64(), [2, 3], permutation=[1, 0])
    return {
        "PRIMITIVE": pa.array(values).slice(start, rows),
        "LISTS": of(drawn.LISTS, 4),
        "NESTED": of(drawn.NESTED, 3, 2),
        "TENSORS": pa.ExtensionArray.from_storage(of_type, of(drawn.TENSORS, 6)),
    }


def test_every_figure_is_in_the_guide(drawn, pages):
    """Every figure is in one of the guides, once."""
    text = "".join(pages[guide] for guide in GUIDES)

    assert tuple(drawn.FIGURES) == NAMES
    assert [text.count(f"```{{column-figure}} {name}\n") for name in NAMES] == [1] * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_a_text(drawn, name):
    """The figure has a text for screen readers."""
    figure = ET.fromstring(drawn.FIGURES[name]())  # noqa: S314 - ours

    assert figure.get("role") == "img"
    assert figure.findtext("title")
    assert len(figure.findtext("desc") or "") > 100


@pytest.mark.interop
@pytest.mark.parametrize("name", ["PRIMITIVE", "LISTS", "NESTED", "TENSORS"])
def test_a_layout_is_that_of_a_real_column(drawn, need, name):
    """Shape, strides and elements are those of the array that `from_arrow` makes."""
    need("pyarrow")
    layout = getattr(drawn, name)

    data, mask = ix.from_arrow(_pyarrow_columns(drawn)[name], nulls="separate")

    assert (data.shape, data.strides) == (layout.shape, layout.strides)
    stop = layout.offset + layout.shape[0]
    wanted = layout.validity[layout.offset : stop] or np.ones(layout.shape, bool).tolist()
    assert mask.tolist() == list(wanted)
    there = np.asarray(mask)
    shown = [layout.buffer[layout.place(*index)] for index in np.ndindex(layout.shape)]
    assert np.asarray(data)[there].tolist() == np.array(shown).reshape(layout.shape)[there].tolist()


@pytest.mark.interop
def test_the_bits_are_those_of_a_real_column(drawn, need):
    """The first bool is the lowest bit."""
    need("pyarrow")
    import pyarrow as pa

    (byte,) = bytes(pa.array(drawn.BITS).buffers()[1])[:1]

    assert [bool(byte >> place & 1) for place in range(len(drawn.BITS))] == list(drawn.BITS)


@pytest.mark.interop
def test_the_chunks_are_put_together_in_order(drawn, need):
    """The last row of the figure has the chunks in order."""
    need("pyarrow")
    import pyarrow as pa

    column = pa.chunked_array([list(chunk) for chunk in drawn.CHUNKS])

    assert ix.from_arrow(column, copy=True).tolist() == [x for c in drawn.CHUNKS for x in c]
