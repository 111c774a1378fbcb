"""Columns of pyarrow that are drawn: types, slices, nesting, nulls and chunks, by every element."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import interchange as ix

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.interop

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]
UNITS = ("s", "ms", "us", "ns")


# ---------------------------------------------------------------- strategies


def integers(name):
    """Draw whole numbers of a type, the ends of its range often."""
    limits = np.iinfo(name)
    least, most = int(limits.min), int(limits.max)
    return st.sampled_from([least, most, 0]) | st.integers(least, most)


def floats(name):
    """Draw numbers of a type: NaN, infinities and -0.0, too."""
    return st.floats(width=int(name[5:]))


NUMBERS = {name: integers(name) for name in INTEGERS} | {name: floats(name) for name in FLOATS}
PLAIN = {getattr(pa, name)(): NUMBERS[name] for name in NUMBERS} | {pa.bool_(): st.booleans()}
STORED = {
    pa.date32(): "int32",
    pa.date64(): "int64",
    pa.time32("s"): "int32",
    pa.time32("ms"): "int32",
    pa.time64("us"): "int64",
    pa.time64("ns"): "int64",
    **{pa.timestamp(unit, tz): "int64" for unit in UNITS for tz in (None, "UTC")},
    **{pa.duration(unit): "int64" for unit in UNITS},
}
"""Type -> the integers that it is stored as."""


@st.composite
def types(draw):
    """Draw a type of elements of one width, and a strategy of its elements."""
    kind, elements = draw(st.sampled_from(list(PLAIN.items())))
    for _ in range(draw(st.integers(0, 3))):
        size = draw(st.integers(0, 3))
        nullable = elements | st.none() if draw(st.booleans()) else elements
        kind, elements = pa.list_(kind, size), st.lists(nullable, min_size=size, max_size=size)
    if draw(st.integers(0, 9)) == 0:
        size = draw(st.integers(1, 5))
        kind, elements = pa.binary(size), st.binary(min_size=size, max_size=size)
    return kind, elements


@st.composite
def chunks(draw, kind, elements, *, nulls):
    """Draw one chunk: a slice of an array, of a slice."""
    found = elements | st.none() if nulls else elements
    array = pa.array(draw(st.lists(found, max_size=20)), kind)
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(array)))
        array = array.slice(start, draw(st.integers(0, len(array) - start)))
    return array


# ---------------------------------------------------------------- comparisons


def shape_of(kind):
    """Return the extents of one element."""
    if pa.types.is_fixed_size_list(kind):
        return (kind.list_size, *shape_of(kind.value_type))
    return (kind.byte_width,) if pa.types.is_fixed_size_binary(kind) else ()


def valid(value, shape):
    """Return bools of a shape: where an element of pyarrow has values."""
    if value is None:
        return np.zeros(shape, bool)
    if not shape or isinstance(value, bytes):
        return np.ones(shape, bool)
    parts = [valid(one, shape[1:]) for one in value]
    return np.stack(parts) if parts else np.ones(shape, bool)


def filled(value, shape):
    """Return an element of pyarrow as nested lists, with None for everything that is null."""
    if not shape:
        return value
    if isinstance(value, bytes):
        return list(value)
    given = [None] * shape[0] if value is None else value
    return [filled(one, shape[1:]) for one in given]


def same(found, expected):
    """Whether two elements are equal; NaN equals NaN, and -0.0 differs from 0.0."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if expected is None:
        return True
    if isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(found)
        return found == expected and math.copysign(1, found) == math.copysign(1, expected)
    return found == expected and type(found) is type(expected)


def compare(column, found, mask=None):
    """Compare data and mask with pyarrow's value of every element."""
    shape = shape_of(column.type)
    values = column.to_pylist()

    assert found.shape == (len(values), *shape)
    assert same(found.tolist(), [filled(value, shape) for value in values])
    if mask is not None:
        expected = [valid(value, shape).tolist() for value in values]
        assert (mask.shape, str(mask.dtype)) == (found.shape, "bool")
        assert mask.tolist() == expected


# ---------------------------------------------------------------- in


@given(st.data())
def test_one_chunk_without_nulls(data):
    """A chunk without nulls has all elements, shared unless they are packed bools."""
    kind, elements = data.draw(types().filter(lambda one: not has_nulls(one)))
    array = data.draw(chunks(kind, elements, nulls=False))
    column = pa.chunked_array([array]) if data.draw(st.booleans()) else array

    found = ix.from_arrow(column)

    compare(column, found)
    leaf = leaf_of(array)
    if found.size and not pa.types.is_boolean(leaf.type):
        buffer = leaf.buffers()[1]
        assert buffer.address <= found.ptr < buffer.address + buffer.size
        assert found.readonly


def has_nulls(one):
    """Whether drawn lists may hold nulls."""
    kind, elements = one
    return pa.types.is_fixed_size_list(kind) and "none" in repr(elements)


def leaf_of(array):
    """Return the numbers at the bottom of an array."""
    while pa.types.is_fixed_size_list(array.type):
        array = array.values
    return array


@given(st.data())
def test_nulls_at_every_level(data):
    """Data and mask agree with pyarrow; without `nulls` the column is refused."""
    kind, elements = data.draw(types())
    array = data.draw(chunks(kind, elements, nulls=True))

    found, mask = ix.from_arrow(array, nulls="separate")

    compare(array, found, mask)
    assume(not bool(mask.size == 0))
    if not np.asarray(mask).all():
        with pytest.raises(ix.ExchangeError) as caught:
            ix.from_arrow(array)
        assert caught.value.rule == "ARROW-NULL-2"
        assert f"in {len(array)} elements" in caught.value.what


@given(st.data())
def test_several_chunks(data):
    """Become one array by a copy, and are refused without."""
    kind, elements = data.draw(types())
    parts = data.draw(st.lists(chunks(kind, elements, nulls=True), max_size=4))
    column = pa.chunked_array(parts, kind)

    found, mask = ix.from_arrow(column, nulls="separate", copy=True)

    compare(column, found, mask)
    assert not found.readonly
    if sum(map(bool, map(len, parts))) > 1:
        with pytest.raises(ix.CopyNeededError):
            ix.from_arrow(column, nulls="separate")


def replaced(found, number):
    """Return nested lists with a number for None."""
    if isinstance(found, list):
        return [replaced(one, number) for one in found]
    return number if found is None else found


def numbers_for(kind):
    """Draw numbers that elements of a type can be."""
    leaf = kind
    while pa.types.is_fixed_size_list(leaf):
        leaf = leaf.value_type
    return integers("uint8") if pa.types.is_fixed_size_binary(leaf) else PLAIN[leaf]


@st.composite
def outs(draw, shape, dtype):
    """Draw writable memory: dense, with gaps, reversed, or with its axes in another order."""
    whole = np.zeros((*(2 * extent for extent in shape[:1]), *shape[1:]), dtype)
    kind = draw(st.sampled_from(["dense", "gaps", "reversed", "transposed"]))
    if kind == "transposed":
        return np.zeros(shape[::-1], dtype).T
    return {"dense": whole[: shape[0]], "gaps": whole[::2], "reversed": whole[::-2]}[kind]


@given(st.data())
def test_nulls_are_filled_and_chunks_joined(data):
    """All nulls become the number, whatever chunks there are and wherever they are written."""
    kind, elements = data.draw(types())
    parts = data.draw(st.lists(chunks(kind, elements, nulls=True), max_size=4))
    column = pa.chunked_array(parts, kind)
    number = data.draw(numbers_for(kind))
    expected = [filled(value, shape_of(kind)) for value in column.to_pylist()]
    options = {"nulls": number}
    plain = ix.from_arrow(column, copy="if_needed", **options)
    if data.draw(st.booleans()):
        out = data.draw(outs(plain.shape, np.asarray(plain).dtype))
        found = ix.from_arrow(column, out=out, **options)
        assert found.size == 0 or found.ptr == out.ctypes.data
        assert same(out.tolist(), replaced(expected, number))
    else:
        found = ix.from_arrow(column, copy=True, **options)

    assert same(plain.tolist(), replaced(expected, number))
    assert same(found.tolist(), replaced(expected, number))
    assert found.dtype == plain.dtype
    assert not found.readonly


@given(st.data())
def test_integers_that_stand_for_times(data):
    """Are given out on request, and not otherwise."""
    kind, stored = data.draw(st.sampled_from(list(STORED.items())))
    numbers = data.draw(st.lists(NUMBERS[stored] | st.none(), min_size=1, max_size=12))
    plain = pa.array(numbers, getattr(pa, stored)())
    array = plain.view(kind).slice(data.draw(st.integers(0, len(numbers))))

    found, mask = ix.from_arrow(array, storage=True, nulls="separate")

    compare(plain.slice(len(numbers) - len(array)), found, mask)
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.from_arrow(array)
    assert caught.value.rule == "ARROW-TYPE-2"


@given(
    st.sampled_from(INTEGERS),
    st.lists(st.sampled_from(["red", "green", "blue"]) | st.none(), max_size=12),
    st.integers(0, 5),
)
def test_indices_of_a_dictionary(index, words, start):
    """Indices of a dictionary, equal to pyarrow's except for nulls, are returned on request."""
    kind = pa.dictionary(getattr(pa, index)(), pa.string())
    array = pa.array(words, kind).slice(min(start, len(words)))

    found, mask = ix.from_arrow(array, storage=True, nulls="separate")

    compare(array.indices, found, mask)
    assert str(found.dtype) == index


def is_its_inverse(order):
    """Whether a permutation is its own inverse.

    For others pyarrow 26 takes the strides of the wrong axes: the result of `from_numpy_ndarray` is
    not
    reproduced by its own `to_numpy_ndarray`.  With extents of 1 it finds no strides at all.
    """
    return all(order[axis] == place for place, axis in enumerate(order))


@given(st.data())
def test_tensors_with_their_axes(data):
    """Tensors have the axis order of the specification's example, as pyarrow's NumPy arrays."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    order = data.draw(st.permutations(range(len(shape))) | st.none())
    name = data.draw(st.sampled_from(INTEGERS + FLOATS[1:]))
    count, size = data.draw(st.integers(0, 4)), math.prod(shape)
    numbers = np.arange(count * size).astype(name)
    storage = pa.FixedSizeListArray.from_arrays(pa.array(numbers), size)
    kind = pa.fixed_shape_tensor(getattr(pa, name)(), shape, permutation=order)
    start = data.draw(st.integers(0, 2))
    array = pa.ExtensionArray.from_storage(kind, storage).slice(start)

    found = ix.from_arrow(array)

    rows = numbers.reshape(count, *shape)[start:]
    expected = rows.transpose(0, *(axis + 1 for axis in order or range(len(shape))))
    assert np.array_equal(np.asarray(found), expected)
    if 1 not in expected.shape and is_its_inverse(order or ()):
        assert np.array_equal(array.to_numpy_ndarray(), expected)


# ---------------------------------------------------------------- out


@st.composite
def ndarrays(draw, least_axes=1):
    """Draw an ndarray of any type that Arrow has, and of up to four axes."""
    name = draw(st.sampled_from(["bool", *NUMBERS]))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=least_axes, max_size=4)))
    numbers = np.frombuffer(draw(st.binary(min_size=64, max_size=64)), "u1")
    block = np.resize(numbers, math.prod(shape))
    if name in FLOATS:  # the last are infinite, and no numbers
        odd = np.select([block == 255, block == 254, block == 253], [np.nan, np.inf, -np.inf])
        block = np.where(block < 253, (block - 100.0) / 8, odd)
    return (block % 2 == 0 if name == "bool" else block.astype(name)).reshape(shape)


def equal(x, y):
    """Whether two arrays have the same elements; NaN is like NaN."""
    return np.array_equal(x, y, equal_nan=str(x.dtype) in FLOATS)


needs_native = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")


@needs_native
@given(ndarrays())
def test_columns_go_out_and_come_back(x):
    """Exported columns are not copied, pass pyarrow's full validation, and have equal elements."""
    array = pa.array(ix.to_arrow(x, bools="bytes"))

    array.validate(full=True)
    leaf = leaf_of(array.storage if hasattr(array, "storage") else array)
    leaf = leaf.storage if hasattr(leaf, "storage") else leaf
    assert not x.size or leaf.buffers()[1].address == x.ctypes.data
    assert equal(np.array(array.to_pylist(), x.dtype).reshape(x.shape), x)
    back = ix.from_arrow(array)
    assert (back.shape, str(back.dtype)) == (x.shape, str(x.dtype))
    assert equal(np.asarray(back), x)
    assert not x.size or back.ptr == x.ctypes.data


@needs_native
@given(ndarrays(least_axes=2), st.data())
def test_tensors_go_out_and_come_back(x, data):
    """Any order of the axes after the first is exported; pyarrow returns the same array."""
    order = data.draw(st.permutations(range(x.ndim - 1)))
    x = x.transpose(0, *(axis + 1 for axis in order))

    array = pa.array(ix.to_arrow(x, kind="tensor", bools="bytes"))

    array.validate(full=True)
    back = ix.from_arrow(array)
    assert (back.shape, str(back.dtype)) == (x.shape, str(x.dtype))
    assert equal(np.asarray(back), x)
    assert not x.size or back.ptr == x.ctypes.data
    if x.size and x.dtype != bool and 1 not in x.shape and is_its_inverse(order):
        assert equal(array.to_numpy_ndarray(), x)


@needs_native
@given(st.lists(ndarrays(), min_size=1, max_size=4))
def test_tables_go_out_and_come_back(arrays):
    """Column by column, each over the memory of its array."""
    length = min(x.shape[0] for x in arrays)
    columns = {str(place): x[:length] for place, x in enumerate(arrays)}

    table = pa.table(ix.to_arrow(columns, bools="bytes"))

    table.validate(full=True)
    assert table.column_names == list(columns)
    for name, x in columns.items():
        back = ix.from_arrow(table[name])
        assert equal(np.asarray(back), x)
        assert not x.size or back.ptr == x.ctypes.data


@needs_native
@given(st.lists(st.integers(1, 5), min_size=2, max_size=5).map(pairwise).map(list))
def test_streams_are_read_by_pyarrow(pairs):
    """A column of one chunk."""
    for rows, width in pairs:
        x = np.arange(rows * width, dtype="i4").reshape(rows, width)

        column = pa.chunked_array(ix.to_arrow(x))

        assert column.num_chunks == 1
        assert column.to_pylist() == x.tolist()
