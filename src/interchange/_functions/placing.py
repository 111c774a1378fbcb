"""The last step of an import: a move to where the memory is wanted, or the copy that was asked for.

Source: array API standard 2025.12, ``from_dlpack`` (``device``, ``copy``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import transfers
from interchange._streams.rules import STREAM_RULES

if TYPE_CHECKING:
    from interchange._array import Array
    from interchange._types.devices import Device


def place(
    array: Array,
    target: Device | None,
    *,
    copy: bool | None,
    needs_copy: bool,
    stream: Any = None,
    call: str,
) -> Array:
    """Return the array where it is wanted, copied if that is still to be done.

    Parameters
    ----------
    array : Array
        Fresh from its producer.
    target : Device or None
        Where it is wanted; None for where it is.
    copy : bool or None
        What the caller said.
    needs_copy : bool
        Whether a copy was asked for, and nobody made one.
    stream : None, int or stream object
        On which to copy.
    call : str
        Named in errors.
    """
    if target is not None and target is not array.device:
        moved = transfers.move(array, target, stream, call, copy=copy)
        needs_copy = needs_copy and moved._keepalive is array._keepalive
        array = moved
    if not needs_copy:
        return array
    named = stream if array.device.type in STREAM_RULES else None
    return transfers.copy(array, "C", call, named)
