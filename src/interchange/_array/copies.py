"""Copies and moves of arrays: chooses between the host and the driver of a device.

Source: array API standard 2025.12 (``to_device``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._streams.handles import stream_handle
from interchange._streams.rules import may_be_stream, streams_of
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    CopyNeededError,
    StreamError,
    UnsupportedDeviceError,
    show,
)
from interchange.abi.dlpack import DLDeviceType

from .host_copies import check_named, copy_on_host, share_with_host

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor

    T = TypeVar("T", bound="Tensor")


HOST_KINDS: Final = frozenset(
    {DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost, DLDeviceType.kDLCUDAManaged}
)
"""Types of host-accessible memory that drivers allocate."""
COPIED_BY_DRIVERS: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})
"""Types of devices whose memory a driver copies; the host copies all other memory."""


def copy_array(array: Tensor, cls: type[T], order: str, call: str, stream: Any = None) -> T:
    """Return a copy in new memory: on the same device, or on the host if it can read the memory.

    `order`: which axis runs fastest.
    `stream`: stream of a copy of device memory; None for the stream of the pending work.

    Raises StreamError: `stream` is not a stream of that device (DLP-STREAM-1 to DLP-STREAM-4).
    Raises UnsupportedDeviceError: the host cannot access the memory (DLP-DEV-6).
    """
    if array._spec.device.type in COPIED_BY_DRIVERS:
        from . import device_copies

        return device_copies.copy_on_device(array, cls, order, call, stream)
    check_named(stream, array._spec.device, call)
    return copy_on_host(array, cls, order, call)


def copy_temporarily(array: T, call: str, stream: Any) -> T:
    """Return a copy, as `copy_array`, that is made only to be copied by `copy_into`, once."""
    if array._spec.device.type in COPIED_BY_DRIVERS:
        from . import device_copies

        cls = type(array)
        return device_copies.copy_on_device(array, cls, "C", call, stream, is_temporary=True)
    return copy_array(array, type(array), "C", call, stream)


def copy_alike(array: T, call: str, stream: Any) -> T:
    """Return a copy, in C order, on the same device, page-locked or managed if the array is."""
    if array._spec.device.type in HOST_KINDS:
        from . import device_copies

        return device_copies.copy_in_kind(array, call)
    return copy_array(array, type(array), "C", call, stream)


# ---------------------------------------------------------------- moves


def move_array(array: T, device: Any, stream: Any, call: str, *, copy: bool | None = None) -> T:
    """Return the array on `device`: the array itself if it is there already.

    `device`: the target device.
    `stream`: stream of the copy; None for the stream of the pending work.
    `copy`: False: return an array on the same memory, or raise an error.

    Raises CopyNeededError: a copy is needed, and `copy` is False (DLP-COPY-1).
    Raises UnsupportedDeviceError: no driver copies between these devices (DLP-DEV-6).
    """
    target = Device.of(device, call)
    there = array._spec.device
    if target is there:
        _check_unused(stream, there, call)
        return array
    if target is CPU and there.is_host_accessible:
        return share_with_host(array, stream, call)
    return _copy_to(array, target, stream, call, copy=copy)


def _check_unused(stream: Any, device: Device, call: str) -> None:
    """Refuse a value that is not a stream, although no work is submitted."""
    if streams_of(device) is not None:
        check_named(stream, device, call)
        return
    handle = stream_handle(stream, call)
    if handle is not None and not may_be_stream(handle):
        raise StreamError(call, f"stream={show(handle)} on {device}", "DLP-STREAM-1")


def _copy_to(array: T, target: Device, stream: Any, call: str, *, copy: bool | None) -> T:
    """Return a copy on another device, if a driver or the host can make it."""
    from . import device_copies

    there = array._spec.device
    what = f"moving from {there} to {target}"
    if copy is False:
        raise CopyNeededError(call, what, "DLP-COPY-1")
    move = device_copies.find_move(there, target)
    if move is None:
        stream_handle(stream, call)
        near = "`x.to_device('cpu')`" if call == "Array.to_device()" else "`device='cpu'`"
        hint = (
            f"use a device that has a driver, such as {near}, "
            "or move the array with the library that owns the device, then import it"
        )
        if there.type is target.type is CPU.type:
            hint = "pass 'cpu', which is the whole host"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6", hint)
    moved: T = move(array, target, call, stream)
    return moved
