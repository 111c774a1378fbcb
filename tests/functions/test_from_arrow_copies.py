"""`from_arrow`: nulls replaced by numbers, chunks joined if needed, and memory of the caller."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")

DTYPES = [*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
FLOATS = ["float16", "float32", "float64"]


def refusal(error, source, **keywords):
    """Return rule and finding of an import's refusal; all memory is released."""
    with pytest.raises(error) as caught:
        ix.from_arrow(source, **keywords)
    assert type(caught.value) is error
    caught.value.taken = None  # of a stream
    assert source.counts == source.due
    return caught.value.rule, caught.value.what


def stream(*parts):
    """Return a stream of chunks."""
    return arrow.chunked(*parts).as_stream()


# ---------------------------------------------------------------- nulls=<number>


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
def test_nulls_become_a_number(dtype):
    """The column is not changed; the copy has its dtype."""
    source = arrow.numbers(dtype, 6, offset=1, nulls=[0, 4])

    found = ix.from_arrow(source, nulls=7)

    assert (str(found.dtype), found.readonly) == (dtype, False)
    assert found.tolist() == [7, 2, 3, 4, 7, 6]
    assert source.counts == source.due


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_all_sizes_are_held(dtype):
    """The least and the greatest integer of the dtype replace nulls; one more is refused."""
    limits = np.iinfo(dtype)
    for number, more in ((limits.min, -1), (limits.max, 1)):
        found = ix.from_arrow(arrow.numbers(dtype, nulls=[0]), nulls=int(number))
        assert found.tolist()[0] == number
        rule, what = refusal(
            ix.ArgumentError, arrow.numbers(dtype, nulls=[0]), nulls=int(number) + more
        )
        assert rule == "ARROW-NULL-3"
        assert what.endswith(f"for elements of {dtype}")


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("int32", math.nan),
        ("int32", 0.5),
        ("int64", 1.0),
        ("int8", True),
        ("float64", False),
        ("float32", 2**24 + 1),
        ("float32", 1e300),
        ("float16", 1e6),
        ("float64", 10**400),
        ("float64", 1j),
        ("int64", np.array("x")),
    ],
)
@pytest.mark.parametrize("nulls", [(), (1,)])
def test_a_number_that_the_dtype_does_not_represent_is_refused(dtype, number, nulls):
    """It is refused also where no element is null, so that the data do not decide."""
    number = np.complex128(number) if number == 1j else number
    rule, what = refusal(ix.ArgumentError, arrow.numbers(dtype, nulls=nulls), nulls=number)

    assert rule == "ARROW-NULL-3"
    assert what.endswith(f" for elements of {dtype}")


@pytest.mark.parametrize("number", [math.nan, math.inf, -0.0, 0.1, np.float32(2.5), np.int8(3), 4])
def test_floats_are_rounded_to_the_dtype(number):
    """Floats take every float, and integers that they represent."""
    found = ix.from_arrow(arrow.numbers("float32", nulls=[2]), nulls=number)

    expected = np.float32(number)
    assert np.asarray(found)[2].tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_bools_take_bools(value):
    """Null bools become True or False, and no number."""
    source = arrow.bools([1, 0, 1], offset=6, nulls=[0, 1])

    assert ix.from_arrow(source, nulls=value).tolist() == [bool(value), bool(value), True]
    assert refusal(ix.ArgumentError, arrow.bools(nulls=[1]), nulls=1)[0] == "ARROW-NULL-3"


def test_null_lists_are_filled():
    """All elements of a null list become the number, and null elements of others."""
    source = arrow.lists("int16", (3, 2), nulls=[1], child_nulls=[5])

    assert ix.from_arrow(source, nulls=-1).tolist() == [[0, 1], [-1, -1], [4, -1]]


def test_without_nulls_the_memory_is_shared():
    """A number for nulls makes no copy where there are none, as the producer counted."""
    source = arrow.numbers("int32")

    assert ix.from_arrow(source, nulls=0, copy=False).ptr == source.chunks[0].buffers[1]


def test_filling_is_a_copy():
    """It is refused with ``copy=False``."""
    source = arrow.numbers(nulls=[0, 1])

    found = refusal(ix.CopyNeededError, source, nulls=0, copy=False)
    assert found == ("ARROW-NULL-3", "the column has nulls: 2, which are filled in a copy")


def test_mask_is_another_word_for_separate():
    """Both return data and mask."""
    for word in ("mask", "separate"):
        found, mask = ix.from_arrow(arrow.numbers("int8", 3, nulls=[1]), nulls=word)
        assert (found.tolist(), mask.tolist()) == ([0, 1, 2], [True, False, True])


# ---------------------------------------------------------------- copy="if_needed"


def test_one_chunk_is_shared_and_several_are_joined():
    """A chunk without elements does not count."""
    one = stream(arrow.numbers("int32", 3), arrow.numbers("int32", 0))
    two = stream(arrow.numbers("int32", 3), arrow.numbers("int32", 2, offset=4))

    shared, joined = (ix.from_arrow(source, copy="if_needed") for source in (one, two))

    assert (shared.readonly, joined.readonly) == (True, False)
    assert shared.ptr == one.chunks[0].buffers[1]
    assert joined.tolist() == [0, 1, 2, 4, 5]
    assert two.counts == two.due


def test_elements_are_aligned_if_needed():
    """Unaligned elements are copied; with None they are refused."""
    source = arrow.numbers("float64", lead=1)

    found = ix.from_arrow(source, copy="if_needed")

    assert found.ptr % 8 == 0
    assert found.tolist() == [0, 1, 2, 3, 4, 5]
    assert refusal(ix.ExchangeError, arrow.numbers("float64", lead=1))[0] == "ARROW-BUFFER-2"


@pytest.mark.parametrize("count", [2, 70])
def test_chunks_of_lists_are_joined(count):
    """Chunks with offsets at both levels are joined, and the mask of rows has a byte for each."""
    parts = [arrow.lists("int16", (2, 3), offset=place % 3) for place in range(count)]
    parts[1] = arrow.lists("int16", (2, 3), child_offset=2)
    expected = [row for part in parts for row in part.values]

    found, mask = ix.from_arrow(stream(*parts), copy="if_needed", nulls="separate")

    assert tuple(map(tuple, found.tolist())) == tuple(expected)
    assert (mask.shape, mask.strides, mask.readonly) == ((2 * count, 3), (0, 0), True)
    assert np.asarray(mask).all()


def test_masks_of_chunks_are_joined():
    """A chunk without nulls, and one with null elements and null lists."""
    parts = [
        arrow.lists("int8", (2, 2)),
        arrow.lists("int8", (2, 2), nulls=[0], child_nulls=[2], offset=1),
    ]
    found, mask = ix.from_arrow(stream(*parts), copy=True, nulls="mask")

    assert found.shape == mask.shape == (4, 2)
    assert mask.tolist() == [[True, True], [True, True], [False, False], [False, True]]


@pytest.mark.parametrize("copy", [True, "if_needed"])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"null_count": 7}, "ARROW-NULL-1"),
        ({"null_count": 2}, "ARROW-BUFFER-1"),
        ({"buffers": (None, None)}, "ARROW-BUFFER-1"),
        ({"length": -1}, "ARROW-LENGTH-1"),
        ({"offset": -1}, "ARROW-LENGTH-1"),
        ({"release": False}, "ARROW-RELEASE-3"),
    ],
)
def test_an_invalid_chunk_among_others_is_refused(change, rule, copy):
    """Chunks that are joined are checked as one alone is, and all of them are released."""
    source = stream(arrow.numbers(), arrow.numbers(), arrow.numbers())
    first, second, third = source.chunks
    source.chunks = (first, dataclasses.replace(second, **change), third)
    if rule == "ARROW-RELEASE-3":  # which ends a stream
        assert ix.from_arrow(source, copy=copy).shape == (6,)
    else:
        assert refusal(ix.ExchangeError, source, copy=copy)[0] == rule


# ---------------------------------------------------------------- out=


@pytest.mark.parametrize("nulls", ["refuse", 9, "separate"])
def test_values_are_written_to_memory_of_the_caller(nulls):
    """Those of several chunks, without an intermediate copy; an Array of the memory is returned."""
    bad = [] if nulls == "refuse" else [1]
    source = stream(arrow.numbers("int32", 3), arrow.numbers("int32", 2, nulls=bad))
    out = np.full(5, -1, "int32")

    found = ix.from_arrow(source, out=out, nulls=nulls)

    data, mask = found if nulls == "separate" else (found, None)
    assert data.ptr == out.ctypes.data
    assert out.tolist() == [0, 1, 2, 0, 9 if nulls == 9 else 1]
    assert mask is None or mask.tolist() == [True] * 4 + [False]
    assert source.counts == source.due


def test_an_array_is_returned_itself():
    """The argument is the result where it is an Array."""
    out = ix.asarray(np.zeros(6, "float32"))

    assert ix.from_arrow(arrow.numbers(), out=out) is out
    assert out.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros((3, 2), "int16").T,
        lambda: np.zeros((4, 3), "int16")[::2],
        lambda: np.zeros((2, 3), "int16")[::-1, ::-1],
        lambda: bytearray(12),
    ],
    ids=["F order", "gaps", "reversed", "buffer"],
)
def test_out_has_any_strides(make):
    """Gaps are not written to."""
    out = make()
    if isinstance(out, bytearray):
        out = memoryview(out).cast("h", (2, 3))

    ix.from_arrow(arrow.lists("int16", (2, 3), nulls=[1]), nulls=8, out=out)

    assert np.asarray(out).tolist() == [[0, 1, 2], [8, 8, 8]]


def test_bools_and_tensors_are_written():
    """Bits become bytes, and the axes of tensors have their order."""
    bools = np.zeros(9, bool)
    parts = [arrow.bools([1, 0, 1], offset=offset) for offset in (0, 5, 7)]
    ix.from_arrow(stream(*parts), out=bools)
    tensors = np.zeros((5, 3, 2), "int8")
    parts = [arrow.tensors("int8", (n, 2, 3), permutation=(1, 0)) for n in (2, 3)]
    ix.from_arrow(stream(*parts), out=tensors)

    assert bools.tolist() == [True, False, True] * 3
    rows = [np.arange(6 * n).reshape(n, 2, 3).transpose(0, 2, 1) for n in (2, 3)]
    assert (tensors == np.concatenate(rows)).all()


@pytest.mark.parametrize(
    ("out", "error", "rule"),
    [
        (np.zeros(5, "float32"), ix.ArgumentError, "IX-OUT-1"),
        (np.zeros((6, 1), "float32"), ix.ArgumentError, "IX-OUT-1"),
        (np.zeros(6, "float64"), ix.ArgumentError, "IX-OUT-1"),
        (memoryview(bytes(24)).cast("f"), ix.ReadOnlyError, "DLP-RO-3"),
        (np.broadcast_to(np.zeros(1, "float32"), 6), ix.ReadOnlyError, "DLP-RO-3"),
        (np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (6,), (0,)), ix.ArgumentError,
         "IX-OUT-1"),
        ([0] * 6, ix.NoProtocolError, "IX-PROTOCOL-1"),
    ],
    ids=["length", "axes", "dtype", "bytes", "read-only", "overlapping", "list"],
)  # fmt: skip
def test_out_that_does_not_fit_is_refused(out, error, rule):
    """Nothing is written to it."""
    assert refusal(error, arrow.numbers(), out=out)[0] == rule
    assert not np.asarray(out, "u1").any()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [({"copy": False}, "copy=False with out="), ({"device": "cuda:0"}, "device=cuda:0 with out=")],
)
def test_out_contradicts_other_arguments(keywords, words):
    """The producer is not called."""
    source = arrow.numbers()

    rule, what = refusal(ix.ArgumentError, source, out=np.zeros(6, "f4"), **keywords)

    assert (rule, source.log) == ("IX-ARGUMENT-1", [])
    assert what.startswith(words)


def test_out_of_a_table():
    """One field is written, or several are stacked; a dict of them takes no `out`."""
    make = lambda: arrow.table(x=arrow.numbers("int32"), y=arrow.numbers("int32", offset=2))  # noqa: E731
    one, both = np.zeros(6, "int32"), np.zeros((6, 2), "int32")

    ix.from_arrow(make(), column="y", out=one)
    ix.from_arrow(make(), columns=["y", "x"], axis=1, out=both)

    assert one.tolist() == [2, 3, 4, 5, 6, 7]
    assert both.T.tolist() == [[2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5]]
    refused = refusal(ix.ArgumentError, make(), columns=True, out=one)
    assert refused == ("IX-ARGUMENT-1", "out= for 2 columns")
    refused = refusal(ix.ArgumentError, make(), columns=True, axis=1, out=one)
    assert refused[0] == "IX-OUT-1"


def test_what_out_refuses_of_a_stream_is_kept():
    """Data that can be read once are imported again from the error."""
    reader = arrow.chunked(arrow.numbers(), arrow.numbers()).as_stream()

    class Once:
        """A producer without a length, whose stream is used up."""

        def __arrow_c_stream__(self, requested_schema=None):
            return reader.__arrow_c_stream__(requested_schema)

    with pytest.raises(ix.ArgumentError) as caught:
        ix.from_arrow(Once(), out=np.zeros(3, "float32"))
    out = np.zeros(12, "float32")
    ix.from_arrow(caught.value.taken, out=out)

    assert out.tolist() == [0, 1, 2, 3, 4, 5] * 2
