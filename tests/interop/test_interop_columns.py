"""Columns of real data frames: same memory, same elements, nulls reported, and exported again."""

from __future__ import annotations

import datetime as dt
from importlib import import_module

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop
needs_native = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.fixture
def pl(need):
    """Polars."""
    need("polars")
    return import_module("polars")


@pytest.fixture
def pd(need):
    """pandas, with pyarrow, which it needs for Arrow."""
    need("pandas")
    need("pyarrow")
    return import_module("pandas")


@pytest.fixture
def duck(need):
    """A connection of DuckDB."""
    need("duckdb")
    import duckdb

    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def na(need):
    """nanoarrow."""
    need("nanoarrow.device")
    import_module("nanoarrow.device")
    return import_module("nanoarrow")


def rule_of(x, take=ix.from_arrow, **keywords):
    """Return the rule by which an import is refused."""
    with pytest.raises(ix.ExchangeError) as caught:
        take(x, **keywords)
    return caught.value.rule


def address(series):
    """Return the address of the elements of a Polars series, as reported to NumPy."""
    return series.to_numpy(allow_copy=False).ctypes.data


# ---------------------------------------------------------------- Polars


@pytest.mark.parametrize("take", [ix.from_arrow, ix.asarray])
@pytest.mark.parametrize(
    "dtype",
    [
        "Int8",
        "UInt8",
        "Int16",
        "UInt16",
        "Int32",
        "UInt32",
        "Int64",
        "UInt64",
        "Float32",
        "Float64",
    ],
)
def test_a_series_is_shared(pl, take, dtype):
    """A Polars series is shared at its address, and so is a slice."""
    series = pl.Series("x", range(10), dtype=getattr(pl, dtype))

    found, part = take(series), take(series[3:7])

    assert (found.ptr, part.ptr) == (address(series), address(series[3:7]))
    assert (found.tolist(), part.tolist()) == (series.to_list(), [3, 4, 5, 6])
    assert (found.readonly, str(found.dtype)) == (True, dtype.lower())


def test_nan_of_polars_is_a_number(pl):
    """NaN in Polars is not null."""
    found = ix.from_arrow(pl.Series([1.0, float("nan")]))

    assert np.array_equal(np.asarray(found), [1.0, np.nan], equal_nan=True)


def test_an_embedding_of_polars_is_a_matrix(pl):
    """A column of arrays, over the memory of its numbers; slices of rows, too."""
    series = pl.Series("x", ROWS, dtype=pl.Array(pl.Float32, 3))

    found, part = ix.from_arrow(series), ix.from_arrow(series[1:])

    assert (found.tolist(), part.tolist()) == (ROWS, ROWS[1:])
    assert found.ptr == address(series.explode(empty_as_null=False)) == part.ptr - 12


def test_arrays_in_arrays_of_polars_are_axes(pl):
    """Nested arrays of Polars are axes, at any depth."""
    values = np.arange(24, dtype="i2").reshape(2, 3, 4)
    series = pl.Series(values.tolist(), dtype=pl.Array(pl.Array(pl.Int16, 4), 3))

    assert np.array_equal(np.asarray(ix.from_arrow(series)), values)


@pytest.mark.parametrize("take", [ix.from_arrow, ix.asarray])
def test_chunks_of_polars_need_a_copy(pl, take):
    """Chunks of Polars are joined by a copy."""
    series = pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)

    assert series.n_chunks() == 2
    assert take(series, copy=True).tolist() == [1, 2, 3]
    with pytest.raises(ix.CopyNeededError):
        take(series)


def test_nulls_of_polars_come_apart(pl):
    """Nulls of rows and of elements are returned as a mask."""
    series = pl.Series([[1, 2], None, [3, None]], dtype=pl.Array(pl.Int32, 2))

    data, mask = ix.from_arrow(series, nulls="separate")

    assert mask.tolist() == [[True, True], [False, False], [True, False]]
    assert np.asarray(data)[np.asarray(mask)].tolist() == [1, 2, 3]
    assert rule_of(series) == "ARROW-NULL-2"


@pytest.mark.parametrize("start", [0, 3])
def test_bools_of_polars_become_bytes(pl, start):
    """Packed bools become bytes, for any bit offset."""
    values = [place % 3 == 0 for place in range(20)]

    found = ix.from_arrow(pl.Series(values)[start:])

    assert found.tolist() == values[start:]


def test_what_stands_for_something_else_in_polars(pl):
    """Is given out on request."""
    dates = pl.Series([dt.date(1970, 1, 3), None])
    words = pl.Series(["a", "b", "a"], dtype=pl.Categorical)

    data, mask = ix.from_arrow(dates, storage=True, nulls="separate")

    assert (data.tolist()[0], mask.tolist()) == (2, [True, False])
    assert ix.from_arrow(words, storage=True).tolist() == words.to_physical().to_list()
    assert rule_of(dates) == rule_of(words) == "ARROW-TYPE-2"


def test_a_frame_of_one_column_is_that_column(pl):
    """A frame of one column is imported; of several, one must be named."""
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})

    assert ix.from_arrow(frame.select("b")).ptr == address(frame["b"])
    with pytest.raises(ix.UnsupportedDTypeError, match=r"pass `column='a'`"):
        ix.from_arrow(frame)


@pytest.mark.parametrize("make", [lambda pl: pl.Series(["a"]), lambda pl: pl.Series([[1], [2, 3]])])
def test_what_has_no_width_in_polars(pl, make):
    """Text, and lists of different lengths."""
    assert rule_of(make(pl)) == "ARROW-TYPE-1"


@needs_native
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float32", "float64"])
def test_polars_shares_what_goes_out(pl, dtype):
    """A column, and a matrix as a column of arrays."""
    x = np.arange(6).astype(dtype)
    rows = x.reshape(2, 3)

    column, matrix = pl.Series(ix.to_arrow(x)), pl.Series(ix.to_arrow(rows))

    assert (address(column), column.to_list()) == (x.ctypes.data, x.tolist())
    assert (ix.from_arrow(matrix).ptr, matrix.to_list()) == (x.ctypes.data, rows.tolist())


@needs_native
def test_a_frame_of_polars_has_the_columns_of_a_table(pl):
    """Each column of a Polars frame is over the memory of its array."""
    columns = {"n": np.arange(3), "rows": np.ones((3, 2), "f4")}

    frame = pl.DataFrame(ix.to_arrow(columns))

    assert frame.columns == ["n", "rows"]
    assert {name: ix.from_arrow(frame[name]).ptr for name in columns} == {
        name: x.ctypes.data for name, x in columns.items()
    }


# ---------------------------------------------------------------- pandas


def buffer_of(series):
    """Return the address of the elements of a pandas series over Arrow, as pyarrow reports it."""
    (chunk,) = series.array._pa_array.chunks
    return chunk.buffers()[1].address


@pytest.mark.parametrize("take", [ix.from_arrow, ix.asarray])
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "float", "double"])
def test_a_column_of_arrow_in_pandas_is_shared(pd, take, dtype):
    """The column is shared at the address that pyarrow reports."""
    series = pd.Series([1, 2, 3], dtype=f"{dtype}[pyarrow]")

    found, part = take(series), take(series[1:])

    assert (found.ptr, found.tolist()) == (buffer_of(series), [1, 2, 3])
    assert (part.ptr, part.tolist()) == (found.ptr + found.dtype.itemsize, [2, 3])


def test_nulls_of_arrow_in_pandas(pd):
    """Are refused, and come apart on request."""
    series = pd.Series([1.5, None, float("nan")], dtype="double[pyarrow]")
    nulls = series.array._pa_array.null_count

    data, mask = ix.from_arrow(series, nulls="separate")

    assert (data.shape, mask.tolist().count(False)) == ((3,), nulls)
    assert nulls >= 1
    assert rule_of(series) == "ARROW-NULL-2"


def test_nan_of_numpy_in_pandas_stays_nan(pd):
    """NaN stays NaN in `asarray`, which shares pandas' ndarray; in Arrow it is null."""
    series = pd.Series([1.0, float("nan")])

    found = ix.asarray(series)
    data, mask = ix.from_arrow(series, nulls="separate")

    assert found.ptr == series.to_numpy().ctypes.data
    assert np.isnan(np.asarray(found)).tolist() == [False, True]
    assert mask.tolist() == [True, False]
    assert data.tolist()[0] == 1.0
    assert rule_of(series) == "ARROW-NULL-2"


def test_masked_columns_of_pandas_come_apart(pd):
    """Elements hidden by pandas' masks are null."""
    data, mask = ix.from_arrow(pd.Series([1, None, 3], dtype="Int64"), nulls="separate")

    assert mask.tolist() == [True, False, True]
    assert np.asarray(data)[np.asarray(mask)].tolist() == [1, 3]


def test_categories_of_pandas_are_indices(pd):
    """Codes are returned on request; missing categories are null."""
    series = pd.Series(["b", "a", None, "b"], dtype="category")

    data, mask = ix.from_arrow(series, storage=True, nulls="separate")

    assert mask.tolist() == [True, True, False, True]
    assert np.asarray(data)[np.asarray(mask)].tolist() == [1, 0, 1]


@needs_native
def test_pandas_shares_what_goes_out(pd):
    """Through pyarrow, which its columns of Arrow are."""
    import pyarrow as pa

    x = np.arange(4, dtype="f4")

    series = pd.Series(pa.array(ix.to_arrow(x)), dtype=pd.ArrowDtype(pa.float32()))

    assert (buffer_of(series), series.tolist()) == (x.ctypes.data, x.tolist())


# ---------------------------------------------------------------- DuckDB


@pytest.mark.parametrize("take", [ix.from_arrow, ix.asarray])
def test_a_result_of_duckdb_comes_in(duck, take):
    """A result of DuckDB with one column and one chunk is imported without another copy."""
    found = take(duck.sql("select (i * 2)::float as x from range(1000) t(i)"))

    assert (str(found.dtype), found.readonly) == ("float32", True)
    assert found.tolist() == list(range(0, 2000, 2))


def test_arrays_of_duckdb_are_axes(duck):
    """Fixed-size arrays of DuckDB are axes."""
    found = ix.from_arrow(duck.sql("select [i, i + 1, i + 2]::int[3] as x from range(4) t(i)"))

    assert found.tolist() == [[row, row + 1, row + 2] for row in range(4)]


def test_chunks_of_duckdb_become_one_array(duck):
    """A result of several needs a copy."""
    query = "select i::int as x from range(3) t(i) union all select 7"

    assert sorted(ix.from_arrow(duck.sql(query), copy=True).tolist()) == [0, 1, 2, 7]
    assert rule_of(duck.sql(query)) == "ARROW-CHUNK-1"


def test_nulls_of_duckdb_come_apart(duck):
    """Nulls in results of DuckDB are returned as a mask."""
    query = "select if(i = 1, null, i)::int as x from range(3) t(i)"

    data, mask = ix.from_arrow(duck.sql(query), nulls="separate")

    assert (mask.tolist(), data.tolist()[::2]) == ([True, False, True], [0, 2])
    assert rule_of(duck.sql(query)) == "ARROW-NULL-2"


def test_bools_of_duckdb_become_bytes(duck):
    """Bits are copied to bytes for any values."""
    found = ix.from_arrow(duck.sql("select i % 3 = 0 as x from range(10) t(i)"))

    assert found.tolist() == [place % 3 == 0 for place in range(10)]


@needs_native
def test_duckdb_reads_a_table_of_ours(duck):
    """DuckDB reads our table by its variable name: numbers, bools, and rows as arrays."""
    rows = np.arange(6, dtype="f4").reshape(3, 2)
    ours = ix.to_arrow({"n": np.arange(3), "even": np.arange(3) % 2 == 0, "rows": rows})

    found = duck.sql("select n, even, rows from ours where n > 0 order by n").fetchall()

    assert found == [(1, False, (2.0, 3.0)), (2, True, (4.0, 5.0))]
    assert ours.__class__ is ix.ArrowExport


@needs_native
def test_duckdb_does_not_copy_a_table_of_ours(duck):
    """DuckDB reads our table's memory at the time of the query."""
    x = np.arange(3)
    ours = ix.to_arrow({"n": x})
    before = duck.sql("select sum(n) from ours").fetchall()

    x[0] = 40

    assert (before, duck.sql("select sum(n) from ours").fetchall()) == ([(3,)], [(43,)])
    assert ours is not None


# ---------------------------------------------------------------- nanoarrow


@pytest.mark.parametrize("take", [ix.from_arrow, ix.asarray])
def test_an_array_of_nanoarrow_is_shared(na, take):
    """An array of nanoarrow is shared at its address, and so are slices."""
    array = na.c_array([1, 2, 3, 4], na.int32())

    found, part = take(array), take(array[2:])

    assert (found.ptr, found.tolist()) == (array.buffers[1], [1, 2, 3, 4])
    assert (part.ptr, part.tolist()) == (found.ptr + 8, [3, 4])


def test_a_device_array_of_nanoarrow_is_shared(na):
    """A device array of nanoarrow on the host is shared."""
    array = na.c_array([1, 2, 3], na.int16())
    address = array.buffers[1]

    found = ix.from_arrow(na.device.c_device_array(array))  # which moves it

    assert (found.ptr, str(found.device)) == (address, "cpu")


def test_streams_and_chunks_of_nanoarrow(na):
    """One chunk of nanoarrow is shared, several are joined."""
    one = na.Array([1, 2], na.int8())
    two = na.Array.from_chunks([[1], [2, 3]], na.int8())

    assert ix.from_arrow(na.ArrayStream(one)).tolist() == [1, 2]
    assert ix.from_arrow(two, copy=True).tolist() == [1, 2, 3]
    assert rule_of(two) == "ARROW-CHUNK-1"


def test_nulls_of_nanoarrow_come_apart(na):
    """Nulls are reported, also if nanoarrow has not counted them."""
    data, mask = ix.from_arrow(na.Array([1, None, 3], na.int32()), nulls="separate")

    assert (mask.tolist(), data.tolist()[::2]) == ([True, False, True], [1, 3])


@needs_native
def test_nanoarrow_shares_what_goes_out(na):
    """nanoarrow shares exports of both methods."""
    x = np.arange(6, dtype="i2").reshape(3, 2)
    exported = ix.to_arrow(x)

    array = na.c_array(exported)
    there = na.device.c_device_array(exported)

    assert array.child(0).buffers[1] == x.ctypes.data
    assert [list(row) for row in na.Array(exported).to_pylist()] == x.tolist()
    assert (there.device_type_id, there.array.child(0).buffers[1]) == (1, x.ctypes.data)


# ---------------------------------------------------------------- read once


def readers(need):
    """Yield what gives its batches once: readers of pyarrow and DuckDB, a stream of nanoarrow."""
    need("pyarrow")
    import pyarrow as pa

    table = pa.table({"x": np.arange(5.0)})
    yield pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    need("nanoarrow")
    import nanoarrow as na

    yield na.ArrayStream(pa.chunked_array([np.arange(2.0), np.arange(2.0, 5.0)]))
    need("duckdb")
    import duckdb

    query = duckdb.connect().sql("select i::double as x from range(5000) t(i)")
    yield query.to_arrow_reader(2048)


def test_batches_that_were_taken_are_in_the_copy(need):
    """A refused reader is used up, and the error has all of it."""
    for reader in readers(need):
        with pytest.raises(ix.CopyNeededError) as caught:
            ix.asarray(reader)

        found = ix.asarray(caught.value.taken, copy=True)
        assert found.tolist() == list(range(found.size))
        assert found.size in {5, 5000}


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_is_refused_as_it_is(pl):
    """A lazy frame is refused without resolving its schema, which Polars would warn about."""
    frame = pl.LazyFrame({"x": [1.0]}).with_columns(y=pl.col("x") + 1)

    for function in (ix.from_arrow, ix.asarray, ix.inspect):
        with pytest.raises(ix.NoProtocolError):
            function(frame)


def test_a_series_is_not_asked_for_what_its_type_lacks(pl, monkeypatch):
    """A missing attribute is looked up on the type:

    ``__getattr__`` takes microseconds each time.
    """
    column, asked = pl.Series([1.0, 2.0]), []
    monkeypatch.setattr(pl.Series, "__getattr__", lambda _, name: asked.append(name))

    assert ix.asarray(column).tolist() == ix.from_arrow(column).tolist() == [1.0, 2.0]
    assert asked == []
