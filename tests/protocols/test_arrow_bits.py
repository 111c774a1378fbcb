"""Bits of a bitmap: read from any place on, counted, and turned into bytes."""

from __future__ import annotations

import ctypes

from hypothesis import given, strategies as st

from interchange._protocols.arrow.bits import bits_at, bytes_of_bits, count_zeros

BITS = st.lists(st.booleans(), max_size=200)


def packed(bits):
    """Return the bytes of a bitmap, the first bit in the lowest place of the first byte."""
    number = sum(bit << place for place, bit in enumerate(bits))
    return number.to_bytes(-(-len(bits) // 8), "little")


@given(st.data(), BITS)
def test_bits_are_read_from_any_place_on(data, bits):
    """Bits before and after the range are ignored, for any start and length."""
    first = data.draw(st.integers(0, len(bits)))
    count = data.draw(st.integers(0, len(bits) - first))
    block = ctypes.create_string_buffer(packed(bits) + b"\xff")

    found = bits_at(ctypes.addressof(block), first, count)

    assert found == sum(bit << place for place, bit in enumerate(bits[first : first + count]))


@given(BITS)
def test_each_bit_becomes_a_byte(bits):
    """The lowest is the first."""
    number = sum(bit << place for place, bit in enumerate(bits))

    assert bytes_of_bits(number, len(bits)) == bytes(bits)
    assert count_zeros(number, len(bits)) == bits.count(False)


def test_nothing_is_read_for_no_bits():
    """For no bits nothing is read, not even at NULL."""
    assert bits_at(0, 12345, 0) == 0
