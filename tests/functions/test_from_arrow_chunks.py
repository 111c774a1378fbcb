"""Columns in several chunks whose class can also export one array: nanoarrow's, for one."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import chunked, numbers


class Both:
    """Exports its chunks as a stream, and refuses to be one array."""

    def __init__(self, stream, error):
        self.stream = stream
        self.error = error

    def __arrow_c_array__(self, requested_schema=None):
        raise self.error("the array is not contiguous")  # a new one: errors keep frames alive

    def __arrow_c_stream__(self, requested_schema=None):
        return self.stream.__arrow_c_stream__(requested_schema)


def test_a_column_that_refuses_to_be_one_array_is_asked_for_a_stream():
    """A column that refuses to be one array is read as a stream."""
    source = chunked(numbers("int32", 2), numbers("int32", 3)).as_stream()
    both = Both(source, ValueError)

    assert ix.from_arrow(both, copy=True).tolist() == list(source.values)
    with pytest.raises(ix.CopyNeededError, match="ARROW-CHUNK-1"):
        ix.from_arrow(both)
    assert source.counts == source.due


class Array:
    """Exports no stream."""

    def __arrow_c_array__(self, requested_schema=None):
        raise ValueError("the array is not contiguous")


@pytest.mark.parametrize("error", [TypeError, RuntimeError, ValueError])
def test_another_error_of_a_producer_is_raised(error):
    """Unchanged; a ValueError of an object without a stream, which is not asked for one."""
    source = numbers("int32", 2).as_stream()

    with pytest.raises(error, match=r"^the array is not contiguous$"):
        ix.from_arrow(Array() if error is ValueError else Both(source, error))
    assert source.log == []
