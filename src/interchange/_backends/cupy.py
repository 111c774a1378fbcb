"""CuPy computes on CUDA and on ROCm.

Source: array API standard 2025.12; CuPy's API, which follows NumPy's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from interchange.abi.dlpack import DLDeviceType

from .array_api_gaps import fill_gaps
from .dlpack_backend import DLPackBackend

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from interchange._core import Tensor
    from interchange._types.devices import Device


class CuPyBackend(DLPackBackend):
    """CuPy, whose functions work on the device that is current."""

    name: ClassVar[str] = "cupy"

    def __init__(self, device: Device, cupy: Any, namespace: Any) -> None:
        self.array_type = self.plain_type = cupy.ndarray
        self._cupy = cupy
        self._place = cupy.cuda.Device(device.id)
        super().__init__(device, namespace)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return an array of CuPy over described memory."""
        with self._place:
            return self._cupy.from_dlpack(tensor)

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the device is current."""
        place: AbstractContextManager[Any] = self._place
        return place

    def _find_function(self, name: str) -> Callable[..., Any]:
        """Return CuPy's function, called on this device."""
        found = super()._find_function(name)
        place = self._place

        def on_device(*args: Any, **keywords: Any) -> Any:
            with place:
                return found(*args, **keywords)

        return on_device

    def stream(self) -> tuple[int | None, Any]:
        """Return CuPy's current stream, and what keeps it alive."""
        with self._place:
            current = self._cupy.cuda.get_current_stream()
        return int(current.ptr) or 1, current

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two arrays lie within one allocation."""
        return bool(one.data.mem.ptr == other.data.mem.ptr)

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        return self._cupy.asnumpy(native)


def make(device: Device) -> CuPyBackend:
    """Return CuPy as the library that computes on a device.

    Raises
    ------
    LookupError
        It computes on no such device.
    """
    cupy = importlib.import_module("cupy")
    own = DLDeviceType.kDLROCM if cupy.cuda.runtime.is_hip else DLDeviceType.kDLCUDA
    if device.type is not own or device.id >= cupy.cuda.runtime.getDeviceCount():
        raise LookupError(device)
    try:
        namespace: Any = importlib.import_module("array_api_compat.cupy")
    except ModuleNotFoundError:
        namespace = fill_gaps(cupy)
    return CuPyBackend(device, cupy, namespace)
