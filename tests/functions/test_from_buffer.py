"""`from_buffer`: everything of the standard library that has a buffer, and every odd buffer."""

from __future__ import annotations

import array
import ctypes
import gc
import io
import mmap
import struct
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix

try:
    from _testbuffer import ND_PIL, ND_WRITABLE, ndarray
except ImportError:  # some builds of CPython come without their test modules
    ndarray = None

needs_testbuffer = pytest.mark.skipif(ndarray is None, reason="this Python has no _testbuffer")


def refusal(error, value):
    """Return the rule that a buffer is refused by, with exactly that class."""
    with pytest.raises(error) as caught:
        ix.from_buffer(value)
    assert type(caught.value) is error
    assert str(caught.value).startswith("from_buffer(): ")
    return caught.value.rule


# ---------------------------------------------------------------- the standard library


@pytest.mark.parametrize(
    ("make", "readonly"),
    [
        (lambda: b"abcd", True),
        (lambda: bytearray(b"abcd"), False),
        (lambda: memoryview(b"abcd"), True),
        (lambda: memoryview(bytearray(b"abcd")), False),
        (lambda: memoryview(bytearray(b"abcd")).toreadonly(), True),
        (lambda: io.BytesIO(b"abcd").getbuffer(), False),
        (lambda: array.array("B", b"abcd"), False),
        (lambda: (ctypes.c_ubyte * 4)(*b"abcd"), False),
    ],
    ids=["bytes", "bytearray", "view", "writable", "read-only", "BytesIO", "array", "ctypes"],
)
def test_four_bytes_come_in_from_anywhere(make, readonly):
    """Four bytes are four uint8 from every exporter, writable exactly if its buffer is."""
    value = make()

    found = ix.from_buffer(value)

    assert (found.shape, found.strides, found.dtype.name) == ((4,), (1,), "uint8")
    assert (found.readonly, str(found.device)) == (readonly, "cpu")
    assert found.owner is value
    assert bytes(found.tolist()) == b"abcd"


INTEGERS = {code: ("int" if code.islower() else "uint") for code in "bBhHiIlLqQ"}


FLOATING = {"e": "float", "f": "float", "d": "float", "Zf": "complex", "Zd": "complex"}
NUMBERS = sorted({*INTEGERS, *FLOATING}.intersection(array.typecodes))  # from 3.15 on all of them


@pytest.mark.parametrize("code", NUMBERS)
def test_every_number_of_array_array_comes_in(code):
    """All numeric type codes of `array.array` are imported with their size on this machine."""
    value = array.array(code, [1, 2, 3])

    found = ix.from_buffer(value)

    kind = {**INTEGERS, **FLOATING}[code]
    assert found.dtype.name == f"{kind}{8 * value.itemsize}"
    assert found.tolist() == value.tolist()
    assert found.ptr == value.buffer_info()[0]


@pytest.mark.parametrize("code", sorted(set(array.typecodes) - {*NUMBERS}))
@pytest.mark.filterwarnings("ignore:The 'u' type code is deprecated")
def test_text_in_array_array_is_refused(code):
    """Text in `array.array` is refused: characters are not numbers."""
    assert refusal(ix.UnsupportedDTypeError, array.array(code, "abc")) == "BUF-FORMAT-1"


CTYPES = {
    ctypes.c_bool: "bool",
    ctypes.c_byte: "int8",
    ctypes.c_ubyte: "uint8",
    ctypes.c_char: "uint8",
    ctypes.c_short: "int16",
    ctypes.c_ushort: "uint16",
    ctypes.c_int: "int32",
    ctypes.c_uint: "uint32",
    ctypes.c_long: f"int{8 * ctypes.sizeof(ctypes.c_long)}",
    ctypes.c_ulong: f"uint{8 * ctypes.sizeof(ctypes.c_ulong)}",
    ctypes.c_longlong: "int64",
    ctypes.c_ulonglong: "uint64",
    ctypes.c_size_t: f"uint{8 * ctypes.sizeof(ctypes.c_size_t)}",
    ctypes.c_float: "float32",
    ctypes.c_double: "float64",
}
if hasattr(ctypes, "c_double_complex"):  # from CPython 3.14 on
    CTYPES |= {ctypes.c_float_complex: "complex64", ctypes.c_double_complex: "complex128"}


@pytest.mark.parametrize("element", CTYPES, ids=lambda element: element.__name__)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)])
def test_every_number_of_ctypes_comes_in(element, shape):
    """Scalars, arrays and arrays of arrays."""
    kind = element
    for extent in reversed(shape):
        kind = kind * extent
    value = kind()

    found = ix.from_buffer(value)

    assert (found.shape, found.dtype.name, found.readonly) == (shape, CTYPES[element], False)
    assert found.ptr == ctypes.addressof(value)
    assert found.is_contiguous()


class Pair(ctypes.Structure):
    """A struct of two numbers."""

    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


@pytest.mark.parametrize(
    "element",
    [
        Pair,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_wchar,
        ctypes.py_object,
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_int.__ctype_be__ if sys.byteorder == "little" else ctypes.c_int.__ctype_le__,
    ],
    ids=lambda element: element.__name__,
)
def test_other_elements_of_ctypes_are_refused(element):
    """Structs, pointers, objects, characters and foreign byte order."""
    assert refusal(ix.UnsupportedDTypeError, (element * 3)()) == "BUF-FORMAT-1"


def test_a_mapped_file_comes_in(tmp_path):
    """A file's pages are memory, too."""
    path = tmp_path / "numbers"
    path.write_bytes(struct.pack("=4i", 1, 2, 3, 4))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        found = ix.from_buffer(memoryview(pages).cast("i"))

        assert (found.tolist(), found.readonly) == ([1, 2, 3, 4], False)

        del found
        gc.collect()


@pytest.mark.parametrize(
    ("block", "change"),
    [(mmap.mmap(-1, 16), "close"), (bytearray(16), "clear"), (bytearray(16), "pop")],
    ids=["closed", "cleared", "resized"],
)
def test_memory_cannot_be_closed_or_resized_under_an_array(block, change):
    """The buffer is held as long as the last view of an Array, and no longer."""
    view = ix.from_buffer(block)[2:4]
    with pytest.raises(BufferError):
        getattr(block, change)()

    del view
    gc.collect()

    getattr(block, change)()


# ---------------------------------------------------------------- layouts


@given(st.integers(0, 40), *[st.one_of(st.none(), st.integers(-45, 45))] * 2, st.integers(-7, 7))
def test_slices_of_a_memoryview_come_in_as_they_lie(length, start, stop, step):
    """Reversed, with gaps, empty: elements are where the memoryview has them."""
    view = memoryview(bytes(range(length)))[start : stop : step or None]

    found = ix.from_buffer(view)

    assert (found.shape, found.tolist()) == (view.shape, view.tolist())
    assert found.size == 0 or found.ptr == ix.from_buffer(view[:1]).ptr


@pytest.mark.parametrize("code", "bBhHiIlLqQfd?")
@pytest.mark.parametrize("shape", [[24], [2, 12], [2, 3, 4]])
def test_casts_of_a_memoryview_come_in(code, shape):
    """Any format and shape that a memoryview can be cast to."""
    size = struct.calcsize(code)
    view = memoryview(bytearray(24 * size)).cast("B").cast(code, shape)

    found = ix.from_buffer(view)

    assert (found.shape, found.itemsize) == (tuple(shape), size)
    assert found.tolist() == view.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,) * 32])
def test_unusual_shapes_are_imported(shape):
    """Buffers of no axes, no elements, which have the address 0, and many axes are imported."""
    found = ix.from_buffer(np.ones(shape))

    assert (found.shape, found.tolist()) == (shape, np.ones(shape).tolist())
    assert (found.ptr == 0) is (found.size == 0)


def test_strides_that_are_no_whole_elements_are_refused():
    """DLPack counts elements."""
    value = np.zeros(3, np.dtype([("a", "i4"), ("b", "i2")]))["a"]

    assert refusal(ix.CopyNeededError, value) == "DLP-STRIDES-3"


@needs_testbuffer
def test_suboffsets_are_refused():
    """Suboffsets are refused, since such rows have no strides."""
    value = ndarray(list(range(6)), shape=[2, 3], format="i", flags=ND_PIL)
    assert memoryview(value).suboffsets

    assert refusal(ix.CopyNeededError, value) == "BUF-SUBOFFSETS-1"


@needs_testbuffer
def test_a_foreign_exporter_comes_in():
    """CPython's own test exporter, with strides of both signs and an offset."""
    value = ndarray(
        list(range(12)), shape=[2, 3], strides=[-24, 8], offset=24, format="i", flags=ND_WRITABLE
    )

    found = ix.from_buffer(value)

    assert (found.strides, found.readonly) == ((-6, 2), False)
    assert found.tolist() == memoryview(value).tolist()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "value",
    [None, 5, "text", [1, 2], frozenset(), (), {}, print, bytes, 2.5],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_what_has_no_buffer_has_no_protocol(value):
    """The error is a TypeError, too."""
    assert refusal(ix.NoProtocolError, value) == "BUF-1"


@pytest.mark.parametrize(
    ("value", "end"),
    [(memoryview(bytearray(4)), "release"), (mmap.mmap(-1, 16), "close")],
    ids=["memoryview", "file"],
)
def test_memory_that_was_released_is_refused(value, end):
    """A released memoryview and a closed mapping are refused: they have no memory."""
    getattr(value, end)()

    assert refusal(ix.ExchangeError, value) == "BUF-1"


@pytest.mark.parametrize(
    "dtype",
    [*(">i4", ">f8", ">c16", "S3", "U3", "V4", "g", "G", "O"), "i4,", "i4,f4"],
)
def test_elements_that_are_no_plain_numbers_are_refused(dtype):
    """Foreign byte order, text, void, long doubles, objects, structs."""
    assert refusal(ix.UnsupportedDTypeError, np.zeros(3, dtype)) == "BUF-FORMAT-1"


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[ns]", ml_dtypes.bfloat16], ids=str)
def test_what_refuses_its_own_buffer_is_refused(dtype):
    """An exporter that refuses its own buffer is quoted, as NumPy for times and ml_dtypes."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_buffer(np.zeros(3, dtype))

    assert caught.value.rule == "BUF-1"
    assert "cannot include dtype" in caught.value.what
