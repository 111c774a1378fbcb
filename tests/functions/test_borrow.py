"""`borrow` without a driver: which memory needs a stream.  `tests/cuda` has the order of work."""

from __future__ import annotations

import pytest

import interchange as ix


def _lend():
    with ix.borrow(ix.from_pointer(8, (1,), "int8", device="cuda:0"), stream=None):
        pass


@pytest.mark.parametrize(
    "call", [_lend, lambda: ix.accepts_arrays("x", borrow=True)], ids=["borrow", "accepts_arrays"]
)
def test_device_memory_is_borrowed_for_a_stream(call):
    """Device memory needs a stream: a missing one is an argument error (IX-BORROW-1)."""
    with pytest.raises(ix.ArgumentError, match="IX-BORROW-1"):
        call()


@pytest.mark.parametrize("stream", [None, -1, 1])
def test_host_memory_is_borrowed_as_it_is(stream):
    """Host memory is borrowed unchanged, and writes are visible to the owner."""
    block = bytearray(b"abc")
    with ix.borrow(block, stream=stream, writable=True) as array:
        array[0] = 120

    assert block == b"xbc"
