"""Lists of pyarrow and Polars by `from_arrow`: random nested types, with pyarrow as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import interchange as ix

pytestmark = pytest.mark.interop
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

NUMBERS = (pa.int8(), pa.int32(), pa.uint64(), pa.float64(), pa.bool_())
TEXTS = (
    *(pa.string(), pa.binary(), pa.large_string(), pa.large_binary()),
    *(pa.string_view(), pa.binary_view()),
)
BYTES = {pa.binary(), pa.large_binary(), pa.binary_view()}
LISTS = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)


@st.composite
def types(draw, depth=3, leaves=NUMBERS + TEXTS):
    """Return a type: lists of any kind around numbers or text."""
    found = draw(st.sampled_from(leaves))
    for _ in range(draw(st.integers(0, depth))):
        sizes = () if found in TEXTS else (0, 1, 2, 3)
        wrap = draw(st.sampled_from([*LISTS, *sizes]))
        found = pa.list_(found, wrap) if isinstance(wrap, int) else wrap(found)
    return found


def values_of(kind, nulls):
    """Return a strategy for values of a type."""
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        found = st.lists(values_of(kind.value_type, nulls), min_size=size, max_size=size)
    elif hasattr(kind, "value_type"):
        found = st.lists(values_of(kind.value_type, nulls), max_size=3)
    elif kind == pa.bool_():
        found = st.booleans()
    elif kind in TEXTS:
        found = st.text(max_size=3).map(lambda text: text * (1 + 9 * ("a" in text)))
        found = found.map(str.encode) if kind in BYTES else found
    else:
        found = st.integers(0, 100)
    return st.one_of(st.none(), found) if nulls else found


def filled(kind, value):
    """Return a value in which null fixed-size lists are lists of nulls, as masks have them."""
    if pa.types.is_fixed_size_list(kind):
        value = [None] * kind.list_size if value is None else value
    if value is None or not hasattr(kind, "value_type"):
        return value
    return [filled(kind.value_type, one) for one in value]


def merged(value, mask):
    """Return elements, with None where the mask is False."""
    if isinstance(value, list):
        return [merged(*pair) for pair in zip(value, mask, strict=True)]
    return value if mask else None


def rebuilt(kind, data, mask):
    """Return the Python values of an import; `mask` is None if nulls were refused."""
    if not isinstance(data, tuple):
        found = data.tolist()
        return found if mask is None else merged(found, mask.tolist())
    if pa.types.is_fixed_size_list(kind):
        flat, size = rebuilt(kind.value_type, data, mask), kind.list_size
        return [flat[place : place + size] for place in range(0, len(flat), size)]
    values, offsets, *sizes = data
    if kind in TEXTS:
        block, own = bytes(values.tolist()), mask
        is_text = kind not in BYTES
        found = lambda start, stop: block[start:stop].decode() if is_text else block[start:stop]  # noqa: E731
    else:
        inner, own = (None, None) if mask is None else mask
        items = rebuilt(kind.value_type, values, inner)
        found = lambda start, stop: items[start:stop]  # noqa: E731
    starts = offsets.tolist()
    ends = [a + b for a, b in zip(starts, sizes[0].tolist(), strict=True)] if sizes else starts[1:]
    rows = [found(*pair) for pair in zip(starts, ends, strict=False)]
    return (
        rows if own is None else [a if b else None for a, b in zip(rows, own.tolist(), strict=True)]
    )


def has_no_elements(kind):
    """Whether a type has lists of size 0, whose number is not in what is below them."""
    while hasattr(kind, "value_type"):
        if pa.types.is_fixed_size_list(kind) and kind.list_size == 0:
            return True
        kind = kind.value_type
    return False


@settings(deadline=None)
@given(data=st.data(), kind=types(), nulls=st.booleans(), copy=st.sampled_from([None, True]))
def test_ragged_columns_have_the_values_of_pyarrow(data, kind, nulls, copy):
    """Values and offsets of every level give the column's elements, sliced or joined."""
    if has_no_elements(kind):
        return
    rows = data.draw(st.lists(values_of(kind, nulls), max_size=6))
    parts = [pa.array(rows, kind)]
    if copy:
        parts += [pa.array(data.draw(st.lists(values_of(kind, nulls), max_size=3)), kind)]
    start = data.draw(st.integers(0, len(rows)))
    parts[0] = parts[0][start : data.draw(st.integers(start, len(rows)))]
    column = parts[0] if len(parts) == 1 else pa.chunked_array(parts)
    asked = {"nulls": "separate"} if nulls else {}
    found = ix.from_arrow(column, ragged=True, copy=copy, **asked)
    value, mask = found if nulls else (found, None)

    assert rebuilt(kind, value, mask) == [filled(kind, one) for one in column.to_pylist()]


@settings(deadline=None)
@given(data=st.data(), kind=types(leaves=NUMBERS))
def test_lists_of_one_length_have_the_values_of_pyarrow(data, kind):
    """Lists of one length are an array, whatever types and slices are on its levels."""
    sizes, level = [], kind
    while hasattr(level, "value_type"):
        fixed = pa.types.is_fixed_size_list(level)
        sizes.append(level.list_size if fixed else data.draw(st.integers(0, 3)))
        level = level.value_type
    rows = data.draw(st.integers(0, 4))
    values = np.arange(rows * int(np.prod(sizes, dtype=int))).reshape(rows, *sizes)
    values = values % 2 == 0 if level == pa.bool_() else values
    column = pa.array(values.tolist(), kind)
    start = data.draw(st.integers(0, rows))
    part = column[start : data.draw(st.integers(start, rows))]
    found = ix.from_arrow(part)

    assert found.tolist() == part.to_pylist()
    assert found.shape[:1] == (len(part),)


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_nested_offsets_and_values_are_shared(kind):
    """Every buffer of a sliced list of lists is shared, with its offsets as they are."""
    column = pa.array([[[1, 2], [3]], [], [[4], [5, 6]], [[7]]], kind(kind(pa.int16())))[1:]
    (values, inner), outer = ix.from_arrow(column, ragged=True)
    width = 4 if kind is pa.list_ else 8

    assert outer.ptr == column.buffers()[1].address + width
    assert inner.ptr == column.values.buffers()[1].address
    assert values.ptr == column.values.values.buffers()[1].address
    assert (outer.tolist(), inner.tolist()) == ([2, 2, 4, 5], [0, 2, 3, 4, 6, 7])
    assert (outer.readonly, outer.dtype.itemsize) == (True, width)


def test_a_sliced_child_is_read_from_its_own_offset():
    """Offsets of a list count from the offset of its child."""
    child = pa.array(range(10), pa.int32())[3:]
    column = pa.ListArray.from_arrays(pa.array([1, 3, 4], pa.int32()), child)
    values, offsets = ix.from_arrow(column, ragged=True)

    assert (values.tolist(), offsets.tolist()) == ([3, 4, 5, 6], [1, 3, 4])
    assert values.ptr == child.buffers()[1].address + 12


def test_lists_of_polars_are_values_and_offsets():
    """Polars has lists with offsets of 64 bits, and chunks."""
    series = pl.Series([[1.5, 2.5], [], [3.5]])
    both = pl.concat([series, series], rechunk=False)
    values, offsets = ix.from_arrow(series, ragged=True)
    joined, starts = ix.from_arrow(both, ragged=True, copy="if_needed")

    assert (values.tolist(), offsets.tolist()) == ([1.5, 2.5, 3.5], [0, 2, 2, 3])
    assert (joined.tolist(), starts.tolist()) == ([1.5, 2.5, 3.5] * 2, [0, 2, 2, 3, 5, 5, 6])
    assert str(offsets.dtype) == "int64"


def test_embeddings_of_polars_and_parquet_are_an_array(tmp_path):
    """Lists of one length that were written to a file are imported as one array."""
    import pyarrow.parquet as pq

    rows = np.arange(12, dtype="float32").reshape(4, 3)
    pq.write_table(pa.table({"x": rows.tolist()}), tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")

    assert ix.from_arrow(table, copy="if_needed").tolist() == rows.tolist()
    assert ix.from_arrow(pl.Series("x", rows.tolist())).tolist() == rows.tolist()


def test_structs_in_lists_are_dicts():
    """The fields of a list's structs are values that its offsets refer to."""
    rows = [[{"a": 1, "b": [1, 2]}], [], [{"a": 2, "b": []}, {"a": 3, "b": [3]}]]
    fields, offsets = ix.from_arrow(pa.array(rows), ragged=True)
    (b, inner) = fields["b"]

    assert (fields["a"].tolist(), offsets.tolist()) == ([1, 2, 3], [0, 1, 1, 3])
    assert (b.tolist(), inner.tolist()) == ([1, 2, 3], [0, 2, 2, 3])


def test_fields_of_a_table_are_ragged():
    """Each field of a table is imported as a column is."""
    table = pa.table({"text": ["a", "bc"], "x": [1, 2], "tags": [[1], [2, 3]]})
    found = ix.from_arrow(table, columns=True, ragged=True)

    assert bytes(found["text"][0].tolist()) == b"abc"
    assert (found["x"].tolist(), found["tags"][1].tolist()) == ([1, 2], [0, 1, 3])


def test_lists_of_arrays_go_out_and_come_back():
    """A list of Arrays is exported as tensors of any shape, and imported as the same list."""
    rows = [np.arange(6.0).reshape(2, 3), np.arange(2.0).reshape(1, 2)]
    column = ix.to_arrow([ix.asarray(row) for row in rows], kind="tensor")

    assert [one.tolist() for one in ix.from_arrow(column, ragged="arrays")] == [
        row.tolist() for row in rows
    ]


@settings(deadline=None)
@given(data=st.data(), kind=st.sampled_from([pa.list_, pa.large_list]), width=st.integers(1, 3))
def test_null_lists_are_rows_of_the_array(data, kind, width):
    """Null lists without elements are rows of an array: masked, or filled."""
    row = st.lists(st.integers(-9, 9), min_size=width, max_size=width)
    rows = data.draw(st.lists(st.one_of(st.none(), row), max_size=20))
    start = data.draw(st.integers(0, len(rows)))
    column = pa.array(rows, kind(pa.int16()))[start:]
    found, mask = ix.from_arrow(column, nulls="separate")
    width = width if any(rows[start:]) else 0

    assert ix.from_arrow(column, nulls=7).tolist() == [one or [7] * width for one in rows[start:]]
    assert mask.tolist() == [[one is not None] * width for one in rows[start:]]
    assert found.shape == mask.shape
