"""Copies between an Array and arrays of the host, under the names of Numba's device arrays.

Source: Numba for CUDA, "Memory management" (copy_to_host, copy_to_device).
"""

from __future__ import annotations

from typing import Any

from interchange._protocols import dlpack, host
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import CPU
from interchange._types.errors import ArgumentError, ReadOnlyError, show

from . import transfers
from .copy_into import copy_into
from .operators import check_writable


def copy_to_host(array: Any, ary: Any, stream: Any, call: str) -> Any:
    """Return the elements in an ndarray: a new one, or `ary`."""
    if ary is None:
        on = _stream_of(array, stream)
        there = array.copy() if array.device is CPU else transfers.move(array, CPU, on, call)
        return host.as_ndarray(there, call)
    target = _taken(ary, type(array), call)
    if target.readonly is not False:
        raise ReadOnlyError(call, f"{show(ary)} is read-only", "DLP-RO-3", "pass a writable array")
    _check_alike(array, target, call)
    copy_into(target, array, _stream_of(array, stream), call)
    return ary


def copy_to_device(array: Any, ary: Any, stream: Any, call: str) -> None:
    """Copy the elements of another array into an Array."""
    check_writable(array, call)
    source = _taken(ary, type(array), call)
    _check_alike(source, array, call)
    copy_into(array, source, _stream_of(array, stream), call)


def _taken(ary: Any, cls: Any, call: str) -> Any:
    """Return an Array of another array."""
    if type(ary) is cls:
        return ary
    if hasattr(ary, "__array_interface__"):
        return host.import_array_interface(ary, cls, call)
    return dlpack.import_(ary, cls, device=None, copy=None, stream=None, keep=None, call=call)


def _check_alike(source: Any, target: Any, call: str) -> None:
    """Refuse arrays of different shapes or element types."""
    if (source.shape, source.dtype) != (target.shape, target.dtype):
        what = f"{source.dtype} of shape {source.shape} into {target.dtype} of shape {target.shape}"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "pass arrays of one shape and type")


def _stream_of(array: Any, stream: Any) -> Any:
    """Return the stream of a copy; on the host, where nothing is enqueued, there is none.

    Numba's 0 is the stream that the array is ready on.
    """
    has_streams = array.device.type in STREAM_RULES
    return stream if has_streams and not (type(stream) is int and stream == 0) else None
