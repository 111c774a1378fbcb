"""Types of pyarrow by way of an array and its meaning, and back: every type of fixed width."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.interop

UNITS = ("s", "ms", "us", "ns")
NAMES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bool_", "date32", "date64", "bool8", "uuid"),
    "month_day_nano_interval",
)
ZONES = (None, "UTC", "Europe/Berlin", "+05:30")
FLAT = [
    *(getattr(pa, name)() for name in NAMES),
    *(pa.timestamp(unit, zone) for unit in UNITS for zone in ZONES),
    *(pa.duration(unit) for unit in UNITS),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.decimal32(7, 2), pa.decimal64(15, -2), pa.decimal128(30, 3), pa.decimal256(60, 10)),
    *(pa.binary(3), pa.opaque(pa.int64(), "cells", "vendor")),
    pa.fixed_shape_tensor(pa.int32(), [2, 3], dim_names=["h", "w"], permutation=[1, 0]),
    pa.fixed_shape_tensor(pa.timestamp("s"), [2]),
]
DAY = 86_400_000  # milliseconds


@st.composite
def types(draw):
    """Draw a type of fixed width: flat, of a dictionary, or in lists."""
    kind = draw(st.sampled_from(FLAT))
    if draw(st.integers(0, 4)) == 0:
        values = draw(st.sampled_from([pa.string(), pa.timestamp("us"), pa.list_(pa.int8())]))
        index = draw(st.sampled_from([pa.int8(), pa.uint16(), pa.int64()]))
        kind = pa.dictionary(index, values, ordered=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 2))):
        if isinstance(kind, pa.BaseExtensionType) and draw(st.booleans()):
            break
        item = pa.field(
            draw(st.sampled_from(["item", "x"])), kind, nullable=draw(st.booleans()),
            metadata=draw(st.sampled_from([None, {"a": "b"}])),
        )  # fmt: skip
        kind = draw(st.sampled_from([pa.list_(item, 3), pa.list_(item), pa.large_list(item)]))
    return kind


def array_of(kind, count):
    """Return an array of a type, whose values are small."""
    if isinstance(kind, pa.DictionaryType):
        values = {pa.string(): ["a", "b", "c"]}.get(kind.value_type)
        values = values or ([[1], [], [2, 3]] if pa.types.is_list(kind.value_type) else [7, 8, 9])
        indices = pa.array([place % 3 for place in range(count)], kind.index_type)
        dictionary = pa.array(values, kind.value_type)
        return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=kind.ordered)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array_of(kind.storage_type, count))
    if pa.types.is_fixed_size_list(kind):
        items = array_of(kind.value_type, count * kind.list_size)
        return pa.FixedSizeListArray.from_arrays(items, type=kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        is_large = pa.types.is_large_list(kind)
        offsets = pa.array(range(0, 2 * count + 1, 2), pa.int64() if is_large else pa.int32())
        made = pa.LargeListArray if is_large else pa.ListArray
        return made.from_arrays(offsets, array_of(kind.value_type, 2 * count), type=kind)
    if pa.types.is_boolean(kind):
        return pa.array([place % 3 == 0 for place in range(count)])
    size, step = kind.bit_width // 8, DAY if kind == pa.date64() else 1
    numbers = [(place % 5) * step for place in range(count)]
    data = b"".join(number.to_bytes(size + 8, "little")[:size] for number in numbers)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])


def field_of(export):
    """Return the field that an object exports."""
    return pa.Field._import_from_c_capsule(export.__arrow_c_schema__())


@given(
    types(),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["", "name", "x y"]),
    st.sampled_from([None, {"unit": "m"}]),
)
def test_a_column_comes_back_as_it_was(kind, count, nullable, name, metadata):
    """Type, name, flags, metadata and values are those of the column."""
    field = pa.field(name, kind, nullable=nullable, metadata=metadata)
    column = array_of(kind, count)
    x, meaning = ix.from_arrow(pa.table([column], pa.schema([field])), meaning=True)

    export = ix.to_arrow(x, meaning=meaning)

    back = pa.array(export)
    back.validate(full=True)
    assert back.type == kind
    assert back.equals(column)
    assert field_of(export).equals(field, check_metadata=True)
    assert meaning == ix.from_arrow(export, meaning=True)[1]


@given(st.sampled_from(FLAT), st.lists(st.booleans(), min_size=1, max_size=20))
def test_nulls_come_back(kind, valid):
    """With the mask, nulls are where they were; of words and bytes a mask has the axis, too."""
    column = array_of(kind, len(valid))
    pick = pa.array([place if one else None for place, one in enumerate(valid)], pa.int64())
    column = column.take(pick)
    x, mask, meaning = ix.from_arrow(column, nulls="separate", meaning=True)

    back = pa.array(ix.to_arrow(x, mask=mask, meaning=meaning))

    assert back.type == kind
    assert back.is_valid().to_pylist() == valid
    assert back.equals(column)


@pytest.mark.parametrize("kind", FLAT, ids=str)
def test_data_and_categories_are_not_copied(kind):
    """The exported buffers are those of the column, also those of a dictionary."""
    if pa.types.is_boolean(kind):
        pytest.skip("bits are unpacked")
    column = array_of(kind, 4)
    storage = column.storage if isinstance(kind, pa.BaseExtensionType) else column

    x, meaning = ix.from_arrow(column, meaning=True)
    back = pa.array(ix.to_arrow(x, meaning=meaning))
    again = back.storage if isinstance(kind, pa.BaseExtensionType) else back

    assert again.buffers()[-1].address == storage.buffers()[-1].address


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float16", "float64", "date32"])
def test_categories_with_the_same_values_are_equal(kind):
    """Chunks with equal dictionaries in different memory are joined, whatever their type."""

    def chunk(values):
        numbers = np.array(values, "f2") if kind == "float16" else values
        stored = pa.array(numbers, "int32" if kind == "date32" else kind)
        return pa.DictionaryArray.from_arrays([1, 0], stored.cast(kind))

    joined = ix.from_arrow(
        pa.chunked_array([chunk([5, 7]), chunk([5, 7])]), storage=True, copy=True
    )

    assert joined.tolist() == [1, 0, 1, 0]
    with pytest.raises(ix.ExchangeError, match="ARROW-TYPE-3"):
        ix.from_arrow(pa.chunked_array([chunk([5, 7]), chunk([5, 8])]), storage=True, copy=True)


def test_categories_are_not_copied():
    """The values of a dictionary are exported at their addresses, to every library."""
    column = pa.array(["sun", "moon", "sun"]).dictionary_encode()
    _, meaning = ix.from_arrow(column, meaning=True)

    values = pa.array(meaning.categories)

    assert values.buffers()[2].address == column.dictionary.buffers()[2].address
    assert values.to_pylist() == ["sun", "moon"]


@pytest.mark.parametrize("make", ["polars", "pandas", "duckdb", "nanoarrow"])
def test_timestamps_keep_their_meaning_elsewhere(need, make):
    """Numbers that are computed as an array are timestamps again in other libraries."""
    need(make)
    when = [dt.datetime.fromisoformat(day) for day in ("2026-01-01T12:00", "2026-01-02")]
    x, meaning = ix.from_arrow(pa.array(when, pa.timestamp("us")), meaning=True)
    moved = np.from_dlpack(x) + 3_600_000_000
    export = ix.to_arrow(moved, meaning=meaning)
    due = [one + dt.timedelta(hours=1) for one in when]
    if make == "polars":
        import polars as pl

        assert pl.Series(export).to_list() == due
    elif make == "pandas":
        assert pa.array(export).to_pandas().dt.to_pydatetime().tolist() == due
    elif make == "nanoarrow":
        import nanoarrow as na

        assert na.Array(export).to_pylist() == due
    else:
        import duckdb

        times = ix.to_arrow({"t": moved}, meaning={"t": meaning})  # noqa: F841 - named in SQL
        assert duckdb.sql("select t from times").fetchall() == [(one,) for one in due]
