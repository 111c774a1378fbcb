"""Handles of stream objects.

Source: the ``__cuda_stream__`` protocol of cuda.core, a method (before 0.2 an attribute) that gives
``(0, handle)``; the attributes with the handle in libraries without it.
"""

from __future__ import annotations

import ctypes
from operator import index as as_index
from typing import Any, Final

from interchange._types.devices import is_index, is_pair
from interchange._types.errors import NO_ROOM, StreamError, show
from interchange._types.indices import is_bool

from .rules import HANDLES_END

ATTRIBUTES: Final = {
    "cuda_stream": "PyTorch, Warp",
    "ptr": "CuPy",
    "handle": "Numba, PyCUDA, cuda.core",
}
"""Attribute with a stream's handle -> libraries whose streams have it; tried in this order."""

_HANDLE_TYPES: Final = frozenset({"CUstream", "cudaStream_t", "hipStream_t", "ihipStream_t"})
_VERSION: Final = 0  # of the protocol


def stream_handle(stream: Any, call: str) -> int | None:
    """Return the handle of a stream.

    `stream`: the user's argument: a handle, an object with ``__cuda_stream__``, or a stream of
        CuPy, PyTorch, Numba, Warp, PyCUDA or cuda.bindings.

    Returns None also for an object that stands for the default stream, whose number depends on the
        device.

    Raises StreamError: `stream` is none of these, or its handle is not an address (DLP-STREAM-4).

    Examples
    --------
    >>> stream_handle(7, "f()")
    7
    """
    if stream is None:
        return None
    if is_index(stream):
        return int.__index__(stream)  # a subclass may convert to another number
    if isinstance(stream, type) or hasattr(type(stream), "__dlpack__"):
        raise _refuse(call, stream, "is not a stream")  # an array's ptr is not a handle
    described = getattr(stream, "__cuda_stream__", None)
    handle: int | None
    if described is not None:
        handle = _in_protocol(described, stream, call)
    else:
        handle = _number(stream)
        if handle is not None and hasattr(type(stream), "__index__"):
            return handle  # a NumPy integer, not a stream
        if handle is None:
            handle = _by_attribute(stream)
    if handle is None:
        raise _refuse(call, stream, "is not an int or a stream")
    if not 0 <= handle < HANDLES_END:
        raise _refuse(call, stream, f"has the handle {show(handle)}")
    return handle or None  # the null handle is the device's default stream


def _refuse(call: str, stream: Any, why: str) -> StreamError:
    """Return the error for an object that is not a stream."""
    return StreamError(call, f"stream={show(stream)} {why}", "DLP-STREAM-4")


def _in_protocol(described: Any, stream: Any, call: str) -> int:
    """Return the handle that ``__cuda_stream__`` returns in version 0 of the protocol."""
    answer = described() if callable(described) else described  # an attribute before cuda.core 0.2
    if not is_pair(answer) or answer[0] != _VERSION:
        raise _refuse(call, stream, f"returns {show(answer)} from __cuda_stream__")
    return int.__index__(answer[1])


def _by_attribute(stream: Any) -> int | None:
    """Return the handle that a library's own stream keeps in an attribute."""
    for name in ATTRIBUTES:
        handle = _number(getattr(stream, name, None))
        if handle is not None:
            return handle
    return None


def _number(handle: Any) -> int | None:
    """Return the number in a handle: an int, a ctypes pointer, or a type of cuda.bindings."""
    if handle is None or isinstance(handle, bool):
        return None
    try:
        if hasattr(type(handle), "__index__"):
            return None if is_bool(handle) else int.__index__(as_index(handle))
        if type(handle).__name__ in _HANDLE_TYPES:
            return int(handle)
        if isinstance(handle, ctypes.c_void_p):
            return handle.value or 0
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - a foreign object may raise anything; it is not a number
        return None
    return None
