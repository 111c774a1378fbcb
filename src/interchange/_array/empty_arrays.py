"""New arrays whose elements are not set yet: on the host, page-locked, or on a device.

Source: array API standard 2025.12 (``empty``); CUDA driver API, Memory Management.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange import _core
from interchange._streams.driver import driver_of
from interchange._types.devices import CPU
from interchange._types.layout import Layout, c_strides
from interchange._types.spec import Spec

from .allocations import allocate, allocate_managed, allocate_pinned
from .copy_into import LOCKED_OF
from .host_copies import fresh_memory

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from interchange._core import Tensor
    from interchange._types.devices import Device
    from interchange._types.dtypes import DType

    T = TypeVar("T", bound="Tensor")


def empty_array(
    shape: tuple[int, ...],
    dtype: DType,
    device: Device,
    cls: type[T],
    call: str,
    *,
    allocator: Any = None,
    stream: int | None = None,
) -> T:
    """Return a writable array in C order whose elements are not set.

    `allocator`, `stream`: as for `allocate`, of memory of a device.

    Raises DriverUnavailableError, OutOfDeviceMemoryError: as the driver of the device.
    """
    spec = Spec(dtype, device, Layout(shape, c_strides(shape)))
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, cls)
    ptr, owner = _memory(spec, device, call, allocator, stream)
    return _core.describe(ptr, spec, 0, owner, owner, cls)


def _memory(
    spec: Spec, device: Device, call: str, allocator: Any, stream: int | None
) -> tuple[int, Any]:
    """Return the address of new memory on a device, and its owner."""
    if device is CPU:
        return fresh_memory(spec.nbytes)
    driver = driver_of(device, call)
    if device.type in LOCKED_OF:
        found = allocate(driver, spec.nbytes, device.id, call, stream, allocator)
    elif device.type in LOCKED_OF.values():
        found = allocate_pinned(driver, spec.nbytes, device.id, call)
    else:
        found = allocate_managed(driver, spec.nbytes, driver.current_device(call), call)
    return found.ptr, found
