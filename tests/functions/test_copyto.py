"""`copyto`: host memory of any layout, casts, overlapping memory, and errors with their rules."""

from __future__ import annotations

import sys
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import interchange as ix

DTYPES = ["bool", "int8", "int64", "uint8", "uint32", "float32", "float64", "complex64"]


@st.composite
def views(draw):
    """Return the key of a view of memory of 6 x 7 x 8 elements, and an order of its axes."""
    steps = st.sampled_from([None, None, 1, 2, 3, -1, -2, -3])
    ends = st.one_of(st.none(), st.integers(-9, 9))
    key = tuple(slice(draw(ends), draw(ends), draw(steps)) for _ in range(3))
    return key, draw(st.permutations(range(3)))


def memory():
    """Return elements that differ."""
    return np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)


def view_of(array, view):
    """Return a view of an ndarray or an Array."""
    key, axes = view
    found = array[key]
    return found.transpose(axes) if isinstance(found, np.ndarray) else found.permute_dims(axes)


def cut(target, source):
    """Return both with the extents that they have in common; an extent of 1 is left to spread."""
    common = [
        min(mine, theirs) if theirs != 1 else mine
        for mine, theirs in zip(target.shape, source.shape, strict=True)
    ]
    return (
        target[tuple(slice(extent) for extent in common)],
        source[tuple(slice(extent) for extent in common)],
    )


@given(views(), views(), st.sampled_from(["copyto", "setitem", "foreign"]))
def test_overlapping_views_are_copied_as_if_the_source_were_copied_first(target, source, way):
    """Any two views of one block of memory, by `copyto` and by an assignment."""
    expected, found = memory(), memory()
    to, source_view = cut(view_of(expected, target), view_of(expected, source))
    to[...] = source_view.copy()

    ours = ix.asarray(found)
    to, source_view = cut(view_of(ours, target), view_of(ours, source))
    if way == "copyto":
        ix.copyto(to, source_view)
    elif way == "foreign":
        ix.copyto(*cut(view_of(found, target), view_of(found, source)))
    else:
        to[...] = source_view

    assert np.array_equal(found, expected)


@pytest.mark.parametrize("way", ["copyto", "setitem", "a part", "cast"])
def test_one_axis_of_two_positive_steps_is_right(way):
    """NumPy 2.4.6 reads elements that it has written: 0 1 1 3 1 5 ... is wrong."""
    x = np.arange(20)
    array = ix.asarray(x)
    if way == "copyto":
        ix.copyto(array[0:20:2], array[0:10])
    elif way == "setitem":
        array[0:20:2][...] = array[0:10]
    elif way == "a part":
        array[0:20:2] = array[0:10]
    else:
        bits = array.view(f"uint{8 * array.itemsize}")
        ix.copyto(array[0:20:2], bits[0:10], casting="same_kind")

    assert x[::2].tolist() == [*range(10)]
    assert x[1::2].tolist() == [*range(1, 20, 2)]


@given(st.data())
def test_sources_broadcast(data):
    """A source of fewer axes, or with axes of length 1, is spread over the target."""
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    start = data.draw(st.integers(0, len(shape)))
    theirs = tuple(1 if data.draw(st.booleans()) else extent for extent in shape[start:])
    source, target = np.random.default_rng(1).random(theirs), np.zeros(shape)
    ix.copyto(target, source)

    assert np.array_equal(target, np.broadcast_to(source, shape))


def test_any_arrays_of_the_host_are_copied():
    """Memory of a bytearray, an ndarray and an Array, from bytes, a memoryview and a capsule."""
    for target, source in product(
        (bytearray(3), np.zeros(3, "u1"), ix.asarray(bytearray(3))),
        (b"abc", memoryview(b"abc"), np.frombuffer(bytearray(b"abc"), "u1").__dlpack__()),
    ):
        if type(source).__name__ != "PyCapsule" or isinstance(target, bytearray):
            ix.copyto(target, source)
            assert bytes(target) == b"abc"


def test_packed_elements_are_copied_whole():
    """Elements of 4 bits that are contiguous are copied as bytes."""
    source, target = (ix.from_buffer(bytearray(text)).view("int4") for text in (b"ab", b"\0\0"))
    ix.copyto(target, source)

    assert target.view("uint8").tolist() == [*b"ab"]


@pytest.mark.skipif(ix.core_name != "native", reason="of the native core")
@pytest.mark.parametrize("wrap", [np.asarray, ix.asarray], ids=["ndarray", "Array"])
def test_known_arrays_of_the_host_are_copied_without_python(wrap):
    """Also strided ones and sources that are spread; all else is passed to Python."""
    memory, row = np.zeros((4, 6)), np.arange(6.0)
    target, strided, source = wrap(memory), wrap(memory)[::2, ::-1], wrap(row)
    for each in (target, strided):  # the first ndarray, and a view's description, are Python's
        ix.copyto(each, source)
    seen = []

    def note(frame, event, argument):
        del argument
        if event == "call":
            seen.append(frame.f_code.co_name)

    memory[...] = 0
    sys.setprofile(note)
    try:
        ix.copyto(strided, source)
        assert seen == []
        ix.copyto(target, source, casting="safe")
        assert "copyto" in seen
    finally:
        sys.setprofile(None)
    assert np.array_equal(memory, np.broadcast_to(row, (4, 6)))


# ---------------------------------------------------------------- casts


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
def test_casting_allows_what_its_name_means(casting):
    """The word "safe" is the standard's promotion, and "same_kind" is what an assignment does."""
    xp = pytest.importorskip("array_api_strict")
    ranks = dict(zip("biufc", (0, 1, 1, 2, 3), strict=True))
    for theirs, wanted in product(DTYPES, DTYPES):
        source, target = np.ones(2, theirs), np.zeros(2, wanted)
        promoted = xp.can_cast(getattr(xp, theirs), getattr(xp, wanted))
        allowed = {
            "no": theirs == wanted,
            "safe": promoted,
            "same_kind": ranks[source.dtype.kind] <= ranks[target.dtype.kind],
            "unsafe": not (source.dtype.kind == "c" and target.dtype.kind in "iuf"),
        }[casting]
        if allowed:
            ix.copyto(target, source, casting=casting)
            assert target.tolist() == [1, 1]
        else:
            with pytest.raises(ix.ArgumentError, match="IX-COPY-1") as caught:
                ix.copyto(target, source, casting=casting)
            if "without imaginary parts" in str(caught.value):
                assert source.dtype.kind == "c"
                continue
            needed = str(caught.value).rpartition("pass '")[2].partition("'")[0]
            ix.copyto(target, source, casting=needed)
            assert target.tolist() == [1, 1]


def test_casts_write_through_gaps_and_read_what_overlaps():
    """A cast of elements that lie in the target's own memory reads them first."""
    x = np.arange(8, dtype=np.float32)
    ix.copyto(x[::2], x.view(np.int32)[3::-1], casting="unsafe")
    expected = np.arange(8, dtype=np.float32)
    expected[::2] = np.arange(8, dtype=np.float32).view(np.int32)[3::-1]

    assert x.tolist() == expected.tolist()


# ---------------------------------------------------------------- errors


READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("target", "source", "options", "rule"),
    [
        (READ_ONLY, np.ones(3), {}, "DLP-RO-3"),
        (b"abc", b"def", {}, "DLP-RO-3"),
        (np.broadcast_to(np.zeros(1), 3), np.ones(3), {}, "DLP-RO-3"),
        (np.lib.stride_tricks.as_strided(np.zeros(3), (2, 2), (8, 8)), np.ones(2), {}, "IX-COPY-3"),
        (np.zeros(3), np.ones(2), {}, "IX-COPY-2"),
        (np.zeros(3), np.ones((1, 3)), {}, "IX-COPY-2"),
        (np.zeros(()), np.ones(1), {}, "IX-COPY-2"),
        (np.zeros(3), np.ones(3, int), {}, "IX-COPY-1"),
        (np.zeros(3), np.ones(3, int), {"casting": "safe"}, "IX-COPY-1"),
        (np.zeros(3, "u1"), np.ones(3), {"casting": "same_kind"}, "IX-COPY-1"),
        (np.zeros(3), np.ones(3, int), {"casting": "equiv"}, "IX-ARGUMENT-1"),
        (np.zeros(3), np.ones(3), {"casting": None}, "IX-ARGUMENT-1"),
        (np.zeros(3), np.ones(3), {"stream": 7}, "DLP-STREAM-1"),
        (np.zeros(3), np.ones(3), {"stream": "7"}, "DLP-STREAM-4"),
        ([0, 0, 0], np.ones(3), {}, "IX-PROTOCOL-1"),
        (np.zeros(3), [1, 2, 3], {}, "IX-PROTOCOL-1"),
        (np.zeros(3), np.ma.array([1.0, 2, 3], mask=[1, 0, 0]), {}, "AI-MASK-1"),
        (np.zeros(3, ">f8"), np.ones(3), {}, "DLP-DTYPE-3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_copied_is_refused_by_its_rule(target, source, options, rule):
    """Nothing is written."""
    before = bytes(memoryview(target).tobytes()) if not isinstance(target, list) else b""
    with pytest.raises((ix.InterchangeError, BufferError), match=rule):
        ix.copyto(target, source, **options)

    assert isinstance(target, list) or memoryview(target).tobytes() == before


def test_a_source_that_is_read_once_is_kept_by_the_error():
    """The capsule of a refused source is consumed: the error has its array."""
    capsule = np.arange(2.0).__dlpack__()
    with pytest.raises(ix.ArgumentError, match="IX-COPY-2") as caught:
        ix.copyto(np.zeros(3), capsule)

    assert caught.value.taken["src"].tolist() == [0, 1]


def test_packed_elements_are_not_rearranged():
    """Elements of 4 bits have no addresses of their own, so that they are not spread."""
    rows = memoryview(bytearray(4)).cast("B", (2, 2))
    target = ix.from_buffer(rows).view("int4")
    with pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-5"):
        ix.copyto(target, ix.from_buffer(bytearray(2)).view("int4"))
