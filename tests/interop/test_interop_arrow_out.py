"""What `to_arrow` exports, read by pyarrow, Polars, DuckDB, DataFusion and pandas."""

from __future__ import annotations

import threading
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses"),
]
DTYPES = ("int8", "uint16", "int64", "float16", "float32", "bool")
SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


def column_of(exported, requested=None):
    """Return a valid column of pyarrow in the type that was exported for a request."""
    schema = None if requested is None else requested.__arrow_c_schema__()
    found = pa.Array._import_from_c_capsule(*exported.__arrow_c_array__(schema))
    found.validate(full=True)
    return found


def nested(values, mask):
    """Return values as nested lists, with None where a mask is False."""
    if isinstance(values, list) and mask is not False:
        return [nested(*pair) for pair in zip(values, mask, strict=True)]
    return values if mask else None


@st.composite
def arrays(draw, shapes=SHAPES):
    """Draw an array in C order."""
    shape = draw(shapes)
    dtype = draw(st.sampled_from(DTYPES))
    return (np.arange(int(np.prod(shape))) % 5).astype(dtype).reshape(shape)


# ---------------------------------------------------------------- nulls


@given(arrays(), st.data())
def test_masks_are_nulls(x, data):
    """Masks of rows and of elements are the nulls that pyarrow counts and shows."""
    of_rows = data.draw(st.booleans())
    shape = x.shape[:1] if of_rows else x.shape
    bits = data.draw(
        st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    )
    mask = np.array(bits, bool).reshape(shape)

    column = column_of(ix.to_arrow(x, mask=mask))

    rows = [np.ones(x.shape[1:], bool).tolist() if valid else False for valid in mask.tolist()]
    expected = nested(x.tolist(), rows if of_rows else mask.tolist())
    assert column.to_pylist() == expected
    if x.ndim == 1:
        assert column.equals(pa.array(x, mask=~mask))
        assert column.null_count == (~mask).sum()


# ---------------------------------------------------------------- requests


def lists_of(kind, size, inner):
    """Return a type of lists."""
    return {
        "fixed": lambda: pa.list_(inner, size),
        "small": lambda: pa.list_(inner),
        "large": lambda: pa.large_list(inner),
    }[kind]()


KINDS = st.sampled_from(["fixed", "small", "large"])


@given(arrays(st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple)), st.data())
def test_lists_have_the_representation_that_is_requested(x, data):
    """Fixed-size, small and large lists, and bools as bits or bytes, in any combination."""
    is_bool = x.dtype == bool
    inner = pa.bool8() if is_bool and data.draw(st.booleans()) else pa.from_numpy_dtype(x.dtype)
    requested = inner
    for size in x.shape[:0:-1]:
        requested = lists_of(data.draw(KINDS), size, requested)
    mask = data.draw(st.sampled_from([None, np.arange(x.shape[0]) % 2 == 0]))

    column = column_of(ix.to_arrow(x, mask=mask), requested)

    assert column.type == requested
    valid = [True] * len(x) if mask is None else mask.tolist()
    assert column.to_pylist() == [
        row if is_valid else None for row, is_valid in zip(x.tolist(), valid, strict=True)
    ]


@given(st.lists(st.integers(0, 3), max_size=5), st.sampled_from(["i4", "i8"]), KINDS)
def test_lists_of_any_length_have_the_representation_that_is_requested(sizes, dtype, kind):
    """A fixed size is met if all lists have it; the lists may begin anywhere in the values."""
    offsets = np.cumsum([2, *sizes]).astype(dtype)
    values = np.arange(20.0)
    size = sizes[0] if sizes else 3
    requested = lists_of(kind, size, pa.float64())

    column = column_of(ix.to_arrow((values, offsets)), requested)

    is_met = kind != "fixed" or set(sizes) <= {size}
    assert (column.type == requested) is is_met
    expected = [values[start:end].tolist() for start, end in pairwise(offsets)]
    assert column.to_pylist() == expected


@pytest.mark.parametrize("requested", [pa.float64(), pa.list_(pa.int32()), pa.string(), pa.bool_()])
def test_other_data_are_not_made(requested):
    """The natural type is exported, and pyarrow casts it or does not."""
    assert column_of(ix.to_arrow(np.arange(3)), requested).type == pa.int64()


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 1)])
def test_fixed_size_lists_keep_their_size(shape):
    """A request for another size has other data: the natural type is exported."""
    exported = ix.to_arrow(np.ones(shape))
    requested = pa.float64()
    for size in (*shape[:1:-1], 3):
        requested = pa.list_(requested, size)

    assert column_of(exported, requested).equals(column_of(exported))


def test_a_table_takes_names_flags_and_representations_by_name():
    """Fields are found by name, in any order; the names of a table stay."""
    table = {"a": np.ones((2, 3)), "b": np.array([True, False]), "c": np.arange(2)}
    requested = pa.schema(
        [
            pa.field("c", pa.int64(), nullable=False),
            pa.field("b", pa.bool8()),
            pa.field("a", pa.list_(pa.field("element", pa.float64()))),
        ]
    )
    batch = pa.RecordBatch._import_from_c_capsule(
        *ix.to_arrow(table).__arrow_c_array__(requested.__arrow_c_schema__())
    )

    assert batch.schema.names == ["a", "b", "c"]
    assert all(batch.schema.field(name).equals(requested.field(name)) for name in "abc")


# ---------------------------------------------------------------- bools


def test_our_bools_are_bools_of_all_libraries():
    """Filters and boolean operations accept them."""
    x, flags = np.arange(4), np.array([True, False, True, True])
    table = {"x": x, "flag": flags}

    column = pa.array(ix.to_arrow(flags))
    assert pa.array(x).filter(column).to_pylist() == [0, 2, 3]
    assert pa.compute.invert(column).to_pylist() == [False, True, False, False]
    series = pl.Series(ix.to_arrow(flags, name="flag"))
    assert (series.name, (~series & series).any(), series.sum()) == ("flag", False, 3)
    assert pl.DataFrame(ix.to_arrow(table)).filter(pl.col("flag"))["x"].to_list() == [0, 2, 3]
    words = ix.to_arrow(table)  # noqa: F841 - read by its name
    assert duckdb.sql("select sum(x) from words where flag").fetchall() == [(5,)]


FLAGS = {"x": np.arange(4), "flag": np.array([True, False, True, True])}


def test_our_bools_are_bools_of_pandas():
    """As columns of Arrow, they select rows."""
    pandas = pytest.importorskip("pandas")
    frame = pa.table(ix.to_arrow(FLAGS)).to_pandas(types_mapper=pandas.ArrowDtype)
    assert frame[frame["flag"]]["x"].tolist() == [0, 2, 3]


def test_our_bools_are_bools_of_datafusion():
    """They select rows of a query."""
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.from_arrow(ix.to_arrow(FLAGS), "words")
    found = context.sql("select sum(x) as s from words where flag").to_pydict()
    assert found == {"s": [5]}


# ---------------------------------------------------------------- elements of NumPy


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "D"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("last", [3, "NaT"])
def test_times_are_those_of_pyarrow(kind, unit, last):
    """`pyarrow.array` makes the same column of the same array."""
    if (kind, unit) == ("m8", "D"):
        pytest.skip("durations have no days")
    x = np.array([0, -5, 10**6, last], f"{kind}[{unit}]")
    assert column_of(ix.to_arrow(x)).equals(pa.array(x))
    assert pl.Series(ix.to_arrow(x)).null_count() == (last == "NaT")


def test_bytes_records_and_names_are_kept():
    """Bytes of fixed width are fixed-size binary, and records structs."""
    x = np.zeros(2, [("a", "i4"), ("b", "?"), ("c", [("d", "f4", (2,))])])
    x["a"] = 5, 6

    assert column_of(ix.to_arrow(np.array([b"ab", b"c"]))).to_pylist() == [b"ab", b"c\0"]
    assert column_of(ix.to_arrow(x)).to_pylist() == [
        {"a": number, "b": False, "c": {"d": [0.0, 0.0]}} for number in (5, 6)
    ]
    assert pa.table(ix.to_arrow(x)).schema.names == ["a", "b", "c"]
    assert pl.Series(ix.to_arrow(np.ones(2), name="n")).name == "n"


def test_small_floats_come_back_from_tables():
    """The extension name is metadata of the field, which tables keep."""
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    table = pa.table(ix.to_arrow({"a": x, "b": np.arange(4)}))

    found = ix.from_arrow(table.slice(1), columns=["a"])["a"]
    assert (str(found.dtype), np.asarray(found).tolist()) == ("bfloat16", [1, 2, 3])
    assert found.ptr == x.ctypes.data + 2


def test_lists_of_arrays_are_tensors_of_any_shape():
    """pyarrow knows the extension type."""
    x = [np.ones((2, 3), "f4"), np.zeros((1, 1), "f4")]
    column = column_of(ix.to_arrow(x, kind="tensor"))

    assert "variable_shape_tensor" in str(column.type)
    assert column_of(ix.to_arrow([np.ones(2), np.ones(0)])).to_pylist() == [[1.0, 1.0], []]


# ---------------------------------------------------------------- streams


def rows(count, start=0):
    """Return batches of two columns."""
    for step in range(count):
        yield {"x": np.arange(3) + start + 3 * step, "flag": np.arange(3) % 2 == 0}


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_batches_are_those_of_pyarrow(sizes):
    """Any number of batches of any length."""
    batches = [{"x": np.arange(size), "flag": np.arange(size) > 1} for size in sizes]
    reader = pa.RecordBatchReader.from_stream(ix.to_arrow_stream(batches))

    found = list(reader)
    assert [batch.num_rows for batch in found] == sizes
    assert [batch.to_pydict() for batch in found] == [
        {name: values.tolist() for name, values in batch.items()} for batch in batches
    ]


def test_consumers_read_lazily():
    """pyarrow, Polars and DuckDB read all; a consumer that stops makes no more batches."""
    made = []
    counted = (made.append(None) or batch for batch in rows(9))
    reader = pa.RecordBatchReader.from_stream(ix.to_arrow_stream(counted))
    reader.read_next_batch()
    del reader

    assert len(made) == 1
    assert pl.DataFrame(ix.to_arrow_stream(rows(4)))["x"].sum() == 66
    stream = ix.to_arrow_stream(rows(4))  # noqa: F841 - read by its name
    assert duckdb.sql("select sum(x), count(*) from stream where flag").fetchall() == [(44, 8)]


@pytest.mark.parametrize("consumer", ["pyarrow", "polars", "duckdb"])
def test_errors_reach_the_consumer(consumer):
    """With their text, after the batches before them; the iterator is closed."""
    closed = threading.Event()

    def failing():
        try:
            yield from rows(2)
            raise KeyError("the disk is full")
        finally:
            closed.set()

    stream = ix.to_arrow_stream(failing())
    read = {
        "pyarrow": lambda: pa.RecordBatchReader.from_stream(stream).read_all(),
        "polars": lambda: pl.DataFrame(stream),
        "duckdb": lambda: duckdb.from_arrow(stream).fetchall(),
    }[consumer]
    with pytest.raises(Exception, match="the disk is full"):
        read()
    assert closed.is_set()
