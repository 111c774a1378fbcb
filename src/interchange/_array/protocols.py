"""The protocols that an Array supports.

Source: array API standard 2025.12, ``array.__dlpack__``, ``__dlpack_device__``,
``__array_namespace__``; CUDA Array Interface, version 3; NumPy array interface; PEP 688.
"""

from __future__ import annotations

from typing import Any

from interchange._protocols import cuda_array_interface, dlpack, host
from interchange._types.errors import CopyNeededError, UnsupportedDTypeError, show

from .array_base import ArrayBase
from .dlpack_export import export_array
from .namespace import namespace_of


class Protocols(ArrayBase):
    """The special methods that other libraries call."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return `interchange.xp`, whose functions take this array.

        Parameters
        ----------
        api_version : str, optional
            The requested version of the standard: 2021.12 to 2025.12; each is contained in the
            last.

        Raises
        ------
        ViewError
            The version is unknown (IX-XP-6).
        """
        return namespace_of(api_version)

    def _export(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return the result of the core's ``__dlpack__``, for any combination of arguments."""
        return export_array(self, stream, max_version, dl_device, copy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return an ndarray, sharing the memory if `dtype` and `copy` allow it."""
        dlpack.check_copy(copy, "Array.__array__()")
        array = host.as_ndarray(self, "Array.__array__()")
        if dtype is not None and dtype != array.dtype:
            if copy is False:
                what = f"dtype {array.dtype} as {show(dtype)}"
                raise CopyNeededError("Array.__array__()", what, "DLP-COPY-1")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __numpy_dtype__(self) -> Any:
        """The NumPy dtype of the elements: NumPy and JAX accept arrays as dtype-likes."""
        return self.dtype.__numpy_dtype__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        record = host.array_interface(self)
        if record is None:
            raise AttributeError("__array_interface__")
        return record

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The record of device memory; host memory has none, so that ``hasattr`` works."""
        if self.device.type not in cuda_array_interface.REACHABLE:
            raise AttributeError("__cuda_array_interface__")
        try:
            return cuda_array_interface.describe_record(self, 3, "Array.__cuda_array_interface__")
        except UnsupportedDTypeError as error:
            raise AttributeError(str(error)) from None

    def __buffer__(self, flags: int, /) -> memoryview:
        return host.as_memoryview(self, "Array.__buffer__()", flags)

    def __bytes__(self) -> bytes:
        """Return the memory in C order, as a buffer: Python 3.10 and 3.11 request no format."""
        return host.as_memoryview(self, "bytes()").tobytes()

    def as_memoryview(self) -> memoryview:
        """Return a memoryview that shares the memory, read-only unless it is known to be writable.

        Raises
        ------
        UnsupportedDeviceError
            The host cannot read the memory (DLP-DEV-6).
        UnsupportedDTypeError
            The buffer protocol has no format for the element type (BUF-FORMAT-2).
        """
        return host.as_memoryview(self, "Array.as_memoryview()")
