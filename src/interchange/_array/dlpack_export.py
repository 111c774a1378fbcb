"""`Array.__dlpack__`: device, stream and copy are decided before a capsule is made.

Source: array API standard 2025.12, ``array.__dlpack__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols import dlpack
from interchange._streams.ordering import order_before
from interchange._streams.rules import STREAM_RULES, check_stream
from interchange._types.devices import CPU, is_index
from interchange._types.errors import (
    ArgumentError,
    DriverUnavailableError,
    StreamError,
    UnsupportedDeviceError,
    show,
)

from . import copies

if TYPE_CHECKING:
    from interchange._types.devices import Device

    from .array_base import ArrayBase

CALL: Final = "Array.__dlpack__()"


def export_array(array: Any, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
    """Return a capsule; every argument is checked before any work is done."""
    versioned = dlpack.check_max_version(max_version, CALL)
    dlpack.check_copy(copy, CALL)
    target = dlpack.check_dl_device(dl_device, CALL)
    if stream is not None and not is_index(stream):
        raise ArgumentError(CALL, f"stream={show(stream)}", "DLP-STREAM-4")
    target = array.device if target is None else target
    consumer = _check_consumer(stream, array.device, target)
    moved = _move(array, target, consumer, copy)
    if (log := _core.log) is not None:
        words = f"stream={stream}, max_version={max_version}, dl_device={dl_device}, copy={copy}"
        made = "not copied" if moved is array or _shares(moved, array) else "copied"
        kind = "versioned" if versioned else "legacy"
        log(CALL, f"exported for {words}: {kind} capsule, {made}", moved)
    if copy or (moved is not array and not _shares(moved, array)):
        flags = dlpack.IS_COPIED if versioned else 0
        return _core.make_capsule(moved, flags, versioned=versioned)
    flags = dlpack.export_flags(moved, versioned=versioned, call=CALL)
    if stream is None and moved.device.is_host_accessible:
        consumer = None  # host libraries accept managed memory, too, and name no stream
    order_before(moved, consumer, CALL)
    return _core.make_capsule(moved, flags, versioned=versioned)


def _check_consumer(stream: int | None, source: Device, target: Device) -> int | None:
    """Return the consumer's stream on the device that it requests."""
    if target is CPU and source.type in STREAM_RULES and stream is not None:
        raise StreamError(CALL, f"stream={show(stream)} with dl_device={(1, 0)}", "DLP-STREAM-9")
    return check_stream(stream, target, CALL)


def _shares(moved: ArrayBase, array: ArrayBase) -> bool:
    """Whether two devices name the same memory."""
    return moved._keepalive is array._keepalive


def _move(array: ArrayBase, target: Device, consumer: int | None, copy: bool | None) -> ArrayBase:
    """Return the memory on the requested device, copied if necessary."""
    try:
        if target is not array.device:
            moved = copies.move_array(array, target, consumer, CALL, copy=copy)
        else:
            moved = array
        if copy and (moved is array or _shares(moved, array)):
            return copies.copy_alike(moved, CALL, consumer)
    except (UnsupportedDeviceError, DriverUnavailableError) as error:
        if target is array.device:
            raise
        raise UnsupportedDeviceError(CALL, error.what, "DLP-DEV-5") from None
    return moved
