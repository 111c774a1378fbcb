"""Addresses of the memory of memoryviews."""

from __future__ import annotations

import array
import ctypes
import sys

import pytest

from interchange.abi.buffers import Py_buffer, buffer_address


def test_the_address_is_that_of_the_exporter():
    """The address is that of the memory, as ctypes and `array.array` report it."""
    block, values = (ctypes.c_int32 * 4)(), array.array("d", [1.0, 2.0])

    assert buffer_address(memoryview(block)) == ctypes.addressof(block)
    assert buffer_address(memoryview(values)) == values.buffer_info()[0]


@pytest.mark.parametrize(
    ("part", "expected"),
    [(slice(0, None), 0), (slice(3, None), 12), (slice(7, None), 28), (slice(None, None, -1), 28)],
)
def test_the_address_of_a_slice_is_that_of_its_first_element(part, expected):
    """A slice begins where its first element is [bytes], reversed at the last in memory."""
    view = memoryview((ctypes.c_int32 * 8)())

    assert buffer_address(view[part]) - buffer_address(view) == expected


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


def test_what_has_no_buffer_raises_what_python_raises():
    """A released memoryview, and an object without the buffer protocol."""
    view = memoryview(b"abc")
    view.release()

    for x, error, said in ((view, ValueError, "released"), (object(), TypeError, "bytes-like")):
        with pytest.raises(error, match=said):
            buffer_address(x)


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="80 bytes are of 64 bits")
def test_the_struct_has_the_size_of_the_c_struct():
    """Eleven fields, two ints side by side: 80 bytes on every 64-bit platform."""
    assert ctypes.sizeof(Py_buffer) == 80
