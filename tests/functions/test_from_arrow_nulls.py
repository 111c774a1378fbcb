"""`from_arrow` and nulls: refused with their number or returned as a mask, never as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")

DRAWS = st.data()


def refusal(source, **keywords):
    """Return rule and finding of an import's refusal; all memory is released."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_arrow(source, **keywords)
    caught.value.taken = None  # of a stream
    assert source.counts == source.due
    return caught.value.rule, caught.value.what


def places(data, count):
    """Draw some of so many places."""
    return data.draw(st.sets(st.integers(0, count - 1))) if count else set()


def flags(count, nulls):
    """Return bools: False in the places of nulls."""
    return np.array([place not in nulls for place in range(count)], bool)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: arrow.numbers(nulls=[0, 3]), "2 in 6 elements"),
        (lambda: arrow.numbers(nulls=range(6)), "6 in 6 elements"),
        (lambda: arrow.bools(nulls=[1]), "1 in 5 elements"),
        (lambda: arrow.lists(nulls=[2]), "1 in 4 elements"),
        (lambda: arrow.lists(child_nulls=[0, 5]), "2 in 4 elements"),
        (lambda: arrow.numbers("int32", nulls=[5]).as_stream(), "1 in 6 elements"),
        (
            lambda: arrow.lists(nulls=[2], child_nulls=[6]),
            "2 in 4 elements, counted at each level",
        ),
        (lambda: arrow.lists(child_nulls=range(7)), "7 in 4 elements, counted at each level"),
    ],
)
@pytest.mark.parametrize("copy", [None, True])
def test_nulls_are_refused_with_their_number(make, words, copy):
    """Nulls are refused with and without a copy, which would have to make numbers of them."""
    assert refusal(make(), copy=copy) == ("ARROW-NULL-2", f"the column has nulls: {words}")


def test_nulls_of_chunks_are_counted_together():
    """The number of nulls is that of all joined chunks."""
    parts = [arrow.numbers(nulls=[0]), arrow.numbers(), arrow.numbers(nulls=[1, 2], offset=3)]

    rule, what = refusal(arrow.chunked(*parts).as_stream(), copy=True)

    assert (rule, what) == ("ARROW-NULL-2", "the column has nulls: 3 in 18 elements")


def test_nulls_before_the_offset_are_none():
    """Nulls before the offset, and behind the end, are ignored."""
    source = arrow.numbers("int32", 6, nulls=[0, 5]).but(null_count=-1, offset=1, length=4)

    assert ix.from_arrow(source).tolist() == [1, 2, 3, 4]


def test_nulls_beyond_what_the_parent_refers_to_are_none():
    """Nulls that the parent does not refer to are ignored, whatever the child counts."""
    source = arrow.lists("int32", (4, 3), child_nulls=[0, 11]).but(chunk={"offset": 1, "length": 2})

    assert ix.from_arrow(source).tolist() == [[3, 4, 5], [6, 7, 8]]


def test_a_count_of_none_is_trusted():
    """A bitmap whose producer counted no nulls is not read: it may be anywhere."""
    source = arrow.numbers(nulls=[1, 4]).but(null_count=0)

    found, mask = ix.from_arrow(source, nulls="separate")

    assert found.tolist() == [0, 1, 2, 3, 4, 5]
    assert mask.tolist() == [True] * 6


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_count_that_is_wrong_is_refused(count):
    """A wrong null count is refused."""
    source = arrow.numbers(nulls=[1, 4]).but(null_count=count)

    rule, what = refusal(source, nulls="separate")

    assert rule == "ARROW-NULL-1"
    assert what == f"null_count is {count}, and 2 bits of the validity are 0"


def test_a_bitmap_without_nulls_is_none():
    """Whether it was counted or not."""
    for count in (0, -1):
        source = arrow.numbers(nulls=[0]).but(null_count=count, offset=1, length=5)

        data, mask = ix.from_arrow(source, nulls="separate")

        assert (data.tolist(), mask.tolist()) == ([1, 2, 3, 4, 5], [True] * 5)


# ---------------------------------------------------------------- separate


@given(DRAWS)
def test_a_mask_says_where_numbers_are(data):
    """Data are shared and the mask is right for random lengths, offsets and nulls."""
    length, offset = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 20))
    nulls = places(data, length)
    source = arrow.numbers("int16", length, offset=offset, nulls=nulls)

    found, mask = ix.from_arrow(source, nulls="separate")

    assert mask.tolist() == flags(length, nulls).tolist()
    assert found.tolist() == list(range(offset, offset + length))
    assert (str(mask.dtype), mask.shape) == ("bool", found.shape)
    assert not length or found.ptr == source.chunks[0].buffers[1] + 2 * offset


@given(DRAWS)
def test_a_mask_says_where_bools_are(data):
    """The mask of packed bools is right, too."""
    values = data.draw(st.lists(st.booleans(), max_size=40))
    nulls = places(data, len(values))
    source = arrow.bools(values, offset=data.draw(st.integers(0, 20)), nulls=nulls)

    found, mask = ix.from_arrow(source, nulls="separate")

    assert found.tolist() == values
    assert mask.tolist() == flags(len(values), nulls).tolist()


@given(DRAWS)
def test_what_is_in_a_null_list_is_null(data):
    """All elements of a null list are null; the mask has the shape of the data."""
    shape = (data.draw(st.integers(0, 6)), *data.draw(st.lists(st.integers(0, 4), max_size=3)))
    offset, child_offset = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    size = int(np.prod(shape))
    nulls, child_nulls = places(data, shape[0]), places(data, size)
    if len(shape) == 1:
        shape = (shape[0], 1)
    source = arrow.lists(
        "int32", shape, offset=offset, nulls=nulls, child_offset=child_offset,
        child_nulls=child_nulls,
    )  # fmt: skip

    found, mask = ix.from_arrow(source, nulls="separate")

    rows = flags(shape[0], nulls).reshape(-1, *[1] * (len(shape) - 1))
    expected = rows & flags(size, child_nulls).reshape(shape)
    assert mask.tolist() == expected.tolist()
    assert (mask.shape, found.shape) == (shape, shape)
    first = child_offset + offset * int(np.prod(shape[1:]))
    assert found.tolist() == np.arange(first, first + size).reshape(shape).tolist()


@given(DRAWS)
def test_lists_in_the_middle_may_be_null(data):
    """All elements of a null list in the middle are null."""
    shape = tuple(data.draw(st.tuples(*[st.integers(1, 4)] * 3)))
    nulls = places(data, shape[0] * shape[1])
    bits = flags(shape[0] * shape[1], nulls)
    block = np.packbits(bits, bitorder="little")
    source = arrow.lists("int8", shape).at(
        (0,), chunk={"buffers": (block.ctypes.data,), "null_count": -1, "memory": (block,)}
    )

    found, mask = ix.from_arrow(source, nulls="separate")

    expected = np.broadcast_to(bits.reshape(*shape[:2], 1), shape)
    assert mask.tolist() == expected.tolist()
    assert found.shape == shape


def test_the_mask_of_rows_has_one_byte_for_each():
    """The mask of rows is broadcast along the other axes by a stride of 0."""
    _, mask = ix.from_arrow(arrow.lists("int8", (4, 3), nulls=[1]), nulls="separate")

    assert (mask.shape, mask.strides, mask.readonly) == ((4, 3), (1, 0), True)


@pytest.mark.parametrize(
    "make", [lambda: arrow.numbers(nulls=[1]), lambda: arrow.lists(child_nulls=[1])]
)
def test_a_mask_of_one_byte_for_each_element_may_be_written(make):
    """The mask is a copy of ours, so that libraries without read-only arrays accept it."""
    _, mask = ix.from_arrow(make(), nulls="separate")

    assert not mask.readonly
    assert mask.__dlpack__() is not None


def test_the_mask_of_tensors_has_their_order():
    """A null number is where the data have it."""
    source = arrow.tensors("int32", (2, 2, 3), permutation=(1, 0))
    block = np.packbits(flags(12, {4, 6}), bitorder="little")
    chunk = {"buffers": (block.ctypes.data, source.chunks[0].children[0].buffers[1]),
             "null_count": 2, "memory": (block, *source.chunks[0].children[0].memory)}  # fmt: skip

    found, mask = ix.from_arrow(source.at((0,), chunk=chunk), nulls="separate")

    assert np.asarray(found)[~np.asarray(mask)].tolist() == [4, 6]
    assert found.shape == mask.shape == (2, 3, 2)


def test_the_nulls_of_a_table_are_those_of_its_column():
    """Rows of a table may be null, and so may their elements."""
    block = np.packbits(flags(6, {2}), bitorder="little")
    source = arrow.table(x=arrow.numbers("int8", nulls=[4])).but(
        chunk={"buffers": (block.ctypes.data,), "null_count": 1, "memory": (block,)}
    )

    words = "2 in 6 elements, counted at each level"
    assert refusal(source)[1] == f"the column has nulls: {words}"


def test_masks_of_chunks_are_put_together():
    """The masks of chunks are joined in order."""
    parts = [arrow.numbers("int8", 3, nulls=[0]), arrow.numbers("int8", 2, offset=4),
             arrow.numbers("int8", 1, nulls=[0])]  # fmt: skip

    found, mask = ix.from_arrow(arrow.chunked(*parts).as_stream(), nulls="separate", copy=True)

    assert mask.tolist() == [False, True, True, True, True, False]
    assert found.tolist()[1:5] == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: arrow.chunked(*[arrow.numbers(nulls=[0])] * 2).as_stream(), "ARROW-CHUNK-1"),
        (arrow.texts, "ARROW-TYPE-1"),
    ],
    ids=["chunks", "texts"],
)
def test_separate_nulls_change_no_other_refusal(make, rule):
    """Several chunks need a copy, as those without nulls, and elements need a fixed width."""
    assert refusal(make(), nulls="separate")[0] == rule


@pytest.mark.parametrize("make", [lambda: arrow.numbers(length=0), arrow.legal()["no-lists"].make])
def test_no_elements_have_a_mask(make):
    """A column without elements has an empty mask."""
    found, mask = ix.from_arrow(make(), nulls="separate")

    assert found.shape == mask.shape
    assert mask.size == 0


def test_the_mask_is_independent_of_the_data():
    """The column is released with the data, or at once if it is copied, and the mask stays."""
    for keywords in ({}, {"copy": True}):
        source = arrow.numbers(nulls=[2])
        found, mask = ix.from_arrow(source, nulls="separate", **keywords)
        assert found.readonly is not bool(keywords)
        assert not keywords or source.counts == source.due

        del found

        assert source.counts == source.due
        assert mask.tolist() == [True, True, False, True, True, True]


def test_storage_may_have_nulls():
    """Indices and times, too."""
    dates = arrow.numbers("int32", nulls=[0]).but(format="tdD")

    found, mask = ix.from_arrow(dates, nulls="separate", storage=True)

    assert found.tolist()[1:] == [1, 2, 3, 4, 5]
    assert mask.tolist() == [False, *[True] * 5]
