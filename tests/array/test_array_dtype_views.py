"""`Array.view` and `Array.tobytes`: the same bytes under another type, and the bytes themselves."""

from __future__ import annotations

import ctypes
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._array.dtype_views import alignment_of, width_of
from interchange._types.dtypes import all_dtypes

PLAIN = ["b1", "i1", "u1", "i2", "u2", "f2", "i4", "f4", "i8", "u8", "f8", "c8", "c16"]
SLICES = st.builds(slice, *[st.none() | st.integers(-6, 6)] * 2, st.sampled_from([None, 1, 2, -1]))


def refusal(array, dtype):
    """Return the class and the rule that a view is refused with."""
    with pytest.raises(ix.InterchangeError) as caught:
        array.view(dtype)
    assert caught.value.call == "Array.view()"
    return type(caught.value), caught.value.rule


# ---------------------------------------------------------------- NumPy's rules


@given(st.data())
def test_a_view_is_numpys_view(data):
    """Of any layout: the same shape, strides and bytes, or a refusal where NumPy refuses.

    Where NumPy has strides of no whole elements, or elements that are not aligned, it is refused.
    """
    shape = data.draw(st.lists(st.integers(0, 6), max_size=3))
    old, new = data.draw(st.sampled_from(PLAIN)), data.draw(st.sampled_from(PLAIN))
    block = np.frombuffer(np.random.default_rng(0).bytes(16 * 6**3), old)
    theirs = block[: int(np.prod(shape))].reshape(shape)
    theirs = theirs[(*(data.draw(SLICES) for _ in shape), ...)]
    theirs = theirs.transpose(data.draw(st.permutations(range(theirs.ndim))))
    ours = ix.asarray(theirs)

    try:
        expected = theirs.view(new)
    except ValueError:
        assert refusal(ours, new) == (ix.ViewError, "IX-VIEW-1")
        return
    longer = zip(expected.strides, expected.shape, strict=True)
    if expected.size and any(s % expected.itemsize for s, n in longer if n > 1):
        assert refusal(ours, new) == (ix.ExchangeError, "DLP-STRIDES-3")
    elif expected.size and not expected.flags.aligned:
        assert refusal(ours, new) == (ix.ViewError, "IX-VIEW-2")
    else:
        found = ours.view(new)
        assert (found.shape, found.dtype == expected.dtype) == (expected.shape, True)
        assert (found.tobytes(), found.owner) == (expected.tobytes(), ours.owner)
        assert not expected.size or found.ptr == expected.ctypes.data


@given(st.data())
def test_the_bytes_are_numpys(data):
    """The bytes are those of NumPy in C order, for every layout."""
    shape = data.draw(st.lists(st.integers(0, 5), max_size=3))
    theirs = np.arange(np.prod(shape), dtype=data.draw(st.sampled_from(PLAIN[1:]))).reshape(shape)
    theirs = theirs[(*(data.draw(SLICES) for _ in shape), ...)].T

    assert ix.asarray(theirs).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_memory_under_any_type_is_its_bytes_and_back(dtype):
    """Every element type can be viewed as bytes and back without a loss."""
    block = bytearray(range(48))
    data = ix.from_buffer(block).view(dtype)

    assert data.size * width_of(dtype) == 8 * 48
    assert data.tobytes() == bytes(block)
    assert data.view("uint8").tobytes() == bytes(block)
    assert data.view("uint8").shape == (48,)


PAIRS = np.array([1 + 2j, 3 + 4j], "c8")
BRAINS = np.array([1.5, -2.0, 0.1], ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("x", "new", "elements"),
    [
        (BRAINS.view("u2"), "bfloat16", BRAINS.tolist()),
        (PAIRS, "f4", [1.0, 2.0, 3.0, 4.0]),
        (np.array([1, 2, 3, 4], "f4"), "c8", PAIRS.tolist()),
        (np.ones(4, "u1"), "b1", [True] * 4),
        (ix.asarray(np.arange(8.0)).view("float64x4"), "f8", [*map(float, range(8))]),
        (ix.asarray(np.arange(8.0)).view("float64x4")[1:], "f8", [4.0, 5.0, 6.0, 7.0]),
    ],
    ids=["bfloat16", "pairs", "complex", "bools", "lanes", "lanes of one element"],
)
def test_a_view_has_the_elements_of_its_type(x, new, elements):
    """As ml_dtypes reads them; the real part first; a bool is a byte; lanes side by side."""
    assert ix.asarray(x).view(new).tolist() == elements


# ---------------------------------------------------------------- packed elements


@pytest.mark.parametrize(
    ("shape", "new", "expected"),
    [
        ((2, 3), "int4", (2, 6)),
        ((2, 3), "uint1", (2, 24)),
        ((2, 3), "float6_e2m3fn", (2, 4)),
        ((0,), "int4", (0,)),
        ((2, 0), "int4", (2, 0)),
    ],
)
def test_bytes_are_packed_elements(shape, new, expected):
    """Bytes are viewed as the packed elements that fit into the last axis."""
    x = ix.asarray(np.zeros(shape, "u1"))

    found = x.view(new)

    assert (found.shape, found.dtype == new, found.is_contiguous()) == (expected, True, True)
    assert found.view("u1").shape == shape


@pytest.mark.parametrize(
    ("array", "new", "expected"),
    [
        (np.zeros((4, 4), "u1")[:, :2], "int4", (ix.UnsupportedDTypeError, "DLP-DTYPE-5")),
        (np.zeros((4, 4), "u1").T[1:], "int4", (ix.UnsupportedDTypeError, "DLP-DTYPE-5")),
        (np.zeros((4, 4), "u1"), "float6_e2m3fn", (ix.ViewError, "IX-VIEW-1")),
        (np.zeros((), "u1"), "int4", (ix.ViewError, "IX-VIEW-1")),
        (ix.from_pointer(0x1000, (3,), "int4"), "u1", (ix.ViewError, "IX-VIEW-1")),
        (
            ix.from_pointer(0, (0, sys.maxsize // 8 + 1), "u1"),
            "uint1",
            (ix.ExchangeError, "DLP-SHAPE-4"),
        ),
    ],
    ids=["rows with gaps", "columns", "no whole elements", "no axes", "no whole bytes", "64 bits"],
)
def test_bytes_that_are_no_packed_elements_are_refused(array, new, expected):
    """Gaps, a part of an element or of a byte, and more bits than 64-bit numbers count."""
    assert refusal(ix.asarray(array), new) == expected
    assert ix.from_pointer(0x1000, (3,), "int4").view("uint4").shape == (3,)


# ---------------------------------------------------------------- what a view preserves


@pytest.mark.parametrize("readonly", [True, False, None])
def test_a_view_is_as_read_only_as_its_array(readonly):
    """A view preserves read-only, writable and unknown."""
    x = ix.from_buffer(bytearray(8))
    x._flags = None if readonly is None else int(readonly)

    assert x.view("f4").readonly is readonly
    assert (x.dtype == "uint8", x.shape) == (True, (8,))


def test_memory_of_a_device_is_not_touched():
    """Views of device memory do not read it; the offset from a handle is kept, in bytes."""
    x = ix.from_pointer(0xDEAD000, (2, 4), "float32", device="cuda:1", readonly=True)
    handle = ix.from_pointer(0x1000, (8,), "float32", device="opencl:0")[2:]

    found, other = x.view("uint8"), handle.view("uint8")

    assert (found.ptr, found.shape, found.device == "cuda:1") == (0xDEAD000, (2, 16), True)
    assert found.readonly is True
    assert (other.ptr, other.byte_offset, other.shape) == (0x1000, 8, (24,))


def test_elements_that_would_not_be_aligned_are_refused():
    """Less aligned elements are refused on devices too, and for handles by their offset."""
    x = ix.from_buffer(bytearray(17))
    start = 1 + -x.ptr % 8
    odd = x[start : start + 8]
    handle = ix.from_pointer(0x1001, (16,), "u1", device="opencl:0")

    assert refusal(odd, "f4") == (ix.ViewError, "IX-VIEW-2")
    assert refusal(handle[1:9], "f4") == (ix.ViewError, "IX-VIEW-2")
    assert refusal(ix.from_pointer(0x1001, (8,), "u1", device="cuda:0"), "f4")[1] == "IX-VIEW-2"
    assert (odd.view("i1").shape, odd.view("bool").shape) == ((8,), (8,))
    assert handle[4:8].view("f4").shape == (1,)
    assert odd[:0].view("f4").shape == (0,)


def test_what_came_unaligned_is_viewed_as_what_is_no_more_aligned():
    """The producer answers for where its elements are."""
    block = np.frombuffer(bytearray(17), "f8", offset=1, count=2)
    x = ix.asarray(block)

    assert x.view("i8").ptr == block.ctypes.data
    assert x.view("f4").ptr == block.ctypes.data


@pytest.mark.parametrize(
    "dtype", [kind for kind in all_dtypes() if kind.typestr is not None], ids=str
)
def test_alignments_are_those_of_numpy(dtype):
    """Alignments are those of NumPy and C."""
    assert alignment_of(dtype) == np.dtype(str(dtype.typestr)).alignment


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (None, (ix.ArgumentError, "IX-ARGUMENT-1")),
        (3, (ix.ArgumentError, "IX-ARGUMENT-1")),
        ("no type", (ix.UnsupportedDTypeError, "DLP-DTYPE-1")),
        ("float", (ix.UnsupportedDTypeError, "DLP-DTYPE-1")),
        (">f4", (ix.UnsupportedDTypeError, "DLP-DTYPE-3")),
        ("|V4", (ix.UnsupportedDTypeError, "CAI-TYPESTR-2")),
        ((2, 0), (ix.UnsupportedDTypeError, "DLP-DTYPE-2")),
    ],
    ids=str,
)
def test_what_is_no_type_is_refused(dtype, expected):
    """A value that is no type is refused, the error names the call, and the array is unchanged."""
    x = ix.from_buffer(bytearray(8))

    assert refusal(x, dtype) == expected
    assert (x.dtype == "uint8", x.shape) == (True, (8,))


# ---------------------------------------------------------------- bytes


def test_bytes_of_packed_elements_are_those_in_memory():
    """The bytes of packed elements include the unused bits of the last one."""
    block = (ctypes.c_ubyte * 2)(0x21, 0xF3)
    packed = ix.from_pointer(ctypes.addressof(block), (3,), "int4", owner=block)

    assert packed.tobytes() == b"\x21\xf3"


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    ("device", "error"),
    [("cuda:0", ix.DriverUnavailableError), ("vulkan:0", ix.UnsupportedDeviceError)],
)
def test_bytes_of_unreadable_device_memory_are_refused(device, error):
    """Bytes of unreadable device memory are refused, as a copy is."""
    with pytest.raises(error, match=r"^Array\.tobytes\(\)"):
        ix.from_pointer(0xDEAD000, (2,), "f4", device=device).tobytes()
