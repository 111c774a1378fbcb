"""Streams of libraries that have no ``__cuda_stream__``: each keeps its handle in an attribute."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

import interchange as ix
from interchange import StreamError
from interchange._streams.handles import ATTRIBUTES, stream_handle

HANDLE = 0x5500_1234_5678


class CUstream:
    """As cuda.bindings': a number that is no index."""

    def __init__(self, handle):
        self.handle_ = handle

    def __int__(self):
        return self.handle_


STREAMS = {
    "PyTorch, Warp": lambda handle: SimpleNamespace(cuda_stream=handle),
    "CuPy": lambda handle: SimpleNamespace(ptr=handle),
    "PyCUDA": lambda handle: SimpleNamespace(handle=handle),
    "older Numba": lambda handle: SimpleNamespace(handle=ctypes.c_void_p(handle)),
    "Numba": lambda handle: SimpleNamespace(handle=CUstream(handle)),
    "cuda.bindings": CUstream,
}


@pytest.mark.parametrize("library", STREAMS)
def test_a_stream_of_a_library_is_asked_for_its_handle(library):
    """Whatever the attribute is called, and whatever type it has."""
    assert stream_handle(STREAMS[library](HANDLE), "f()") == HANDLE


@pytest.mark.parametrize("library", STREAMS)
def test_the_null_handle_is_the_default_stream(library):
    """0 as an attribute of a stream is not the number 0 of a user's."""
    assert stream_handle(STREAMS[library](0), "f()") is None


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("value", [True, 1.5, "7", b"7", None, [7]], ids=repr)
def test_an_attribute_that_is_no_handle_is_refused(attribute, value):
    """A file has a handle too, and an ndarray a ptr-like attribute."""
    with pytest.raises(StreamError) as caught:
        stream_handle(SimpleNamespace(**{attribute: value}), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("handle", [-1, 2**64, 2**70, 10**5000], ids=hex)
def test_an_attribute_that_is_no_address_is_refused(attribute, handle):
    """-1 as an attribute of a stream is not the number -1 of a user's."""
    with pytest.raises(StreamError) as caught:
        stream_handle(SimpleNamespace(**{attribute: handle}), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


class CUstreamDestroyed:
    """A handle that cannot be asked any more, nor shown."""

    def __index__(self):
        raise RuntimeError("destroyed")

    __int__ = __repr__ = __index__


CUstreamDestroyed.__name__ = "CUstream"


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(CUstreamDestroyed, id="handle"),
        pytest.param(lambda: SimpleNamespace(handle=CUstreamDestroyed()), id="attribute"),
    ],
)
def test_a_handle_that_is_no_number_is_refused(stream):
    """In our words, whatever it raises."""
    with pytest.raises(StreamError) as caught:
        stream_handle(stream(), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda np: np.arange(2), id="ndarray"),
        pytest.param(lambda np: np.array(7), id="array of one number"),
        pytest.param(lambda np: ix.asarray(np.arange(2)), id="ours, with a ptr"),
    ],
)
def test_an_array_is_no_stream(make):
    """The address of an array is not a handle, nor is its attribute 7."""
    import numpy as np

    with pytest.raises(StreamError, match="is not a stream") as caught:
        stream_handle(make(np), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


def test_a_number_of_another_library_is_a_number():
    """NumPy's integers are indices, and 0 of theirs is the number 0."""
    import numpy as np

    assert (stream_handle(np.int64(7), "f()"), stream_handle(np.uint8(0), "f()")) == (7, 0)


def test_a_class_is_no_stream():
    """Its attributes are properties."""
    with pytest.raises(StreamError):
        stream_handle(type("Stream", (), {"ptr": 7}), "f()")
