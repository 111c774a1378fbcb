"""Moves between devices: by a driver where there is one, else by the libraries that compute there.

Source: array API standard 2025.12, ``array.to_device``.  A library moves elements by way of the
host, and the host waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._libraries.selection import backend_of
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    BackendUnavailableError,
    DriverUnavailableError,
    UnsupportedDeviceError,
)

from . import copies
from .native_arrays import computing_with, wrap

if TYPE_CHECKING:
    from typing import TypeVar

    from .array_base import ArrayBase

    T = TypeVar("T", bound="ArrayBase")


def move(array: T, device: Any, stream: Any, call: str, *, copy: bool | None = None) -> T:
    """Return the array on `device`, itself where it is there already.

    Parameters
    ----------
    array, device, stream, call, copy
        As in `copies.move_array`.

    Raises
    ------
    UnsupportedDeviceError
        Neither a driver nor a library moves memory between these devices (DLP-DEV-6).
    """
    target = Device.of(device, call)
    try:
        return copies.move_array(array, target, stream, call, copy=copy)
    except (UnsupportedDeviceError, DriverUnavailableError):
        if stream is not None:
            raise  # only a driver has streams
        found = _by_libraries(array, target, call)
        if found is None:
            raise
        return found


def move_back(array: T, device: Device, stream: Any, call: str) -> T:
    """Return an array of the host on the device whose memory it was made from, as `move`.

    Page-locked and managed memory is made where that is meant, which the host fills.
    """
    if device.type in copies.HOST_KINDS:
        from . import device_copies

        return device_copies.copy_to_host_kind(array, device, call, stream)
    return move(array, device, stream, call)


def copy(array: T, order: str, call: str, stream: Any) -> T:
    """Return a copy: a driver's or the host's, else one that the library makes that computes there.

    Parameters
    ----------
    array, order, call, stream
        As in `copies.copy_array`.
    """
    cls = type(array)
    try:
        return copies.copy_array(array, cls, order, call, stream)
    except (UnsupportedDeviceError, DriverUnavailableError):
        if stream is not None or order != "C":
            raise
        try:
            backing = computing_with(array)
        except BackendUnavailableError:
            backing = None
        if backing is None:
            raise
    backend, native = backing
    with backend.current():
        return wrap(backend.copy(native), backend, cls)


def place(
    array: T,
    target: Device | None,
    *,
    copy: bool | None,
    needs_copy: bool,
    stream: Any = None,
    call: str,
) -> T:
    """Return a fresh import where it is wanted, copied if that is still to be done.

    Parameters
    ----------
    array : ArrayBase
        Fresh from its producer.
    target : Device or None
        Where it is wanted; None for where it is.
    copy : bool or None
        What the caller said.
    needs_copy : bool
        Whether a copy was requested and is still to be made.
    stream : None, int or stream object
        On which to copy.
    call : str
        Named in errors.
    """
    if target is not None and target is not array.device:
        moved = move(array, target, stream, call, copy=copy)
        needs_copy = needs_copy and moved._keepalive is array._keepalive
        array = moved
    return _copied(array, stream, call) if needs_copy else array


def _copied(array: T, stream: Any, call: str) -> T:
    """Return a copy on a stream that was named, where the device has streams."""
    return copy(array, "C", call, stream if array.device.type in STREAM_RULES else None)


def _by_libraries(array: T, target: Device, call: str) -> T | None:
    """Return a copy that libraries make, or None where there are none for these devices."""
    there = array.device
    if target.is_host_accessible and (target is not CPU or there.is_host_accessible):
        return None  # no library makes host memory of another kind
    try:
        backend_of(there, call)
        sink = backend_of(target, call)
    except BackendUnavailableError:
        return None
    source, native = computing_with(array)
    elements = source.to_host(native)
    if target is CPU:
        return wrap(elements, sink, type(array))
    with sink.current():
        return wrap(sink.from_host(elements), sink, type(array))
