"""Devices in the words of the libraries that made them; none of these is imported.

Source: PyTorch, ``torch.device``; JAX, ``jax.Device``; cuda.core, ``Device``; CuPy,
``cupy.cuda.Device``.  Ordinals are those that their capsules say.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from interchange.abi._show import module_of
from interchange.abi.dlpack import DLDeviceType

from .errors import UnsupportedDeviceError, show

Pair = tuple[DLDeviceType, int]
"""Device type and ordinal."""

_TORCH: Final = {
    "cuda": DLDeviceType.kDLCUDA,
    "mps": DLDeviceType.kDLMetal,
    "xpu": DLDeviceType.kDLOneAPI,
}


def gpu(ordinal: int, *, is_rocm: bool) -> Pair:
    """Return a GPU of CUDA or of ROCm."""
    return DLDeviceType.kDLROCM if is_rocm else DLDeviceType.kDLCUDA, ordinal


def _read_torch(device: Any, call: str) -> Pair | None:
    """Read a ``torch.device``, None for one that has no number in DLPack.

    Raises
    ------
    UnsupportedDeviceError
        It has no ordinal, and so is the one that is current whenever torch looks (DLP-DEV-1).
    """
    if device.type == "cpu":
        return DLDeviceType.kDLCPU, 0
    number, ordinal = _TORCH.get(device.type), device.index
    if number is None:
        return None
    if number is DLDeviceType.kDLMetal:
        return number, ordinal or 0  # there is one
    if ordinal is None:
        what = f"{show(device)} may be {device.type}:0, or the current device of torch"
        kind = device.type
        hint = f"pass `'{kind}:0'`, or the number that `torch.{kind}.current_device` gives"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-1", hint)
    if number is DLDeviceType.kDLCUDA:
        return gpu(ordinal, is_rocm=sys.modules["torch"].version.hip is not None)
    return number, ordinal


def read_jax(device: Any) -> Pair | None:
    """Read a ``jax.Device``: all that it makes of the CPU are the host."""
    if device.platform == "cpu":
        return DLDeviceType.kDLCPU, 0
    if device.platform not in {"gpu", "cuda", "rocm"}:
        return None
    version = str(getattr(device.client, "platform_version", ""))
    return gpu(device.local_hardware_id, is_rocm="rocm" in version.lower())


def _read_cuda_core(device: Any) -> Pair:
    """Read a ``cuda.core.Device``."""
    return DLDeviceType.kDLCUDA, device.device_id


def _read_cupy(device: Any) -> Pair:
    """Read a ``cupy.cuda.Device``."""
    return gpu(device.id, is_rocm=bool(sys.modules["cupy"].cuda.runtime.is_hip))


_READERS: Final = {
    ("cuda", "Device"): _read_cuda_core,
    ("cupy", "Device"): _read_cupy,
    ("jax", "Device"): read_jax,
    ("jaxlib", "Device"): read_jax,
}
"""Top-level module and name of a type -> what reads its objects."""
_TORCH_DEVICE: Final = ("torch", "device")


def read_device(value: object, call: str) -> Pair | None:
    """Return the device that an object of a library stands for, None for anything else.

    Raises
    ------
    UnsupportedDeviceError
        DLPack has no number for it, or it stands for one or another (DLP-DEV-1).
    """
    kind = (module_of(type(value)).partition(".")[0], type(value).__name__)
    if kind == _TORCH_DEVICE:
        found = _read_torch(value, call)
    elif kind in _READERS:
        found = _READERS[kind](value)
    else:
        return None
    if found is None:
        what = f"device={show(value)} has no number in DLPack"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-1", "say where the memory is: 'cpu'")
    return found
