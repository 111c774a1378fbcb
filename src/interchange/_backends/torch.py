"""PyTorch computes, by the names that array-api-compat gives it, on CUDA; on the host if told to.

Source: array API standard 2025.12; array-api-compat, ``array_api_compat.torch``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from interchange._types.devices import CPU
from interchange._types.errors import BackendUnavailableError
from interchange.abi.dlpack import DLDeviceType

from .dlpack_backend import DLPackBackend
from .names import STANDARD_DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._core import Tensor
    from interchange._types.devices import Device

_EXCHANGED = frozenset({"uint16", "uint32", "uint64"})
_ON_GPUS = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})


class TorchBackend(DLPackBackend):
    """PyTorch, whose operators promote in a way of their own, so that functions stand for them."""

    name: ClassVar[str] = "torch"
    uses_operators: ClassVar[bool] = False
    takes_negative_strides: ClassVar[bool] = False

    def __init__(self, device: Device, torch: Any, namespace: Any) -> None:
        self.array_type = torch.Tensor
        self._torch = torch
        self._place = torch.device("cpu" if device is CPU else f"cuda:{device.id}")
        super().__init__(device, namespace)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return a tensor of PyTorch over described memory."""
        return self._torch.from_dlpack(tensor)

    def dtypes(self) -> tuple[str, ...]:
        """Return the names of the element types, less those that PyTorch only exchanges."""
        return tuple(name for name in STANDARD_DTYPES if name not in _EXCHANGED)

    def keywords(self) -> Mapping[str, Any]:
        """Return the device."""
        return {"device": self._place}

    def stream(self) -> tuple[int | None, Any]:
        """Return PyTorch's current stream on the device, and what keeps it alive."""
        if self.device is CPU:
            return None, None
        current = self._torch.cuda.current_stream(self._place)
        return int(current.cuda_stream) or 1, current

    def as_native(self, result: Any) -> Any:
        """Return a tensor, on the device where arrays are, whose elements are in its memory."""
        if isinstance(result, self.array_type):
            return result.resolve_conj().resolve_neg()
        return self._torch.asarray(result, device=self._place)

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two tensors have one storage."""
        return bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())

    def copy(self, native: Any) -> Any:
        """Return a copy."""
        return native.clone()

    def as_index(self, native: Any) -> Any:
        """Return integers as int64: PyTorch reads uint8 as a mask, and takes few other types."""
        return native if native.dtype is self._torch.bool else native.long()

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        return native.cpu().numpy().copy()


def make(device: Device) -> TorchBackend:
    """Return PyTorch as the library that computes on a device.

    Raises
    ------
    LookupError
        It computes on no such device.
    BackendUnavailableError
        It, or array-api-compat, is not installed (IX-XP-3).
    """
    if device is not CPU and device.type not in _ON_GPUS:
        raise LookupError(device)
    torch = importlib.import_module("torch")
    try:
        namespace = importlib.import_module("array_api_compat.torch")
    except ModuleNotFoundError:
        what = "torch computes by the standard's names with array-api-compat only"
        hint = "install array-api-compat"
        raise BackendUnavailableError("interchange.xp", what, "IX-XP-3", hint) from None
    if device is not CPU and device.id >= torch.cuda.device_count():
        raise LookupError(device)
    return TorchBackend(device, torch, namespace)
