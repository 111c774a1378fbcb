"""Conversion of stream objects to handles with the ``__cuda_stream__`` protocol."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import StreamError
from interchange._streams.handles import stream_handle


class Stream:
    """A stream with the protocol, and any return value."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def test_none_stays_none():
    """None is not converted."""
    assert stream_handle(None, "f()") is None


@given(st.integers())
def test_an_int_is_its_own_handle(number):
    """Validity depends on the device, and is checked elsewhere."""
    assert stream_handle(number, "f()") == number


def test_a_subclassed_int_counts_by_its_own_value():
    """The value of the int is used, not the result of its conversion."""

    class Elsewhere(int):
        def __int__(self):
            return 0

        __index__ = __int__

    found = stream_handle(Elsewhere(7), "f()")

    assert (found, type(found)) == (7, int)


def test_the_null_handle_of_an_object_is_the_default_stream():
    """Libraries return 0 for the default stream, but CUDA refuses the int 0 as ambiguous."""
    assert stream_handle(Stream((0, 0)), "f()") is None


@given(st.integers(1, 2**64 - 1))
def test_an_object_is_asked_for_its_handle(handle):
    """The second number of the result is the handle."""
    assert stream_handle(Stream((0, handle)), "f()") == handle


@pytest.mark.parametrize(
    "answer",
    [None, 7, (7,), (0, 7, 1), [0, 7], (0, None), (0, "7"), (0, True), ("0", 7), (False, 7)],
    ids=repr,
)
def test_another_answer_is_refused(answer):
    """An invalid result of a foreign object is refused with an error of this package."""
    with pytest.raises(StreamError) as caught:
        stream_handle(Stream(answer), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@given(st.integers().filter(bool), st.integers(0, 2**64 - 1))
def test_an_answer_of_another_version_is_refused(version, handle):
    """The meaning of its second number is unknown."""
    with pytest.raises(StreamError, match="from __cuda_stream__") as caught:
        stream_handle(Stream((version, handle)), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@pytest.mark.parametrize("handle", [-1, -2, 2**64, 2**70, 10**5000, -(10**5000)], ids=hex)
def test_a_handle_is_an_address(handle):
    """-1 is a value for users, and is not valid as the handle of a stream object."""
    with pytest.raises(StreamError) as caught:
        stream_handle(Stream((0, handle)), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@given(st.integers(0, 2**64 - 1))
def test_the_answer_may_be_an_attribute(handle):
    """It was an attribute in cuda.core before 0.2."""
    stream = SimpleNamespace(__cuda_stream__=(0, handle))

    assert stream_handle(stream, "f()") == stream_handle(Stream((0, handle)), "f()")


@pytest.mark.parametrize("answer", [(1, 7), (0, -1), 7, "7"], ids=repr)
def test_an_attribute_is_judged_as_an_answer(answer):
    """The errors are the same."""
    with pytest.raises(StreamError) as caught:
        stream_handle(SimpleNamespace(__cuda_stream__=answer), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@pytest.mark.parametrize("kind", [Stream, int, type], ids=repr)
def test_a_class_is_refused(kind):
    """Its ``__cuda_stream__`` is an unbound function."""
    with pytest.raises(StreamError, match="is not a stream") as caught:
        stream_handle(kind, "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "7", b"7", (0, 7), frozenset()], ids=repr)
def test_what_is_no_stream_is_refused(value):
    """Other objects, including bools and floats, have no handle."""
    with pytest.raises(StreamError, match=r"^f\(\): stream="):
        stream_handle(value, "f()")


def test_an_error_of_the_streams_own_comes_through():
    """A destroyed stream raises its own error."""

    class Destroyed:
        def __cuda_stream__(self):
            raise RuntimeError("destroyed")

    with pytest.raises(RuntimeError, match="destroyed"):
        stream_handle(Destroyed(), "f()")
