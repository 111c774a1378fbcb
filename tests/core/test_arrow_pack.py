"""Both cores pack bitmaps and write offsets alike."""

from __future__ import annotations

import ctypes
from array import array

import hypothesis.strategies as st
import pytest
from hypothesis import given

UNLOCKED = 70_003  # elements that are read without the GIL
FORMATS = {4: "i", 8: "q"}


@pytest.fixture(params=["native", "ctypes"])
def core(request, cores):
    """Return each core in turn."""
    return cores[request.param]


def packed(core, values):
    """Return the number of ones and the bitmap, after which nothing was written."""
    source = array("B", values)
    out = ctypes.create_string_buffer(b"\xaa" * ((len(values) + 7) // 8 + 1))
    ones = core.pack_bits(source.buffer_info()[0], len(values), ctypes.addressof(out))
    assert out.raw[-2] == 0xAA
    return ones, out.raw[:-2]


def expected(bits):
    """Return the number of ones and the bitmap of bools."""
    number = sum(bit << place for place, bit in enumerate(bits))
    return number.bit_count(), number.to_bytes((len(bits) + 7) // 8, "little")


@given(st.lists(st.sampled_from([0, 1, 2, 128, 255]), max_size=70))
def test_bytes_but_0_are_ones(cores, values):
    """Bytes are true unless they are 0; bits beyond the last are 0."""
    for core in cores.values():
        assert packed(core, values) == expected([value != 0 for value in values])


def test_many_are_packed_without_the_gil(core):
    """The result is the same."""
    values = [place % 3 for place in range(UNLOCKED)]
    assert packed(core, values) == expected([value > 0 for value in values])


@pytest.mark.parametrize("count", [0, 1, 5, UNLOCKED])
@pytest.mark.parametrize("width", [4, 8])
def test_offsets_are_multiples_or_those_of_the_other_width(core, width, count):
    """A source has offsets of the other width."""
    out = array(FORMATS[width], [0] * count)
    source = array(FORMATS[12 - width], [3 * place + 1 for place in range(count)])

    core.write_offsets(out.buffer_info()[0], width, count, 0, 7)
    steps = out.tolist()
    core.write_offsets(out.buffer_info()[0], width, count, source.buffer_info()[0], 0)

    assert steps == [7 * place for place in range(count)]
    assert out.tolist() == source.tolist() or not count
