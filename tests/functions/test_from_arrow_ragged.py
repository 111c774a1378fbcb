"""`from_arrow` with ``ragged=True``: values and offsets of lists, and of text."""

from __future__ import annotations

import ctypes
import struct

import pytest

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import _block, numbers, ragged, texts

pytestmark = pytest.mark.usefixtures("arrow_zoo")

KINDS = {"+l": 4, "+L": 8, "+vl": 4, "+vL": 8}
"""Format -> size of an offset [bytes]."""


def listed(found):
    """Return the elements of all Arrays of a result."""
    if isinstance(found, tuple):
        return tuple(map(listed, found))
    return found.tolist()


def refusal(source, kind=ix.ExchangeError, **keywords):
    """Return the error of an import; all memory is released."""
    with pytest.raises(kind) as caught:
        ix.from_arrow(source, **{"ragged": True, **keywords})
    caught.value.taken = None
    assert source.counts == source.due
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_offsets_are_shared(kind):
    """All are shared and read-only, and offsets count from the first element of the child."""
    source = ragged((2, 0, 3, 1), numbers("int16", 8), kind=kind, offset=1, first=2)
    (chunk,) = source.chunks
    values, offsets, *sizes = ix.from_arrow(source, ragged=True)

    assert values.ptr == chunk.children[0].buffers[1]
    assert [one.ptr for one in (offsets, *sizes)] == [at + KINDS[kind] for at in chunk.buffers[1:]]
    assert {one.dtype.itemsize for one in (offsets, *sizes)} == {KINDS[kind]}
    assert all(one.readonly for one in (values, offsets, *sizes))
    assert offsets.tolist() == ([4, 4, 7] if sizes else [4, 4, 7, 8])
    assert listed(tuple(sizes)) == (([0, 3, 1],) if sizes else ())
    assert values.tolist() == list(range(8))


def test_each_array_keeps_the_memory():
    """The struct is released when the last of the Arrays dies, and once."""
    source = ragged()
    values, offsets = ix.from_arrow(source, ragged=True)
    del offsets
    held = source.counts
    del values

    assert (held[1], source.counts) == (0, source.due)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_has_the_elements_in_use(kind):
    """Offsets of a copy begin with 0, and it is writable."""
    source = ragged((2, 0, 3, 1), numbers("int16", 9), kind=kind, offset=1, first=2)
    found = ix.from_arrow(source, ragged=True, copy=True)
    starts = [0, 0, 3] if "v" in kind else [0, 0, 3, 4]

    assert listed(found[:2]) == ([4, 5, 6, 7], starts)
    assert not any(one.readonly for one in found)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_are_joined_on_request(kind):
    """Offsets are shifted by the elements of the chunks before."""
    parts = [ragged((2, 1), kind=kind, first=1), ragged((0,), kind=kind), ragged((3,), kind=kind)]
    source = arrow.chunked(*parts).as_stream()
    found = ix.from_arrow(source, ragged=True, copy="if_needed")
    ends = ([0, 2, 3, 3], [2, 1, 0, 3]) if "v" in kind else ([0, 2, 3, 3, 6],)

    assert refusal(source.but(), ix.CopyNeededError).rule == "ARROW-CHUNK-1"
    assert listed(found) == ([1, 2, 3, 0, 1, 2], *ends)


def test_joined_offsets_must_fit():
    """Chunks with more elements than 32 bits can count are refused, whatever their size."""
    items = numbers("int8", 0).but(format="w:0", chunk={"length": 2**30})
    source = arrow.chunked(*[ragged((2**30,), items)] * 2).as_stream()
    error = refusal(source, copy=True)

    assert (error.rule, error.what) == (
        "ARROW-CHUNK-2",
        "an offset is 2147483648 in chunks of int32",
    )


def test_lists_of_lists_are_pairs_of_pairs():
    """Each level adds the offsets of its lists."""
    source = ragged((2, 0, 1), ragged((1, 2, 0), numbers("int8", 3)))

    assert listed(ix.from_arrow(source, ragged=True)) == (([0, 1, 2], [0, 1, 3, 3]), [0, 2, 2, 3])


def test_fixed_sizes_are_axes_of_the_values():
    """Lists in a fixed-size list are counted one after the other."""
    inside = ragged((2, 0, 1), arrow.lists("int8", (3, 2)))
    around = arrow.lists("int8", (2, 2))
    field = around.field.at((0,), format="+l", children=ragged().field.children)
    chunk = around.chunks[0]
    ends = ragged((1, 0, 2, 1), numbers("int32", 4))
    source = type(around)(field, (arrow.Chunk(2, 0, 0, chunk.buffers, ends.chunks),))

    assert listed(ix.from_arrow(inside, ragged=True)) == ([[0, 1], [2, 3], [4, 5]], [0, 2, 2, 3])
    assert listed(ix.from_arrow(source, ragged=True)) == ([0, 1, 2, 3], [0, 1, 1, 3, 4])


def test_columns_without_lists_are_as_ever():
    """Numbers, and lists of a fixed size, are one Array."""
    assert ix.from_arrow(numbers("int8", 3), ragged=True).tolist() == [0, 1, 2]
    assert ix.from_arrow(arrow.lists("int8", (2, 2)), ragged=True).shape == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_lists_have_an_offset(kind):
    """A column without lists has the offset 0, and a stream without chunks, too."""
    source = ragged((), kind=kind)
    empty = arrow.chunked(source).as_stream()
    due = ([], []) if "v" not in kind else ([], [], [])
    due = (due[0], [0]) if "v" not in kind else due

    assert listed(ix.from_arrow(source, ragged=True)) == due
    assert listed(ix.from_arrow(empty, ragged=True)) == due


# ---------------------------------------------------------------- text


def test_text_is_bytes_and_offsets():
    """Both are shared."""
    source = texts(["a", "bc", "", "def"])
    values, offsets = ix.from_arrow(source, ragged=True)

    assert (bytes(values.tolist()), offsets.tolist()) == (b"abcdef", [0, 1, 3, 3, 6])
    assert (offsets.ptr, values.ptr) == source.chunks[0].buffers[1:]


def test_text_in_lists_is_a_pair_in_a_pair():
    """As lists in lists are."""
    (values, inner), outer = ix.from_arrow(ragged((1, 2), texts(["a", "bc", ""])), ragged=True)

    assert (bytes(values.tolist()), inner.tolist(), outer.tolist()) == (
        b"abc",
        [0, 1, 3, 3],
        [0, 1, 3],
    )


def test_an_extension_of_text_is_imported_as_storage():
    """Text with another meaning is imported on request."""
    source = texts(["{}"]).but(metadata=arrow.extension("arrow.json"))

    assert refusal(source, ix.UnsupportedDTypeError).rule == "ARROW-TYPE-2"
    assert ix.from_arrow(source, ragged=True, storage=True)[1].tolist() == [0, 2]


# ---------------------------------------------------------------- nulls


def test_nulls_have_a_mask_for_each_level():
    """The masks are nested as the values are: of the elements, and of the lists."""
    source = ragged((2, 1), numbers("int32", 3, nulls=[0]), nulls=[1])
    found, masks = ix.from_arrow(source, ragged=True, nulls="separate")

    assert listed(found[1:]) == ([0, 2, 3],)
    assert listed(masks) == ([False, True, True], [True, False])


def test_null_lists_are_refused():
    """With and without a number, which is no list; the error names the type."""
    source = ragged((2, 0, 1), nulls=[1])
    error = refusal(source, nulls=0)

    assert (error.rule, error.what) == (
        "ARROW-NULL-2",
        "the column has nulls: 1 in 3 elements of list",
    )
    assert "no number is a list" in error.hint
    assert refusal(source.but()).what == error.what


def test_a_number_fills_the_elements():
    """Elements of lists are filled as those of a column are."""
    source = ragged((2, 1), numbers("int32", 3, nulls=[0]))

    assert listed(ix.from_arrow(source, ragged=True, nulls=7)) == ([7, 1, 2], [0, 2, 3])


def test_nulls_before_the_first_list_are_ignored():
    """Elements that no list refers to are shared, but not judged."""
    inner = ragged((1, 2, 1), numbers("int32", 4, nulls=[0]), nulls=[0])
    source = ragged((1, 2), inner, offset=1)

    assert listed(ix.from_arrow(source, ragged=True)[1]) == [1, 3]
    assert refusal(ragged((1, 2), inner)).rule == "ARROW-NULL-2"


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"ragged": 1}, "ragged=1"),
        ({"columns": True, "axis": 1}, "ragged=True and axis="),
    ],
)
def test_arguments_that_contradict_each_other(keywords, words):
    """One array has no offsets."""
    assert words in refusal(ragged(), ix.ArgumentError, **keywords).what


def test_unaligned_offsets_are_copied_on_request():
    """As unaligned elements are (ARROW-BUFFER-2)."""
    source = ragged((1, 2))
    (at,) = source.chunks[0].buffers[1:]
    block = (ctypes.c_char * 13)()
    ctypes.memmove(ctypes.addressof(block) + 1, at, 12)
    source = source.but(buffers=(None, ctypes.addressof(block) + 1))

    assert refusal(source).rule == "ARROW-BUFFER-2"
    assert ix.from_arrow(source.but(), ragged=True, copy=True)[1].tolist() == [0, 1, 3]


def test_text_in_views_is_not_joined_without_a_copy():
    """Views of text are in several places: copy=False refuses to join them."""
    words = [b"a", b"bcd"]
    views = _block(b"".join(struct.pack("=i12s", len(word), word) for word in words))
    chunk = arrow.Chunk(2, 0, 0, (None, views.address, None), memory=(views,))
    source = arrow.ArraySource(arrow.Field("vu"), (chunk,), ("a", "bcd"))

    with pytest.raises(ix.CopyNeededError) as caught:
        ix.from_arrow(source, ragged=True, copy=False)

    assert caught.value.rule == "ARROW-VIEW-1"
    assert source.counts == source.due
