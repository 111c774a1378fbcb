"""Foreign memory as arrays of a library: shared if possible, else copied if allowed.

Source: array API standard 2025.12, ``from_dlpack`` (meaning of ``copy=None``); DLP-RO-3.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from interchange._array.copies import COPIED_BY_DRIVERS
from interchange._streams.ordering import device_guard
from interchange._types.errors import (
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    ReadOnlyError,
    UnsupportedDeviceError,
)

from .exporting import convert
from .targets import TARGETS

if TYPE_CHECKING:
    from interchange._array import Array
    from interchange._libraries.array_api import ArrayAPI


def hand_over(array: Array, target: str, *, may_copy: bool, call: str) -> Any:
    """Return an Array as an array of one of `TARGETS`, on its device.

    It is copied, if allowed, if the library's arrays cannot be marked read-only, or if the library
    does not support the layout or the alignment.  Errors are in the name of `call`.
    """
    try:
        if may_copy and array.readonly is not False and not TARGETS[target].keeps_readonly:
            return convert(array.copy(), target)
        try:
            return convert(array, target)
        except ExchangeError as error:
            if may_copy and _is_fixed_by_copy(error, array):
                return convert(array, target, copy=True)
            raise
    except InterchangeError as error:
        raise error._for_call(call) from error.__cause__


def _is_fixed_by_copy(error: ExchangeError, array: Array) -> bool:
    """Whether the library refused the layout, and not the element type or the device."""
    if isinstance(error, CopyNeededError):
        return True
    return type(error) is ExchangeError and not array.is_contiguous()


def give(array: Array, api: ArrayAPI, xp: Any, *, may_copy: bool, call: str) -> Any:
    """Return an Array as an array of an array-API library, by its target or its namespace."""
    if api.name == "numpy":
        return array.__array__()  # shares host memory, and keeps it read-only
    if api.name in TARGETS:
        return hand_over(array, api.name, may_copy=may_copy, call=call)
    if not hasattr(xp, "from_dlpack"):
        return _through_numpy(array, api, xp, may_copy=may_copy, call=call)
    if array.readonly is not False:  # the library may not keep it read-only
        if not may_copy:
            what = f"{api.name} may not mark arrays read-only, and the memory may be read-only"
            raise ReadOnlyError(call, what, "DLP-RO-3", "pass `copy=True`")
        array = array.copy()
    with device_guard(array.device, call) or contextlib.nullcontext():
        return xp.from_dlpack(array)


def _through_numpy(array: Array, api: ArrayAPI, xp: Any, *, may_copy: bool, call: str) -> Any:
    """Return the result of ``asarray`` of a library without ``from_dlpack`` for an ndarray."""
    if not may_copy:
        what = f"{api.name} has no from_dlpack(), and its asarray() may copy"
        raise CopyNeededError(call, what, "DLP-COPY-1")
    return xp.asarray(array.__array__())


def check_place(array: Array, api: ArrayAPI, call: str) -> None:
    """Refuse device memory if the library's arrays are on the host."""
    if api.memory == "host" and not array.device.is_host_accessible:
        what = f"{api.name} has arrays on the host only, and the memory is on {array.device}"
        hint = "pass `device='cpu'`, and it is copied to the host"
        known = hint if array.device.type in COPIED_BY_DRIVERS else None
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6", known)
