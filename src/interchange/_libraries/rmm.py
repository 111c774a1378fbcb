"""RMM, the memory manager of RAPIDS: an allocator of device memory.

Source: RMM, ``rmm.DeviceBuffer``, ``rmm.pylibrmm.stream.Stream``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from interchange._types.library import Library

if TYPE_CHECKING:
    from interchange._types.devices import Device


class _Pool:
    """RMM's current memory resource: buffers that return their memory when they are destroyed."""

    def __init__(self, device: Device) -> None:
        del device  # it is current

    def allocate(self, size: int, *, stream: Any) -> Any:
        """Return a ``DeviceBuffer``, allocated in the order of a stream."""
        streams = importlib.import_module("rmm.pylibrmm.stream")
        buffer = importlib.import_module("rmm").DeviceBuffer
        return buffer(size=size, stream=streams.Stream(stream))


LIBRARY: Final = Library("rmm", allocator=_Pool)
