"""Addresses of the memory of memoryviews."""

from __future__ import annotations

import array
import ctypes
import sys

import pytest

from interchange.abi.buffers import Py_buffer, buffer_address


def test_the_address_of_a_ctypes_array():
    """The address is that of the memory of the exporting object."""
    block = (ctypes.c_int32 * 4)()

    assert buffer_address(memoryview(block)) == ctypes.addressof(block)


def test_the_address_of_an_array_array():
    """The address equals the one that `array.array` reports."""
    values = array.array("d", [1.0, 2.0])

    assert buffer_address(memoryview(values)) == values.buffer_info()[0]


@pytest.mark.parametrize(("start", "expected"), [(0, 0), (3, 12), (7, 28)])
def test_the_address_of_a_slice_is_that_of_its_first_element(start, expected):
    """A slice begins where its first element is [bytes]."""
    view = memoryview((ctypes.c_int32 * 8)())

    assert buffer_address(view[start:]) - buffer_address(view) == expected


def test_the_address_of_a_reversed_view_is_that_of_its_first_element():
    """With a negative stride the first element is the last in memory."""
    view = memoryview(bytearray(10))

    assert buffer_address(view[::-1]) - buffer_address(view) == 9


def test_read_only_memory_has_an_address_too():
    """A read-only exporter is asked for a read-only buffer."""
    data = b"read only"

    address = buffer_address(memoryview(data))

    assert ctypes.string_at(address, len(data)) == data


def test_nothing_is_kept():
    """No export and no reference remains afterwards, so that the exporter can be resized."""
    data = bytearray(4)
    view = memoryview(data)
    before = sys.getrefcount(view), sys.getrefcount(data)

    buffer_address(view)
    after = sys.getrefcount(view), sys.getrefcount(data)
    view.release()
    data.extend(b"more")

    assert after == before
    assert len(data) == 8


def test_a_released_view_has_no_address():
    """A released memoryview raises what Python raises."""
    view = memoryview(b"abc")
    view.release()

    with pytest.raises(ValueError, match="released"):
        buffer_address(view)


def test_what_has_no_buffer_is_a_type_error():
    """An object without the buffer protocol raises what Python raises."""
    with pytest.raises(TypeError, match="bytes-like"):
        buffer_address(object())


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="80 bytes are of 64 bits")
def test_the_struct_has_the_size_of_the_c_struct():
    """Eleven fields, two ints side by side: 80 bytes on every 64-bit platform."""
    assert ctypes.sizeof(Py_buffer) == 80
