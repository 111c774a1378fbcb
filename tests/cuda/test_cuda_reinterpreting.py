"""`Array.view` and `Array.tobytes` of device memory with pending writes."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096


@pytest.fixture
def busy(cuda):
    """Return an Array of memory that is filled with ones on a stream, and the stream."""
    ptr, stream = cuda.memory(), cuda.stream()
    cuda.fill(ptr, 1, stream)
    return ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=stream), stream


def test_a_view_is_ordered_after_the_same_work(busy):
    """The view publishes the stream of its array."""
    array, stream = busy

    record = array.view("float32").__cuda_array_interface__

    assert (record["stream"], record["shape"], record["typestr"]) == (stream, (SIZE // 4,), "<f4")
    assert record["data"] == (array.ptr, False)


def test_a_view_is_copied_after_the_work(busy, gate):
    """The copy has the bytes that were written, whatever its element type."""
    array, stream = busy
    shut = gate(stream)
    moved = array.view("bfloat16").copy()
    shut.open()

    assert moved.tobytes() == b"\x01" * SIZE


def test_bytes_of_a_device_are_copied_after_the_work(busy):
    """The host waits for the work."""
    array, _ = busy

    assert array[::2].tobytes() == b"\x01" * (SIZE // 2)
    assert array.view("int4").tobytes() == b"\x01" * SIZE
