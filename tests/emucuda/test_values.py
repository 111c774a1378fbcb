"""Conversion of streams and numbers for the driver, and parsing of its log, without a driver."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from interchange_conformance.emucuda import Call, handle_of
from interchange_conformance.emucuda.streams import whole

# ---------------------------------------------------------------- stream objects


class StreamOfCore:
    """A stream of cuda.core that only implements ``__cuda_stream__``."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


class Carries:
    """A stream of an early cuda.core, in which the protocol was an attribute."""

    __cuda_stream__ = (0, 9)


class Counts:
    """A handle that is not an int, like those of cuda.bindings."""

    def __int__(self):
        return 7


@pytest.mark.parametrize(
    ("stream", "handle"), [(0, 0), (2, 2), (StreamOfCore(5), 5), (Carries(), 9), (Counts(), 7)]
)
def test_a_stream_may_come_in_any_form(stream, handle):
    """A stream is an int or a stream object of a library."""
    assert handle_of(stream) == handle


@pytest.mark.parametrize(
    "stream", [None, "1", b"1", 1.0, True, object(), StreamOfCore(1.5), StreamOfCore(None)]
)
def test_what_is_no_stream_is_refused(stream):
    """A string with a number is not a handle."""
    with pytest.raises(TypeError, match="is not a stream"):
        handle_of(stream)


@pytest.mark.parametrize("stream", [-1, 2**64, 2**70, StreamOfCore(-1), Carries(), Counts()])
def test_what_no_handle_can_be_is_refused(monkeypatch, stream):
    """C would truncate the value and use stream 0."""
    monkeypatch.setattr(Carries, "__cuda_stream__", (0, 2**64))
    monkeypatch.setattr(Counts, "__int__", lambda _: -7)

    with pytest.raises(ValueError, match="out of range"):
        handle_of(stream)


# ---------------------------------------------------------------- numbers for C


@given(st.integers(-(2**70), 2**70), st.integers(0, 2**64))
def test_a_number_in_range_is_itself_and_another_one_is_refused(value, largest):
    """No value is truncated."""
    if 0 <= value <= largest:
        assert whole(value, "length", largest) == value
    else:
        with pytest.raises(ValueError, match=r"length -?0x[0-9a-f]+ is out of range"):
            whole(value, "length", largest)


@pytest.mark.parametrize("value", [None, "1", 1.5, True, [], 1j])
def test_what_is_no_number_is_refused(value):
    """A bool as a length is an error of the caller."""
    with pytest.raises(TypeError, match="length is "):
        whole(value, "length")


# ---------------------------------------------------------------- lines of the log


@pytest.mark.parametrize(
    ("line", "args"),
    [("f", {}), ("f a=0x10 b=10 c=-1", {"a": 16, "b": 10, "c": -1}), ("f a=(nil)", {"a": 0})],
)
def test_a_line_is_a_call(line, args):
    """Handles are hexadecimal, or (nil) as of printf; sizes and negative codes are decimal."""
    assert Call.parse(line) == Call("f", args)
