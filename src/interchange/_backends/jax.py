"""JAX computes on CUDA; on the host if told to.  Its arrays are never written.

Source: array API standard 2025.12; ``jax.numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from interchange._types.devices import CPU
from interchange._types.errors import CopyNeededError, UnsupportedDTypeError
from interchange.abi.dlpack import DLDeviceType

from .dlpack_backend import DLPackBackend
from .names import STANDARD_DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._core import Tensor
    from interchange._types.devices import Device
    from interchange._types.dtypes import DType

_CALL = "Array"
_PLATFORMS = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLROCM: "rocm",
}
_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})


class JAXBackend(DLPackBackend):
    """JAX, which has 64-bit types only where ``jax_enable_x64`` is set."""

    name: ClassVar[str] = "jax"
    is_mutable: ClassVar[bool] = False
    takes_negative_strides: ClassVar[bool] = False

    def __init__(self, device: Device, jax: Any, place: Any) -> None:
        self.array_type = jax.Array
        self._jax = jax
        self._place = place
        super().__init__(device, jax.numpy)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return an array of JAX over described memory, or a copy where it takes no such memory.

        Raises
        ------
        UnsupportedDTypeError
            JAX would silently take a narrower type (DLP-DTYPE-4).
        CopyNeededError
            Elements do not lie side by side (DLP-COPY-1).
        """
        self._check_width(tensor._spec.dtype)
        if not tensor._spec.layout.is_c_contiguous:
            what = f"jax takes no strides {tensor._spec.strides}"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a contiguous copy")
        found = self._jax.numpy.from_dlpack(tensor)
        if tensor._spec.layout.size and found.unsafe_buffer_pointer() != tensor.ptr:
            what = f"jax copied memory at {tensor.ptr:#x}, which is not aligned to 64 bytes"
            raise CopyNeededError(_CALL, what, "DLP-COPY-1", "take a copy")
        return found

    def _check_width(self, dtype: DType) -> None:
        """Refuse 64-bit types where JAX has none."""
        if dtype.name in _WIDE and not self._jax.config.jax_enable_x64:
            what = f"jax has no {dtype} on {self.device}"
            hint = "switch jax_enable_x64 of jax.config on, or cast to a narrower type"
            raise UnsupportedDTypeError(_CALL, what, "DLP-DTYPE-4", hint)

    def find_dtype(self, dtype: DType) -> Any:
        """Return JAX's scalar type, unless JAX would silently take a narrower one."""
        self._check_width(dtype)
        return super().find_dtype(dtype)

    def dtypes(self) -> tuple[str, ...]:
        """Return the names of the element types, with those of 64 bits where they are enabled."""
        wide = self._jax.config.jax_enable_x64
        return tuple(name for name in STANDARD_DTYPES if wide or name not in _WIDE)

    def keywords(self) -> Mapping[str, Any]:
        """Return the device."""
        return {"device": self._place}

    def as_native(self, result: Any) -> Any:
        """Return an array, on the device where arrays are."""
        if isinstance(result, self.array_type):
            return result
        return self.namespace.asarray(result, device=self._place)

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        numpy = importlib.import_module("numpy")
        return numpy.array(native)


def make(device: Device) -> JAXBackend:
    """Return JAX as the library that computes on a device.

    Raises
    ------
    LookupError
        It computes on no such device.
    """
    platform = _PLATFORMS.get(device.type)
    if platform is None:
        raise LookupError(device)
    jax = importlib.import_module("jax")
    try:
        places = jax.devices(platform)
    except RuntimeError:
        raise LookupError(device) from None
    if device is not CPU and device.id >= len(places):
        raise LookupError(device)
    return JAXBackend(device, jax, places[0 if device is CPU else device.id])
