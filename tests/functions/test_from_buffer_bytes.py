"""`from_buffer` with dtype, shape, offset and readonly: bytes of any holder become any array."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import re
import struct
from multiprocessing import shared_memory

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._array.dtype_views import width_of
from interchange._types.dtypes import all_dtypes

PLAIN = ["b1", "i1", "u1", "i2", "u2", "f2", "i4", "f4", "i8", "f8", "c8", "c16"]


def refusal(value, **keywords):
    """Return the class and the rule of a call's refusal; the buffer is released."""
    with pytest.raises(ix.InterchangeError) as caught:
        ix.from_buffer(value, **keywords)
    assert caught.value.call == "from_buffer()"
    return type(caught.value), caught.value.rule


WRONG = (ix.ArgumentError, "IX-ARGUMENT-1")
OUTSIDE = (ix.ViewError, "IX-BUFFER-1")


# ---------------------------------------------------------------- who holds the bytes


def test_a_mapped_file_is_read_as_numbers(tmp_path):
    """A mapped file is read from an offset; writes through the Array are in the file."""
    path = tmp_path / "numbers"
    path.write_bytes(b"header..." + bytes(7) + struct.pack("<4f", 1, 2, 3, 4))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        found = ix.from_buffer(pages, dtype="<f4", shape=(2, -1), offset=16)
        assert (found.tolist(), found.readonly) == ([[1, 2], [3, 4]], False)
        found[0, 0] = 7.0
        del found
        gc.collect()

    assert struct.unpack("<f", path.read_bytes()[16:20]) == (7.0,)


def test_a_file_mapped_to_be_read_is_read_only(tmp_path):
    """A file mapped for reading is read-only."""
    path = tmp_path / "numbers"
    path.write_bytes(bytes(16))
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages,
    ):
        found = ix.from_buffer(pages, dtype="float64")
        assert (found.readonly, found.shape) == (True, (2,))
        assert refusal(pages, dtype="float64", readonly=False) == (ix.ReadOnlyError, "DLP-RO-3")
        del found
        gc.collect()


def test_shared_memory_is_shared():
    """Two views of one block, under different types; it cannot be closed under them."""
    block = shared_memory.SharedMemory(create=True, size=16)
    try:
        numbers = ix.from_buffer(block.buf, dtype="int32", shape=4)
        assert numbers.owner is block.buf
        numbers[0] = 1
        assert ix.from_buffer(block.buf, dtype="uint8", shape=(4,)).tolist() == [1, 0, 0, 0]
        with pytest.raises(BufferError):
            block.close()
        del numbers
        gc.collect()
    finally:
        block.close()
        block.unlink()


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview], ids=lambda make: make.__name__)
def test_a_message_is_read_from_an_offset(make):
    """A header of 8 bytes, and bfloat16 behind it."""
    numbers = np.array([[1.5, -2.0], [0.5, 3.0]], ml_dtypes.bfloat16)

    found = ix.from_buffer(
        make(bytes(8) + numbers.tobytes()), dtype="bfloat16", shape=(2, 2), offset=8
    )

    assert (found.dtype == "bfloat16", found.tolist()) == (True, numbers.tolist())


def test_a_buffer_of_arrow_is_read_as_numbers(need):
    """A buffer of Arrow, which has a size and no element type, is read as numbers."""
    need("pyarrow")
    import pyarrow as pa

    column = pa.array([1.0, 2.0, 3.0], pa.float32())

    buffer = column.buffers()[1]

    found = ix.from_buffer(buffer, dtype="float32", shape=len(column))

    assert (found.tolist(), found.ptr) == ([1.0, 2.0, 3.0], buffer.address)
    assert found.readonly is not buffer.is_mutable
    assert ix.from_buffer(pa.py_buffer(bytes(8)), dtype="float32").readonly is True


class Pair(ctypes.Structure):
    """A struct of two numbers, which no element type is."""

    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


def test_elements_that_are_none_of_ours_are_read_as_bytes():
    """Elements without a DType can be reinterpreted as bytes."""
    pairs = (Pair * 2)(Pair(1, 2.0), Pair(3, 4.0))

    assert refusal(pairs) == (ix.UnsupportedDTypeError, "BUF-FORMAT-1")
    assert ix.from_buffer(pairs, dtype="int32").tolist()[::2] == [1, 3]
    assert ix.from_buffer(pairs, dtype="uint8").tobytes() == bytes(pairs)


# ---------------------------------------------------------------- element types


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_bytes_are_read_as_every_type(dtype):
    """Bytes are read as every type, packed ones too, and exported unchanged."""
    block = bytes(range(48))

    found = ix.from_buffer(block, dtype=dtype)

    assert found.shape == (8 * 48 // width_of(dtype),)
    assert (found.dtype, found.readonly, found.tobytes()) == (dtype, True, block)


@given(st.data())
def test_elements_are_where_numpy_has_them(data):
    """Any type, shape and offset within the buffer agrees with ``numpy.frombuffer``."""
    block = np.random.default_rng(1).bytes(512)  # 27 elements of 16 bytes, from the fourth on
    dtype = np.dtype(data.draw(st.sampled_from(PLAIN)))
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    start = data.draw(st.integers(0, 4)) * dtype.alignment
    count = int(np.prod(shape))
    expected = np.frombuffer(block, dtype, count, start).reshape(shape)

    found = ix.from_buffer(block, dtype=dtype, shape=shape, offset=start)

    assert (found.shape, found.tobytes()) == (shape, expected.tobytes())
    assert not count or found.ptr == expected.ctypes.data


def test_its_own_elements_are_read_under_another_shape():
    """Without a dtype the buffer's own element type is used."""
    numbers = array.array("h", range(6))

    assert ix.from_buffer(numbers, shape=(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ix.from_buffer(numbers, shape=(-1, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ix.from_buffer(numbers, offset=4).tolist() == [2, 3, 4, 5]
    assert ix.from_buffer(numbers, shape=2, offset=2).tolist() == [1, 2]


def test_more_bytes_than_elements_are_left_alone():
    """A shape without -1 selects the first elements; an empty shape one, at the offset."""
    assert ix.from_buffer(bytes(11), dtype="f4", shape=(2,)).shape == (2,)
    assert ix.from_buffer(bytes(2), dtype="int4", shape=(3,)).shape == (3,)
    assert ix.from_buffer(b"abcd", dtype="u1", shape=(), offset=2).item() == ord("c")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(None, (0,)), ((0,), (0,)), ((0, 3), (0, 3)), (-1, (0,)), ((2, 0), (2, 0))],
)
def test_nothing_is_read_of_nothing(shape, expected):
    """An empty array is read from no bytes, also at the end of a buffer."""
    for block in (b"", b"abc"):
        found = ix.from_buffer(block, dtype="f8", shape=shape, offset=len(block))
        assert (found.shape, found.ptr) == (expected, 0)


# ---------------------------------------------------------------- who may write


@pytest.mark.parametrize("keywords", [{}, {"dtype": "u1"}, {"shape": 4}], ids=str)
def test_the_buffer_says_who_may_write_unless_the_caller_takes_it_away(keywords):
    """The caller can make an Array read-only, and cannot make it writable."""
    for block, readonly in ((b"abcd", True), (bytearray(4), False)):
        assert ix.from_buffer(block, **keywords).readonly is readonly
        assert ix.from_buffer(block, readonly=True, **keywords).readonly is True
    assert ix.from_buffer(bytearray(4), readonly=False, **keywords).readonly is False
    assert refusal(b"abcd", readonly=False, **keywords) == (ix.ReadOnlyError, "DLP-RO-3")


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        *(({"offset": offset}, OUTSIDE) for offset in (-1, 17, 2**70)),
        *(({"offset": offset}, WRONG) for offset in (1.0, "1", None, True, np.True_)),
        *(
            ({"shape": shape}, OUTSIDE)
            for shape in [(17,), (-2,), (-1, -1), (3, -1), (0, -1), (2**62, 4)]
        ),
        ({"shape": (0, 2**62, 4)}, (ix.ExchangeError, "DLP-SHAPE-4")),
        ({"shape": (1,) * 65}, (ix.ExchangeError, "DLP-SHAPE-1")),
        *(({"shape": shape}, WRONG) for shape in ("4", 4.0, (4.0,), {4: 4})),
        ({"dtype": 4}, WRONG),
        *(
            ({"dtype": dtype}, (ix.UnsupportedDTypeError, "DLP-DTYPE-1"))
            for dtype in ("no type", "float", "O")
        ),
        ({"dtype": ">f4"}, (ix.UnsupportedDTypeError, "DLP-DTYPE-3")),
        ({"dtype": "|V4"}, (ix.UnsupportedDTypeError, "CAI-TYPESTR-2")),
        ({"dtype": "f8", "shape": 3}, OUTSIDE),
        ({"dtype": "f4", "offset": 14}, OUTSIDE),
        ({"dtype": "f4", "offset": 14, "shape": 1}, OUTSIDE),
        ({"dtype": "f4", "offset": 2, "shape": 1}, (ix.ViewError, "IX-VIEW-2")),
        ({"dtype": "c16", "offset": 4, "shape": 0}, None),
        ({"dtype": "float6_e2m3fn", "offset": 1, "shape": (3, -1)}, OUTSIDE),
        ({"dtype": "float6_e2m3fn"}, OUTSIDE),
        ({"dtype": "int4", "shape": 33}, OUTSIDE),
        *(({"readonly": value}, WRONG) for value in (1, "yes")),
    ],
    ids=str,
)
def test_each_argument_is_refused_by_its_rule(keywords, expected):
    """Wrong types, extents beyond the buffer (IX-BUFFER-1), misaligned and partial elements."""
    block = bytearray(16)

    if expected is None:
        assert ix.from_buffer(block, **keywords).size == 0
    else:
        assert refusal(block, **keywords) == expected
    gc.collect()
    block.append(0)  # no other reference to the buffer

    assert len(block) == 17


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("dtype", [">i4", np.dtype(">f4"), ">c8"], ids=str)
def test_the_fix_of_foreign_byte_order_swaps_the_bytes(dtype, offset):
    """The fix is a NumPy call that swaps the bytes, and its result is accepted."""
    x = np.arange(4).astype(dtype).tobytes()
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.from_buffer(x, dtype=dtype, offset=offset)
    (call,) = re.findall("`(.+)`", caught.value.hint)

    swapped = ix.asarray(eval(call))  # noqa: S307 - ours

    assert swapped.tolist() == np.frombuffer(x, dtype, offset=offset).tolist()


@pytest.mark.parametrize("dtype", [">f16", ">f3", ">M8[s]", ">x4"])
def test_bytes_are_not_swapped_for_types_that_are_not_known(dtype):
    """The fix would end in another error."""
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.from_buffer(bytes(32), dtype=dtype)

    assert "frombuffer" not in str(caught.value)


@pytest.mark.parametrize("keywords", [{"dtype": "u1"}, {"shape": 2}, {"offset": 1}], ids=str)
def test_bytes_that_are_not_contiguous_are_not_reinterpreted(keywords):
    """Gaps, another order; the fix copies them."""
    for block in (memoryview(b"abcdef")[::2], np.zeros((2, 3), "u1").T):
        assert refusal(block, **keywords) == (ix.ExchangeError, "IX-BUFFER-2")
        assert ix.from_buffer(bytes(block), **keywords).readonly is True


def test_reinterpreted_elements_are_aligned():
    """Reinterpreted elements must be aligned; a buffer's own elements need not be."""
    odd = memoryview(bytearray(struct.pack("<x2f", 1, 2)))[1:].cast("f")

    assert ix.from_buffer(odd).tolist() == ix.asarray(odd).tolist() == [1, 2]
    for keywords in ({"shape": 2}, {"dtype": "f4"}, {"offset": 4}):
        assert refusal(odd, **keywords) == (ix.ViewError, "IX-VIEW-2")


def test_memory_of_a_device_has_no_buffer():
    """The host cannot read it."""
    device = ix.from_pointer(0xDEAD000, (4,), "u1", device="cuda:0")

    assert refusal(device, dtype="u1")[0] in {ix.NoProtocolError, ix.ExchangeError}
    assert refusal(ix.to_cai(device), dtype="u1") == (ix.NoProtocolError, "BUF-1")


def test_masked_elements_are_refused():
    """Masked elements are refused, whatever the bytes are read as."""
    masked = np.ma.masked_array(np.zeros(2, "u1"), [True, False])

    assert refusal(masked, dtype="u1") == (ix.ExchangeError, "AI-MASK-1")
