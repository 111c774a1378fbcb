"""`from_arrow` of lists whose type has no length: those of one length are axes of the array."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import lists, numbers, ragged, tensors

pytestmark = pytest.mark.usefixtures("arrow_zoo")

KINDS = ["+l", "+L", "+vl", "+vL"]


def nested(kind="+l", other="+L", **keywords):
    """Return lists of three lists of two numbers, of which the first number is element 2."""
    inner = ragged((2,) * 12, numbers("int16", 26), kind=other, first=2)
    return ragged((3,) * 3, inner, kind=kind, first=3, **keywords)


def tuples(found):
    """Return nested lists as the producers have them."""
    return tuple(map(tuples, found)) if isinstance(found, list) else found


def refusal(source, kind=ix.UnsupportedDTypeError, **keywords):
    """Return the error of an import; all memory is released."""
    with pytest.raises(kind) as caught:
        ix.from_arrow(source, **keywords)
    caught.value.taken = None
    assert source.counts == source.due
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_lists_of_one_length_are_an_axis(kind, offset):
    """They are shared, from the first element that they refer to."""
    source = ragged((3,) * 4, numbers("float32", 14), kind=kind, first=2, offset=offset)
    array = ix.from_arrow(source)
    (item,) = source.chunks[0].children

    assert tuples(array.tolist()) == source.values
    assert array.ptr == item.buffers[1] + (2 + 3 * offset) * 4
    assert (array.strides, array.readonly) == ((3, 1), True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_lists_of_lists_are_axes(kind, other):
    """The same is true of every level, with offsets on each."""
    source = nested(kind, other, offset=1)
    array = ix.from_arrow(source)
    ((values,),) = [item.children for item in source.chunks[0].children]

    assert (array.shape, tuples(array.tolist())) == ((2, 3, 2), source.values)
    assert array.ptr == values.buffers[1] + (2 + 6 * 2) * 2


@pytest.mark.parametrize(
    ("below", "shape"),
    [(lambda: lists("int8", (6, 2, 2)), (3, 2, 2, 2)), (lambda: tensors(shape=(6, 2, 3)), None)],
)
def test_fixed_sizes_are_below_lists(below, shape):
    """Fixed-size lists and tensors add their axes to those of the lists."""
    source = ragged((2,) * 3, below())

    assert ix.from_arrow(source).shape == (shape or (3, 2, 2, 3))


def test_bools_in_lists_are_a_copy():
    """As bools are in fixed-size lists."""
    source = ragged((2,) * 2, arrow.bools([1, 0, 0, 1]))

    assert ix.from_arrow(source).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_lists_have_no_length(kind):
    """The length of the axis is 0."""
    assert ix.from_arrow(ragged((), kind=kind)).shape == (0, 0)
    assert ix.from_arrow(ragged((0, 0), kind=kind)).shape == (2, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_different_lengths_are_refused(kind):
    """The error names the type and the call that imports them."""
    error = refusal(ragged(kind=kind))
    name = {"+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"}[kind]

    assert error.rule == "ARROW-TYPE-1"
    assert error.what == f"the elements are lists of different lengths, of type {name}"
    assert "`ragged=True`" in error.hint


def test_lists_that_do_not_follow_each_other_are_refused():
    """Views of equal lengths are no axes if their elements overlap."""
    source = ragged((2, 2), numbers(length=4), kind="+vl")
    (block, *_) = source.chunks[0].memory
    block.view()[4:8] = (1).to_bytes(4, "little")

    assert refusal(source).rule == "ARROW-TYPE-1"


def test_null_lists_are_refused_as_nulls():
    """They are the reason why lengths differ."""
    error = refusal(ragged((2, 0, 2), nulls=[1]), ix.ExchangeError)

    assert (error.rule, "1 in 3 elements of list" in error.what) == ("ARROW-NULL-2", True)


def test_null_lists_of_the_same_length_have_a_mask():
    """A null list that has memory is an element of the axis, and the mask is False there."""
    source = ragged((2, 2, 2), nulls=[1])
    data, mask = ix.from_arrow(source, nulls="separate")

    assert refusal(source.but(), ix.ExchangeError).rule == "ARROW-NULL-2"
    assert (data.shape, mask.tolist()) == ((3, 2), [[True] * 2, [False] * 2, [True] * 2])


def test_nulls_within_lists_have_a_mask():
    """Those before the first list that is imported are ignored."""
    below = numbers("int32", 6, nulls=[1, 5])
    source = ragged((2,) * 3, below, offset=1)

    assert ix.from_arrow(source, nulls="separate")[1].tolist() == [[True, True], [True, False]]
    assert refusal(source.but(), ix.ExchangeError).what == "the column has nulls: 1 in 2 elements"


def test_chunks_have_one_length():
    """Chunks are joined if their lists have the same length, also after empty ones."""
    parts = ragged((2, 2)), ragged(()), ragged((2,))
    source = arrow.chunked(*parts).as_stream()
    other = arrow.chunked(ragged((2,)), ragged((3,))).as_stream()

    assert ix.from_arrow(source, copy=True).tolist() == [[0, 1], [2, 3], [0, 1]]
    assert "in different chunks" in refusal(other, copy=True).what


# ---------------------------------------------------------------- null lists without elements


def with_gaps(**keywords):
    """Return lists of two numbers; list 1 is null, and has no elements."""
    return ragged((2, 0, 2), nulls=[1], **keywords)


@pytest.mark.parametrize("kind", ["+l", "+L"])
def test_null_lists_have_elements_in_a_copy(kind):
    """They are 0 beside a mask, or the number for nulls."""
    data, mask = ix.from_arrow(with_gaps(kind=kind), nulls="separate")

    assert data.tolist() == [[0, 1], [0, 0], [2, 3]]
    assert mask.tolist() == [[True] * 2, [False] * 2, [True] * 2]
    assert data.readonly is False
    assert ix.from_arrow(with_gaps(kind=kind), nulls=9).tolist() == [[0, 1], [9, 9], [2, 3]]


def test_null_lists_of_a_chunk_have_the_length_of_others():
    """Also if all lists of the chunk are null."""
    source = arrow.chunked(with_gaps(), ragged((0,), nulls=[0])).as_stream()

    assert ix.from_arrow(source, nulls=9, copy="if_needed").tolist()[2:] == [[2, 3], [9, 9]]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda: ragged((2, 0, 3), nulls=[1]), "of different lengths"),
        (lambda: ragged((1, 0), arrow.bools([1]), nulls=[1]), "lists of bools"),
        (lambda: ragged((1, 0), numbers(length=1, nulls=[0]), nulls=[1]), "that are null"),
        (lambda: ragged((2, 0), ragged((1, 0), nulls=[1]), nulls=[1]), "at two levels"),
    ],
)
def test_null_lists_beside_what_is_not_copied_are_refused(source, words):
    """The error names the import as values and offsets."""
    error = refusal(source(), nulls="separate")

    assert (error.rule, words in error.what) == ("ARROW-TYPE-1", True)


def test_null_lists_need_the_copy():
    """`copy` False refuses it."""
    error = refusal(with_gaps(), ix.CopyNeededError, nulls="separate", copy=False)

    assert error.rule == "ARROW-NULL-3"
