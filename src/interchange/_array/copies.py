"""Copies and moves of Arrays: the arguments that say how, who does it, and the host's own copies.

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
from interchange._streams.ordering import wait_on_host
from interchange._streams.rules import NO_SYNC, check_stream, may_be_stream, streams_of
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    StreamError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    ViewError,
    show,
)
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.spec import Spec
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._core import Tensor

T = TypeVar("T", bound="Tensor")

ALIGNMENT: Final = 64  # [bytes]
HOST_KINDS: Final = frozenset(
    {DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost, DLDeviceType.kDLCUDAManaged}
)
"""Types of host-accessible memory that a driver allocates."""
COPIED_BY_DRIVERS: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})
"""Types of devices whose memory a driver copies for us; all other is copied by the host."""


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
        what = f"shape={show(extents)} for {size} elements"
        way_out = "pass extents with that product"
        raise ViewError(call, what, "IX-VIEW-1", way_out)
    return extents


def fresh_memory(nbytes: int) -> tuple[int, Any]:
    """Return the address of fresh host memory, and what keeps it alive."""
    import numpy as np

    block = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = block.__array_interface__["data"][0]
    return -(-start // ALIGNMENT) * ALIGNMENT, block


def copy_array(array: Tensor, cls: type[T], order: str, call: str, stream: Any = None) -> T:
    """Return a copy in fresh memory: on the same device, or on the host where that can read.

    Parameters
    ----------
    array : Tensor
        What to copy.
    cls : type
        What to return.
    order : {"C", "F"}
        Which axis runs fastest.
    call : str
        Named in errors.
    stream : None, int or stream object, optional
        Where to copy device memory; None for the stream that work on it is pending on.

    Raises
    ------
    StreamError
        `stream` is none on that device (DLP-STREAM-1 to DLP-STREAM-4).
    UnsupportedDeviceError
        Nobody here can read the memory (DLP-DEV-6).
    """
    if array._spec.device.type in COPIED_BY_DRIVERS:
        from . import device_copies

        return device_copies.copy_on_device(array, cls, order, call, stream)
    check_named(stream, array._spec.device, call)
    return copy_on_host(array, cls, order, call)


def copy_alike(array: T, call: str, stream: Any) -> T:
    """Return a copy, in C order, on the same device, page-locked or managed if the array is."""
    if array._spec.device.type in HOST_KINDS:
        from . import device_copies

        return device_copies.copy_in_kind(array, call)
    return copy_array(array, type(array), "C", call, stream)


def check_named(stream: Any, device: Device, call: str) -> int | None:
    """Return the handle of a stream where the host makes a copy, or refuse what is none there."""
    handle = stream_handle(stream, call)
    return None if handle is None else check_stream(handle, streams_of(device) or device, call)


def copy_on_host(array: Tensor, cls: type[T], order: str, call: str) -> T:
    """Return a copy of host-accessible memory in plain host memory."""
    host.check_host(array, call)
    spec = array._spec
    shape = spec.shape
    strides = c_strides(shape) if order == "C" else f_strides(shape)
    layout = Layout(shape, strides)
    ptr, block = fresh_memory(spec.nbytes)
    if not layout.size:
        ptr = 0
    fresh = _core.describe(ptr, Spec(spec.dtype, CPU, layout), 0, block, block, cls)
    fill_host(array, fresh, call)
    return fresh


def fill_host(source: Tensor, target: Tensor, call: str) -> None:
    """Copy elements between host-accessible arrays of one shape, after all work on the source."""
    if not source._spec.layout.size:
        return
    if not source._spec.dtype.is_packed:
        elements = host.as_ndarray(source, call, carrier=True)
        host.as_ndarray(target, call, carrier=True)[...] = elements
        return
    check_alike(source._spec, target._spec.layout, call)
    host.raw_bytes(target, readonly=False)[:] = host.raw_bytes(source, readonly=True)


def check_alike(spec: Spec, target: Layout, call: str) -> None:
    """Refuse to rearrange elements that share bytes: they are copied as a whole, or not at all."""
    layout = spec.layout
    by_rows = layout.is_c_contiguous and target.is_c_contiguous
    if not by_rows and not (layout.is_f_contiguous and target.is_f_contiguous):
        what = f"elements are {spec.dtype} with strides {spec.strides}"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-5")


# ---------------------------------------------------------------- moves


def move_array(array: T, device: Any, stream: Any, call: str, *, copy: bool | None = None) -> T:
    """Return the array on `device`, itself where it is there already.

    Parameters
    ----------
    array : Tensor
        What to move.
    device : device-like
        Where to.
    stream : None, int or stream object
        Where to copy; None for the stream that work on the array is pending on.
    call : str
        Named in errors.
    copy : bool or None, default None
        False: an array on the same memory, or an error.

    Raises
    ------
    CopyNeededError
        A copy is needed, and `copy` is False (DLP-COPY-1).
    UnsupportedDeviceError
        Nobody here copies between these devices (DLP-DEV-6).
    """
    target = Device.of(device, call)
    there = array._spec.device
    if target is there:
        _check_unused(stream, there, call)
        return array
    if target is CPU and there.is_host_accessible:
        return share_with_host(array, stream, call)
    return _copy_to(array, target, stream, call, copy=copy)


def _check_unused(stream: Any, device: Device, call: str) -> None:
    """Refuse what is no stream anywhere, though nothing is done on it."""
    if streams_of(device) is not None:
        check_named(stream, device, call)
        return
    handle = stream_handle(stream, call)
    if handle is not None and not may_be_stream(handle):
        raise StreamError(call, f"stream={show(handle)} on {device}", "DLP-STREAM-1")


def share_with_host(array: T, stream: Any, call: str) -> T:
    """Return host-accessible memory as the CPU's, after all work on it; -1 vouches for that."""
    spec = array._spec
    if check_named(stream, spec.device, call) != NO_SYNC:
        wait_on_host(array, call)
    shared = Spec(spec.dtype, CPU, spec.layout)
    return _core.describe(
        array.ptr, shared, array._flags, array._owner, array._keepalive, type(array)
    )


def _copy_to(array: T, target: Device, stream: Any, call: str, *, copy: bool | None) -> T:
    """Return a copy on another device, if a driver or the host can make it."""
    from . import device_copies

    there = array._spec.device
    what = f"moving from {there} to {target}"
    if copy is False:
        raise CopyNeededError(call, what, "DLP-COPY-1")
    move = device_copies.find_move(there, target)
    if move is None:
        stream_handle(stream, call)
        way_out = "move the array with the library that owns the device, then import it"
        raise UnsupportedDeviceError(call, what, "DLP-DEV-6", way_out)
    moved: T = move(array, target, call, stream)
    return moved
