"""Moves between devices: by a driver if there is one, else by the libraries that compute there.

Source: array API standard 2025.12, ``array.to_device``.  A library moves elements through the host,
and the host waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._libraries.selection import backend_of
from interchange._streams.driver import device_named
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import CPU
from interchange._types.errors import (
    BackendUnavailableError,
    DriverUnavailableError,
    UnsupportedDeviceError,
)

from . import copies
from .native_arrays import computing_with, wrap

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._types.devices import Device

    from .array_base import ArrayBase

    T = TypeVar("T", bound="ArrayBase")


def move(array: T, device: Any, stream: Any, call: str, *, copy: bool | None = None) -> T:
    """Return the array on `device`: the array itself if it is there already.

    `array`, `device`, `stream`, `call`, `copy`: as for `copies.move_array`.

    Raises UnsupportedDeviceError: neither a driver nor a library moves memory between these devices
        (DLP-DEV-6).
    """
    target = device_named(device, call)
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
    """Return a host array on the device that its memory came from, as `move` does.

    Page-locked and managed memory is allocated if requested, and filled by the host.
    """
    if device.type in copies.HOST_KINDS:
        from . import device_copies

        return device_copies.copy_to_host_kind(array, device, call, stream)
    return move(array, device, stream, call)


def copy(array: T, order: str, call: str, stream: Any) -> T:
    """Return a copy made by a driver or the host, else by the library that computes there.

    `array`, `order`, `call`, `stream`: as for `copies.copy_array`.
    """
    cls = type(array)
    try:
        return copies.copy_array(array, cls, order, call, stream)
    except (UnsupportedDeviceError, DriverUnavailableError):
        if stream is not None or order != "C":
            raise
        try:
            library_array = computing_with(array)
        except BackendUnavailableError:
            library_array = None
        if library_array is None:
            raise
    backend, native = library_array
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
    """Return a new import on the requested device, copied if that is still to be done.

    `array`: an Array just imported from its producer.
    `target`: the requested device; None for the current one.
    `needs_copy`: whether a copy was requested and is still to be made.
    `stream`: the stream of the copy.
    """
    if target is not None and target is not array.device:
        moved = move(array, target, stream, call, copy=copy)
        shares = moved._keepalive is array._keepalive
        if (log := _core.log) is not None:
            how = "shared" if shares else "copied"
            log(call, f"{how} from {array.device}, since device={target}", moved)
        needs_copy = needs_copy and shares
        array = moved
    if needs_copy and (log := _core.log) is not None:
        log(call, "copied, since copy=True", array)
    return _copied(array, stream, call) if needs_copy else array


def _copied(array: T, stream: Any, call: str) -> T:
    """Return a copy on a given stream, if the device has streams."""
    return copy(array, "C", call, stream if array.device.type in STREAM_RULES else None)


def _by_libraries(array: T, target: Device, call: str) -> T | None:
    """Return a copy made by libraries, or None if no library supports these devices."""
    there = array.device
    if target.is_host_accessible and (target is not CPU or there.is_host_accessible):
        return None  # no library allocates host memory of another kind
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
