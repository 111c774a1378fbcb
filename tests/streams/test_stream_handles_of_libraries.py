"""Streams of libraries without ``__cuda_stream__``, which keep the handle in an attribute."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

import interchange as ix
from interchange import StreamError
from interchange._streams.handles import ATTRIBUTES, stream_handle

HANDLE = 0x5500_1234_5678


class CUstream:
    """As in cuda.bindings: a number without ``__index__``."""

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
    """The handle is found for every attribute name and type."""
    assert stream_handle(STREAMS[library](HANDLE), "f()") == HANDLE


@pytest.mark.parametrize("library", STREAMS)
def test_the_null_handle_is_the_default_stream(library):
    """0 as an attribute differs from the int 0 that a user passes."""
    assert stream_handle(STREAMS[library](0), "f()") is None


OTHER_VALUES = [True, 1.5, "7", b"7", None, [7], -1, 2**64, 2**70, 10**5000]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("value", OTHER_VALUES, ids=range(len(OTHER_VALUES)))
def test_an_attribute_that_is_no_handle_is_refused(attribute, value):
    """Files have a handle, ndarrays a pointer; as an attribute -1 is no request of a user."""
    with pytest.raises(StreamError) as caught:
        stream_handle(SimpleNamespace(**{attribute: value}), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


class CUstreamDestroyed:
    """A handle that can neither be converted nor shown."""

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
    """The error is one of this package, whatever the conversion raises."""
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
    """Neither its address nor its attribute 7 is a handle."""
    import numpy as np

    with pytest.raises(StreamError, match="is not a stream") as caught:
        stream_handle(make(np), "f()")

    assert caught.value.rule == "DLP-STREAM-4"


def test_a_number_of_another_library_is_a_number():
    """NumPy's integers are indices, and their 0 is the int 0."""
    import numpy as np

    assert (stream_handle(np.int64(7), "f()"), stream_handle(np.uint8(0), "f()")) == (7, 0)


def test_a_class_is_no_stream():
    """The attributes of a class are properties."""
    with pytest.raises(StreamError):
        stream_handle(type("Stream", (), {"ptr": 7}), "f()")
