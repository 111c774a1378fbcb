"""Tables and batches of the libraries of data frames, compared with pyarrow."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.interop

NUMBERS = ("int8", "uint16", "int32", "int64", "float32", "float64")


@st.composite
def tables(draw, *, nulls=False, alike=False):
    """Draw a table of some columns, in chunks that are slices."""
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
    kind = draw(st.sampled_from(NUMBERS)) if alike else None
    kinds = {name: getattr(pa, kind or draw(st.sampled_from(NUMBERS)))() for name in names}
    parts = []
    for rows in draw(st.lists(st.integers(0, 9), min_size=1, max_size=4)):
        start = draw(st.integers(0, 3))
        values = st.integers(0, 100) | st.none() if nulls else st.integers(0, 100)
        columns = {
            name: pa.array(
                draw(st.lists(values, min_size=rows + start, max_size=rows + start)), kind
            )
            for name, kind in kinds.items()
        }
        parts.append(pa.table(columns).slice(start))
    return pa.concat_tables(parts)


# ---------------------------------------------------------------- tables


@given(tables(), st.randoms())
def test_columns_are_those_of_pyarrow(table, random):
    """In the order requested, with the dtype of each."""
    names = random.sample(table.column_names, random.randint(1, table.num_columns))
    found = ix.from_arrow(table, columns=names, copy="if_needed")

    assert list(found) == names
    for name, value in found.items():
        np.testing.assert_array_equal(np.asarray(value), table[name].to_numpy())
        assert str(value.dtype) == table[name].type.to_pandas_dtype().__name__


@given(tables(alike=True), st.sampled_from([0, 1]))
def test_stacked_columns_are_those_of_numpy(table, axis):
    """`axis` is that of `np.stack`."""
    found = ix.from_arrow(table, columns=True, axis=axis)
    expected = np.stack([column.to_numpy() for column in table.columns], axis)

    np.testing.assert_array_equal(np.asarray(found), expected)
    assert str(found.dtype) == str(expected.dtype)


def sources():
    """Return functions that make objects of libraries from a table of pyarrow."""
    found = {
        "pyarrow.Table": lambda table: table,
        "pyarrow.RecordBatchReader": lambda table: table.to_reader(),
        "list of RecordBatch": lambda table: table.to_batches(),
        "pyarrow.dataset": lambda table: dataset(table).scanner().to_reader(),
    }
    dataset = pytest.importorskip("pyarrow.dataset").dataset
    for name, make in (
        ("polars", lambda library: library.from_arrow),
        ("pandas", lambda _: lambda table: table.to_pandas()),
        ("duckdb", lambda library: library.from_arrow),
        ("nanoarrow", lambda library: library.ArrayStream),
    ):
        try:
            library = __import__(name)
        except ImportError:
            continue
        found[name] = make(library)
    if "polars" in found:
        found["polars.LazyFrame"] = lambda table: found["polars"](table).lazy()
    return found


SOURCES = sources()


@pytest.mark.parametrize("size", [None, 3, 100])
@pytest.mark.parametrize("source", SOURCES)
def test_every_library_has_batches(source, size):
    """Of two columns, in order, whatever the record batches of the library are."""
    x, y = np.arange(10), np.arange(10) / 4
    chunks = [pa.table({"x": x[part], "y": y[part]}) for part in (slice(0, 4), slice(4, 10))]
    made = SOURCES[source](pa.concat_tables(chunks))
    found = list(ix.batches(made, size=size, columns=["y", "x"]))

    assert all(list(batch) == ["y", "x"] for batch in found)
    assert np.concatenate([batch["x"] for batch in found]).tolist() == x.tolist()
    assert np.concatenate([batch["y"] for batch in found]).tolist() == y.tolist()
    if size is not None:
        assert [len(batch["x"]) for batch in found[:-1]] == [size] * (len(found) - 1)


@pytest.mark.parametrize("source", SOURCES)
def test_every_library_has_tables(source):
    """A dict of columns."""
    made = SOURCES[source](pa.table({"x": [1, 2], "y": [0.5, 1.5]}))
    if not hasattr(made, "__arrow_c_stream__"):
        pytest.skip("an iterable or a lazy query is for batches()")
    found = ix.from_arrow(made, columns=["y", "x"], copy="if_needed")

    assert {name: value.tolist() for name, value in found.items()} == {
        "y": [0.5, 1.5],
        "x": [1, 2],
    }


# ---------------------------------------------------------------- batches


@given(tables(nulls=True), st.integers(1, 12), st.booleans())
def test_batches_have_the_rows_of_the_table(table, size, drop_last):
    """Values and masks, of batches of one size, are those of the whole table."""
    table = table.cast(pa.schema([(name, pa.float64()) for name in table.column_names]))
    rows = table.num_rows - table.num_rows % size if drop_last else table.num_rows
    filled, masks = {name: [] for name in table.column_names}, []
    for batch in ix.batches(table, size=size, drop_last=drop_last, nulls=-1):
        for name, value in batch.items():
            filled[name] += value.tolist()
    for batch in ix.batches(table, size=size, drop_last=drop_last, nulls="mask"):
        data, mask = batch[table.column_names[0]]
        assert data.shape == mask.shape
        masks += mask.tolist()

    for name, values in filled.items():
        assert values == table[name].slice(0, rows).fill_null(-1).to_pylist()
    assert masks == table[0].slice(0, rows).is_valid().to_pylist()


@given(
    st.lists(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6), min_size=1, max_size=4),
    st.integers(1, 8) | st.none(),
)
def test_ragged_batches_have_the_lists_of_the_table(chunks, size):
    """Values and offsets of a batch are those of its rows, from one record batch or several."""
    kind = pa.list_(pa.int32())
    table = pa.table({"x": pa.chunked_array([pa.array(rows, kind) for rows in chunks], kind)})
    found = []
    for batch in ix.batches(table, size=size, ragged=True):
        values, offsets = (part.tolist() for part in batch["x"])
        found += [values[start:stop] for start, stop in pairwise(offsets)]

    assert found == table["x"].to_pylist()


def test_batches_are_views_of_what_pyarrow_has():
    """Where a batch lies in one record batch, the address is that of its buffer."""
    table = pa.table({"x": np.arange(100, dtype="f4")})
    start = table["x"].chunk(0).buffers()[1].address

    assert [batch["x"].ptr - start for batch in ix.batches(table, size=30)] == [0, 120, 240, 360]


def test_a_reader_that_fails_is_reported_where_it_fails():
    """The words of the library's own error are in the message."""
    schema = pa.schema([("x", pa.int64())])

    def parts():
        yield pa.record_batch([[1, 2]], schema=schema)
        raise OSError("the disk is gone")

    found = ix.batches(pa.RecordBatchReader.from_batches(schema, parts()))

    assert next(found)["x"].tolist() == [1, 2]
    with pytest.raises(ix.ExchangeError, match=r"the disk is gone.*ARROW-STREAM-1"):
        next(found)


def test_memory_of_pyarrow_is_released_batch_by_batch():
    """The pool of pyarrow has at most two record batches while they are read."""
    schema = pa.schema([("x", pa.float64())])
    rows = 100_000
    parts = (pa.record_batch([pa.array(np.ones(rows))], schema=schema) for _ in range(20))
    before, most = pa.total_allocated_bytes(), 0
    copies = (batch.take(pa.array(np.arange(rows))) for batch in parts)
    for batch in ix.batches(pa.RecordBatchReader.from_batches(schema, copies), size=150_000):
        most = max(most, pa.total_allocated_bytes() - before)
        del batch
    gc.collect()

    assert most < 3.5 * 8 * rows
    assert pa.total_allocated_bytes() == before
