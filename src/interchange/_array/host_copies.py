"""Copies made by the host, and the host's view of memory that it shares with a device.

Source: array API standard 2025.12 (``to_device``).  New memory is aligned to 64 bytes, which some
consumers require before they share host memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols import host
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import wait_on_host
from interchange._streams.rules import NO_SYNC, check_stream, streams_of
from interchange._types.devices import CPU
from interchange._types.errors import UnsupportedDTypeError
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.numpy_dtypes import load_numpy
from interchange._types.spec import Spec

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._types.devices import Device

    T = TypeVar("T", bound="Tensor")


ALIGNMENT: Final = 64  # [bytes]


def fresh_memory(nbytes: int) -> tuple[int, Any]:
    """Return the address of new host memory, and its owner."""
    np = load_numpy()
    block = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = block.__array_interface__["data"][0]
    return -(-start // ALIGNMENT) * ALIGNMENT, block


def check_named(stream: Any, device: Device, call: str) -> int | None:
    """Return the handle of a stream for a copy by the host, or refuse an invalid one."""
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
    copy_elements(fresh, array, call)
    return fresh


def copy_elements(target: Tensor, source: Tensor, call: str) -> None:
    """Copy elements between host-accessible arrays of one shape, after all work on both.

    The result is as if the source were copied first, wherever the two overlap.
    """
    spec, goal = source._spec, target._spec
    if not spec.layout.size:
        return
    for tensor in (source, target):
        wait_until_readable(tensor, call)
    dtype = spec.dtype
    if not dtype.is_packed:
        steps = goal.strides, source.ptr, spec.strides
        _core.copy_strided(spec.shape, dtype.itemsize, target.ptr, *steps)
        return
    check_alike(spec, goal.layout, call)
    _core.copy_strided((spec.nbytes,), 1, target.ptr, (1,), source.ptr, (1,))


def wait_until_readable(tensor: Tensor, call: str) -> None:
    """Let the host wait for the work on memory that it can access, or refuse other memory."""
    if tensor._spec.device is not CPU:
        host.check_host(tensor, call)
        wait_on_host(tensor, call)


def may_overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two arrays may share memory, by the addresses of their first and last bytes."""
    (low, high), (start, end) = (
        tuple(x.ptr + bound for bound in x._spec.layout.byte_bounds(x._spec.dtype.itemsize))
        for x in (one, other)
    )
    return bool(low < end and start < high)


def check_alike(spec: Spec, target: Layout, call: str) -> None:
    """Refuse to rearrange packed elements, which are copied as contiguous bytes only."""
    layout = spec.layout
    by_rows = layout.is_c_contiguous and target.is_c_contiguous
    if not by_rows and not (layout.is_f_contiguous and target.is_f_contiguous):
        what = f"elements are {spec.dtype} with strides {spec.strides}"
        raise UnsupportedDTypeError(call, what, "DLP-DTYPE-5")


def share_with_host(array: T, stream: Any, call: str) -> T:
    """Return host-accessible memory as CPU memory, after all work on it; -1 skips the wait."""
    spec = array._spec
    if check_named(stream, spec.device, call) != NO_SYNC:
        wait_on_host(array, call)
    shared = Spec(spec.dtype, CPU, spec.layout)
    return _core.describe(
        array.ptr, shared, array._flags, array._owner, array._keepalive, type(array)
    )
