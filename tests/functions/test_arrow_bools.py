"""Arrow bools whose bytes are neither 0 nor 1: they are true, but not valid in an array."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.zoo import arrow

ODD = (1, 0, 77, 255, 2)


@pytest.fixture(scope="module", autouse=True)
def built():
    """Skip if there is no compiler."""
    try:
        arrow.numbers().__arrow_c_array__()
    except CannotBuildError as error:
        pytest.skip(str(error))


def test_a_copy_makes_ones_of_them():
    """A copy has 1 for all bytes but 0, as arrow.bool8 defines."""
    array = ix.from_arrow(arrow.bytes_of_bool(ODD), copy=True)

    assert str(array.dtype) == "bool"
    assert not array.readonly
    assert array.view("uint8").tolist() == [1, 0, 1, 1, 1]


def test_of_several_chunks_a_copy_makes_ones_too():
    """All chunks are copied, those with such bytes and the others."""
    chunks = arrow.chunked(arrow.bytes_of_bool((0, 1)), arrow.bytes_of_bool(ODD))
    array = ix.from_arrow(chunks.as_stream(), copy=True)

    assert array.view("uint8").tolist() == [0, 1, 1, 0, 1, 1, 1]


@pytest.mark.parametrize("copy", [None, False])
def test_bytes_of_0_and_1_are_shared(copy):
    """Bytes that are bools of NumPy as they are need no copy."""
    source = arrow.bytes_of_bool((0, 1, 1))
    found = ix.from_arrow(source, copy=copy)

    assert (found.ptr, str(found.dtype)) == (source.chunks[0].buffers[1], "bool")


@pytest.mark.parametrize("copy", [None, False])
def test_packed_bools_are_not_shared(copy):
    """The fix is the copy."""
    source = arrow.bytes_of_bool(ODD)
    with pytest.raises(ix.ExchangeError, match=r"pass `copy=True`") as caught:
        ix.from_arrow(source, copy=copy)

    assert caught.value.rule == "ARROW-BOOL-1"
    assert source.counts == source.due
