"""Buffers out: `as_memoryview` everywhere, ``__buffer__`` from Python 3.12 on."""

from __future__ import annotations

import gc
import io
import sys

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers

needs_buffer = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python calls __buffer__ from 3.12 on (PEP 688)"
)

WRITABLE, SIMPLE, FULL_READ_ONLY, FULL = 0x1, 0x0, 0x11C, 0x11D  # PyBUF_* of the C API

PLAIN = {
    "?": "?",
    "i1": "b",
    "i2": "h",
    "i4": "il",
    "i8": "lq",
    "u1": "B",
    "u2": "H",
    "u4": "IL",
    "u8": "LQ",
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "c8": ("Zf",),
    "c16": ("Zd",),
}


def unknown():
    """Return an array whose writability is unknown."""
    return ix.from_dlpack(producers.host().but(generation="legacy"))


# ---------------------------------------------------------------- as_memoryview


@pytest.mark.parametrize("dtype", PLAIN)
def test_a_memoryview_shows_what_the_array_is(dtype):
    """Shape, strides, format and memory are those of the array."""
    memory = np.zeros((4, 6), dtype)[::2, ::-1]

    view = ix.asarray(memory).as_memoryview()

    assert (view.shape, view.strides) == (memory.shape, memory.strides)
    assert view.format in PLAIN[dtype]
    assert ix.from_buffer(view).ptr == memory.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1), (2,) * 6])
def test_a_memoryview_has_any_number_of_axes(shape):
    """Memoryviews have any number of axes: none, many, and no elements."""
    memory = np.ones(shape)

    view = ix.asarray(memory).as_memoryview()

    assert (view.shape, view.tolist()) == (shape, memory.tolist())


def test_writing_to_a_memoryview_writes_to_the_array():
    """The memory is shared."""
    array = ix.asarray(np.zeros(3, "u1"))

    array.as_memoryview()[1] = 7

    assert array.tolist() == [0, 7, 0]


@pytest.mark.parametrize(
    "make", [lambda: ix.from_buffer(b"abc"), unknown], ids=["read-only", "unknown"]
)
def test_a_memoryview_is_writable_only_where_that_is_known(make):
    """A memoryview is read-only if it is unknown whether the memory is writable."""
    assert make().as_memoryview().readonly is True


def test_a_memoryview_keeps_the_memory_alive():
    """The array may go, the memory stays."""
    source = producers.host((3,), "int16")
    view = ix.from_dlpack(source).as_memoryview()
    gc.collect()

    assert (source.deleter_calls, view.tolist()) == (0, [0, 1, 2])

    view.release()
    del view
    gc.collect()

    assert source.deleter_calls == 1


@pytest.mark.parametrize(
    "dtype",
    [*("bfloat16", "float8_e5m2", "int4", "int4_padded", "float32x2", "opaque64", "complex32")],
)
def test_an_element_type_without_a_format_is_refused(dtype):
    """An element type without a PEP 3118 format is refused."""
    block = bytearray(64)
    array = ix.from_pointer(ix.from_buffer(block).ptr, (4,), ix.DType.of(dtype), owner=block)

    with pytest.raises(ix.UnsupportedDTypeError, match="BUF-FORMAT-2"):
        array.as_memoryview()


# ---------------------------------------------------------------- __buffer__


@pytest.mark.parametrize(
    "make", [lambda: ix.from_buffer(b"abc"), unknown], ids=["read-only", "unknown"]
)
def test_a_request_to_read_is_met_and_one_to_write_is_refused(make):
    """A writable buffer is given of memory that is known to be writable only."""
    for flags in (SIMPLE, FULL_READ_ONLY):
        assert make().__buffer__(flags).readonly is True
    for flags in (WRITABLE, FULL):
        with pytest.raises(ix.ReadOnlyError, match="DLP-RO-3"):
            make().__buffer__(flags)
    assert ix.from_buffer(bytearray(3)).__buffer__(FULL).readonly is False


@needs_buffer
def test_python_takes_an_array_for_a_buffer():
    """memoryview() and binary files accept arrays."""
    array = ix.from_buffer(bytearray(b"abcdef"))

    assert memoryview(array).tolist() == array.tolist()
    assert io.BytesIO().write(array) == 6


def shapes_of(memory):
    """Return memory with other shapes and strides, and without axes."""
    return (memory, memory[::-2], memory[:0], memory.reshape(2, 3).T, memory[3:4], memory[3])


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bytes_of_an_array_are_its_memory(dtype, kind):
    """The memory in C order; `bytearray` needs a buffer request, or elements that are bytes."""
    for memory in shapes_of(np.arange(6).astype(dtype))[: None if kind is bytes else -1]:
        array = ix.from_dlpack(np.asarray(memory))
        try:
            found = kind(array)
        except (ValueError, TypeError):
            assert kind is bytearray
            assert sys.version_info < (3, 12)
            found = array.tobytes()

        assert found == array.tobytes() == memory.tobytes()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="bytearray() asks for a buffer")
def test_a_bytearray_that_would_be_of_elements_is_refused():
    """The error says how to copy the memory."""
    with pytest.raises(ix.ViewError, match=r"bytearray\(x\.tobytes\(\)\)") as caught:
        bytearray(ix.from_dlpack(np.arange(3)))

    assert caught.value.rule == "IX-ELEMENT-1"


def test_bytes_of_what_has_no_buffer_are_refused():
    """`bytes` of an array without a buffer is refused by the same rules as the buffer."""
    for array, rule in (
        (ix.from_pointer(8, (1,), "float32", device="cuda:0"), "DLP-DEV-6"),
        (ix.from_buffer(bytearray(4), dtype="bfloat16"), "BUF-FORMAT-2"),
    ):
        with pytest.raises(ix.ExchangeError, match=rule):
            bytes(array)


@needs_buffer
def test_reading_into_an_array_writes_writable_memory_alone():
    """The standard library can fill an array, but not one of read-only memory."""
    array = ix.from_buffer(bytearray(3))

    io.BytesIO(b"xyz").readinto(array)

    assert bytes(array) == b"xyz"
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"xyz").readinto(ix.from_buffer(b"abc"))


@needs_buffer
def test_arrays_are_buffers_to_the_type_system():
    """Arrays are instances of collections.abc.Buffer."""
    from collections.abc import Buffer

    assert issubclass(ix.Array, Buffer)


@needs_buffer
def test_a_refusal_within_a_refusal_names_one_rule():
    """The rule id appears once, at the end of the message."""
    array = ix.from_pointer(8, (1,), "float32", device="cuda:0")

    with pytest.raises(ix.ExchangeError, match=r"the memory is on cuda:0\).*\[BUF-1\]$") as caught:
        ix.from_buffer(array)
    assert str(caught.value).count("[") == 1


@needs_buffer
def test_an_array_without_a_format_is_refused_with_the_export_of_its_bits():
    """The error for a type that has a letter in NumPy but no dtype says how to export its bits."""
    array = ix.from_buffer(bytearray(4), dtype="bfloat16")

    with pytest.raises(ix.ExchangeError, match=r"x\.view\('uint16'\)"):
        ix.from_buffer(array)
    assert ix.from_buffer(array.view("uint16")).shape == (2,)
