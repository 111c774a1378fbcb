"""Columns and tables of data frames in `asarray`: the protocol used, and the errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import interchange as ix
from interchange import xp

pytestmark = pytest.mark.interop

TABLES = ["pandas", "pandas, Arrow", "polars", "pyarrow", "pyarrow, batch"]


def table_of_one(need, kind):
    """Return a table of one column, of two elements."""
    need(kind.partition(",")[0])
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({"a": [1, 2]})
    need("pyarrow")
    import pyarrow as pa

    if kind.startswith("pyarrow"):
        table = pa.table({"a": [1, 2]})
        return table.to_batches()[0] if "batch" in kind else table
    import pandas as pd

    return pd.DataFrame({"a": [1, 2]}, dtype="int64[pyarrow]" if "Arrow" in kind else "int64")


def refusal(x, error, **keywords):
    """Return the rule and the fix of a refusal by `asarray`."""
    with pytest.raises(error) as caught:
        ix.asarray(x, **keywords)
    assert caught.value.call == "asarray()"
    return caught.value.rule, caught.value.hint


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_has_two_axes_however_many_columns(need, kind):
    """A table has two axes, as its ``__array__``; `from_arrow` returns the column."""
    table = table_of_one(need, kind)

    assert ix.asarray(table, copy=True).tolist() == [[1], [2]]
    assert ix.from_arrow(table).tolist() == [1, 2]


def test_an_array_that_supports_arrow_keeps_its_axes(need):
    """xarray exports a table, of which an array of two axes is one column."""
    need("xarray")
    import xarray as xr

    memory = np.arange(6.0).reshape(2, 3)
    array = ix.asarray(xr.DataArray(memory))

    assert (array.shape, array.ptr, array.readonly) == ((2, 3), memory.ctypes.data, False)


class Long:
    """Has two axes, and exports a table of one column."""

    def __init__(self, table, memory):
        self.table = table
        self.memory = memory

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)

    def __array__(self, dtype=None, copy=None):
        return self.memory


def test_a_table_of_one_column_is_no_array_of_one_axis(need):
    """If ``__array__`` gives the shape, it is used, whatever the other protocols say."""
    need("pyarrow")
    import pyarrow as pa

    memory = np.arange(6.0).reshape(2, 3)

    assert ix.asarray(Long(pa.table({"a": memory.ravel()}), memory)).shape == (2, 3)


def test_a_number_that_is_nan_is_no_null_behind_narwhals(need):
    """narwhals exports pandas by Arrow, which turns NaN into null; `asarray` keeps NaN."""
    need("narwhals")
    need("pandas")
    import narwhals as nw
    import pandas as pd

    column = nw.from_native(pd.Series([1.0, np.nan]), series_only=True)

    assert np.isnan(ix.asarray(column)[1].item())


def test_a_column_that_pandas_would_convert_is_asked_for_its_array(need):
    """pandas' sparse columns use ``__array__``: Arrow lacks them, and NaN would become null."""
    need("pandas")
    import pandas as pd

    sparse = pd.Series(pd.arrays.SparseArray([0, 1]))

    assert ix.asarray(sparse, copy=True).tolist() == [0, 1]
    assert np.isnan(ix.asarray(pd.DataFrame({"a": [np.nan]}))[0, 0].item())


def test_a_column_of_pandas_over_arrow_is_shared(need):
    """A column of pandas over Arrow is shared, which its ``__array__`` cannot tell."""
    need("pandas")
    need("pyarrow")
    import pandas as pd
    import pyarrow as pa

    column = pa.chunked_array([[1, 2]])
    series = pd.Series(pd.arrays.ArrowExtensionArray(column))

    assert ix.asarray(series, copy=False).ptr == column.chunk(0).buffers()[1].address


@pytest.mark.parametrize(
    ("make", "error", "rule", "hint"),
    [
        (lambda pl: pl.Series([True, False]), ix.CopyNeededError, "ARROW-BOOL-1", "`copy=True`"),
        (
            lambda pl: pl.concat([pl.Series([1]), pl.Series([2])], rechunk=False),
            ix.CopyNeededError,
            "ARROW-CHUNK-1",
            "`copy=True`",
        ),
        (
            lambda pl: pl.Series([1]).cast(pl.Date),
            ix.UnsupportedDTypeError,
            "ARROW-TYPE-2",
            "`interchange.from_arrow(x, storage=True)`",
        ),
        (
            lambda pl: pl.Series([[1, 2], [3]]),
            ix.UnsupportedDTypeError,
            "ARROW-TYPE-1",
            "`interchange.from_arrow(x, ragged=True)`",
        ),
        (
            lambda pl: pl.Series([object()], dtype=pl.Object),
            ix.UnsupportedDTypeError,
            "ARROW-TYPE-1",
            "turn them into numbers",
        ),
    ],
)
def test_what_arrow_refuses_has_an_error_of_arrow(need, make, error, rule, hint):
    """Refusals of Arrow have a fix for this call, or one that names `from_arrow`."""
    need("polars")
    import polars as pl

    found, told = refusal(make(pl), error)

    assert found == rule
    assert hint in told


def test_the_error_for_nulls_names_the_call_that_takes_them(need):
    """A library that supports only Arrow gets the error with the call for nulls."""
    need("nanoarrow")
    import nanoarrow

    column = nanoarrow.Array([1, None], nanoarrow.int32())
    rule, hint = refusal(column, ix.ExchangeError)

    assert rule == "ARROW-NULL-2"
    assert "`interchange.from_arrow(x, nulls='separate')`" in hint


class Forgetful:
    """Supports Arrow, with a null, and shares an array without one."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        return self.column.__arrow_c_array__(requested_schema)

    def __array__(self, dtype=None, copy=None):
        return np.zeros(2)


def test_no_null_is_lost_by_another_protocol(need):
    """If Arrow has nulls, ``__array__`` is called for a copy only."""
    need("pyarrow")
    import pyarrow as pa

    column = Forgetful(pa.array([1, None]))

    assert refusal(column, ix.ExchangeError)[0] == "ARROW-NULL-2"
    assert ix.asarray(column, copy=True).tolist() == [0, 0]


def test_elements_without_a_dlpack_type_are_imported_by_arrow(need):
    """pyarrow refuses them with its own error."""
    need("pyarrow")
    import pyarrow as pa

    eight = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    wide = pa.array([b"abc"], pa.binary(3))

    assert ix.asarray(eight, copy=False).tolist() == [True, False]
    assert ix.asarray(wide, copy=False).tolist() == [[97, 98, 99]]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_axes_of_tensors_are_in_the_order_of_the_specification(need, order):
    """Axis i is axis permutation[i] in memory; pyarrow's own arrays of some are other ones."""
    need("pyarrow")
    import pyarrow as pa

    numbers = np.arange(48, dtype=np.int32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(numbers), 24)
    kind = pa.fixed_shape_tensor(pa.int32(), [2, 3, 4], permutation=list(order))
    column = pa.ExtensionArray.from_storage(kind, lists)
    wanted = numbers.reshape(2, 2, 3, 4).transpose(0, *(place + 1 for place in order))

    for array in (ix.asarray(column), ix.from_arrow(column)):
        assert np.array_equal(np.from_dlpack(array), wanted)


@pytest.mark.parametrize("make", ["bits", "chunks"])
@pytest.mark.parametrize("way", ["asarray", "convert", "xp.asarray"])
def test_a_copy_that_is_asked_for_is_made(need, make, way):
    """A copy is made of Arrow-only objects by each function with the keyword."""
    need("nanoarrow")
    need("pyarrow")
    import nanoarrow
    import pyarrow as pa

    column = pa.array([True, False]) if make == "bits" else pa.chunked_array([[1], [0]])
    functions = {
        "asarray": ix.asarray,
        "convert": lambda x, **keywords: ix.convert(x, "numpy", **keywords),
        "xp.asarray": xp.asarray,
    }

    assert functions[way](nanoarrow.Array(column), copy=True).tolist() == [1, 0]


@pytest.mark.parametrize("function", [ix.from_dlpack, ix.from_buffer])
def test_the_error_for_arrow_alone_names_from_arrow(need, function):
    """Functions of other protocols name `from_arrow` for Arrow-only objects."""
    need("nanoarrow")
    import nanoarrow

    with pytest.raises(ix.NoProtocolError) as caught:
        function(nanoarrow.Array([1, 2], nanoarrow.int32()))

    assert "`interchange.from_arrow(x)`" in caught.value.hint
