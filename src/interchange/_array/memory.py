"""Copies and moves of Arrays, and the arguments that say how.

Source: array API standard 2025.12 (``to_device``, ``reshape``).  Fresh memory is aligned to 64
bytes, which some consumers ask of host memory before they share it.
"""

from __future__ import annotations

from math import prod
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Final, TypeVar

from interchange import _core
from interchange._protocols import host
from interchange._streams.handles import stream_handle
from interchange._terms.devices import CPU, Device
from interchange._terms.errors import (
    ArgumentError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    ViewError,
    show,
)
from interchange._terms.layout import Layout, c_strides, f_strides
from interchange._terms.spec import Spec
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._core import Tensor

T = TypeVar("T", bound="Tensor")

ALIGNMENT: Final = 64  # [bytes]
_PAGE_LOCKED: Final = frozenset({DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost})


def check_order(order: object) -> str:
    """Return an order that is "C" or "F"."""
    if not isinstance(order, str) or order not in {"C", "F"}:
        what = f"order={show(order)}"
        raise ArgumentError("Array", what, "IX-ARGUMENT-1", "pass 'C' or 'F'")
    return order


def check_ints(values: object, name: str, call: str) -> tuple[int, ...]:
    """Return a tuple of exact ints."""
    try:
        if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__getitem__"):
            raise TypeError(values)  # noqa: TRY301 - both kinds are worded alike
        found = tuple(as_index(value) for value in values)  # type: ignore[attr-defined]
    except TypeError as error:
        what = f"{name}={show(values)} is no tuple of ints"
        raise ArgumentError(call, what, "IX-ARGUMENT-1") from error
    return found


def resolve_shape(shape: object, size: int, call: str) -> tuple[int, ...]:
    """Return the extents of a shape in which one may be -1 [elements]."""
    wanted = (shape,) if hasattr(shape, "__index__") else shape
    extents = check_ints(wanted, "shape", call)
    unknown = extents.count(-1)
    known = prod(extent for extent in extents if extent != -1)
    if unknown == 1 and known > 0 and size % known == 0:
        return tuple(size // known if extent == -1 else extent for extent in extents)
    if unknown or any(extent < 0 for extent in extents) or known != size:
        what = f"shape={extents} for {size} elements"
        way_out = "pass extents with that product"
        raise ViewError(call, what, "IX-VIEW-1", way_out)
    return extents


def fresh_memory(nbytes: int) -> tuple[int, Any]:
    """Return the address of fresh host memory, and what keeps it alive."""
    import numpy as np

    block = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = block.__array_interface__["data"][0]
    return -(-start // ALIGNMENT) * ALIGNMENT, block


def copy_array(array: Tensor, cls: type[T], order: str, call: str) -> T:
    """Return a copy in fresh host memory."""
    host.check_host(array, call)
    spec = array._spec
    shape = spec.shape
    strides = c_strides(shape) if order == "C" else f_strides(shape)
    layout = Layout(shape, strides)
    ptr, block = fresh_memory(spec.nbytes)
    if not layout.size:
        ptr = 0
    fresh = _core.describe(ptr, Spec(spec.dtype, CPU, layout), 0, block, block, cls)
    if spec.dtype.is_packed:
        _copy_packed(array, fresh, call)
    elif layout.size:
        source = host.as_ndarray(array, call, carrier=True)
        host.as_ndarray(fresh, call, carrier=True)[...] = source
    return fresh


def _copy_packed(source: Tensor, target: Tensor, call: str) -> None:
    """Copy elements that share bytes, which only works as a whole."""
    if source._spec.layout.size and not (
        source._spec.layout.is_c_contiguous and target._spec.layout.is_c_contiguous
    ):
        what = f"elements are {source._spec.dtype} with strides {source._spec.strides}"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-5")
    host.raw_bytes(target, readonly=False)[:] = host.raw_bytes(source, readonly=True)


def move_array(array: T, device: Any, stream: Any, call: str) -> T:
    """Return the array on `device`, itself where it is there already."""
    target = Device.of(device, call)
    stream_handle(stream, call)
    if target is array.device:
        return array
    if target is CPU and array.device.type in _PAGE_LOCKED:
        spec = Spec(array.dtype, CPU, array._spec.layout)
        return _core.describe(array.ptr, spec, array._flags, array._owner, array._keep, type(array))
    what = f"moving from {array.device} to {target}"
    way_out = "move the array with the library that owns the device, then import it"
    raise UnsupportedDeviceError(call, what, "DLP-DEV-6", way_out)
