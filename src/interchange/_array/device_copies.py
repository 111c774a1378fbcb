"""Copies and moves of device memory, by its driver alone: no library computes anything here.

Source: array API standard 2025.12 (``to_device``); CUDA driver API, API synchronization behavior.
A copy on or to a device runs on a stream, and the host does not wait for it, except where it is
made from page-locked or managed memory: that could be written next.  A copy to the host is made
when the call returns.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.dlpack import READ_ONLY
from interchange._streams.completion import notify_when_done
from interchange._streams.driver import driver_of
from interchange._streams.pending import PendingCopy, pending_work_of
from interchange._types.devices import CPU
from interchange._types.errors import UnsupportedDeviceError
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.spec import Spec
from interchange.abi.dlpack import DLDeviceType

from .allocations import (
    CopyInProgress,
    allocate,
    allocate_managed,
    allocate_pinned,
    allocation_of,
)
from .copy_streams import (
    add_earlier_users,
    await_producer,
    check_copy_stream,
    choose_copy_stream,
    order_after,
    work_on,
)
from .host_copies import check_alike, check_named, copy_on_host, fill_host, share_with_host
from .memcpy_plan import plan_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._streams.driver import Driver, PitchedCopy
    from interchange._streams.pending import PendingWork
    from interchange._types.devices import Device

    from .allocations import Allocation
    from .copy_streams import CopyStream

    T = TypeVar("T", bound="Tensor")


LOCKED_OF: Final = {
    DLDeviceType.kDLCUDA: DLDeviceType.kDLCUDAHost,
    DLDeviceType.kDLROCM: DLDeviceType.kDLROCMHost,
}
"""Type of devices whose memory is copied here -> the type of host memory that it page-locks."""
DEVICE_OF: Final = {
    DLDeviceType.kDLCUDAManaged: DLDeviceType.kDLCUDA,
    **{locked: device for device, locked in LOCKED_OF.items()},
}
"""Type of host-accessible memory that a driver knows -> the type of that driver's devices."""


def find_move(there: Device, target: Device) -> Callable[[Any, Device, str, Any], Any] | None:
    """Return the function that moves arrays from one device to another, or None."""
    if target.type in LOCKED_OF:
        if there.type is target.type:
            return move_between
        return move_to_device if there.is_host_accessible else None
    if target is CPU:
        return move_to_host if there.type in LOCKED_OF else None
    if target.type not in LOCKED_OF.values():
        return None
    if there.is_host_accessible:
        return lock_pages
    return move_to_host if LOCKED_OF.get(there.type) is target.type else None


def copy_on_device(array: Tensor, cls: type[T], order: str, call: str, stream: Any) -> T:
    """Return a copy of device memory on the same device, on a stream.

    Parameters
    ----------
    array : Tensor
        Memory of a device, CUDA or ROCm.
    cls : type
        What to return.
    order : {"C", "F"}
        Which axis runs fastest.
    call : str
        Named in errors.
    stream : None, int or stream object
        Where to copy; None for the stream that work on the array is pending on.

    Raises
    ------
    StreamError
        `stream` is none on that device, or -1.
    UnsupportedDTypeError
        Packed elements would have to be rearranged (DLP-DTYPE-5).
    ExchangeError
        The driver does not know the address (CAI-DATA-3), or refused (IX-DRIVER-2).
    """
    device = array._spec.device
    number = check_copy_stream(stream, device, call)
    shape = array._spec.shape
    layout = Layout(shape, c_strides(shape) if order == "C" else f_strides(shape))
    spec = Spec(array._spec.dtype, device, layout)
    copies = _plan(array, layout, call)
    if not copies and copies is not None:
        return _core.describe(0, spec, 0, None, None, cls)
    driver = driver_of(device, call)
    _check_known(driver, array, call)
    copy_stream = choose_copy_stream(driver, array, device, number, stream, call)
    if copies is not None:  # else the host waits for what reads the array
        copy_stream = add_earlier_users(driver, array, copy_stream, call)
    allocation = allocate(driver, spec.nbytes, device.id, call)
    if copies is None:
        with _giving_back(allocation):
            rearranged = _copy_through_host(driver, array, cls, order, copy_stream, call)
        return _upload(
            driver, rearranged, spec, allocation, copy_stream._replace(producers=()), call
        )
    with _filling(driver, allocation, copy_stream, call):
        _enqueue(driver, copies, allocation.ptr, array.ptr, copy_stream, call)
        keep, work = _keep_source(driver, copy_stream, allocation, array._keepalive, call)
        order_after(driver, copy_stream, call)
    return _on_device(spec, allocation, keep, work, cls)


def move_between(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of device memory on another device of the same driver, on a stream.

    What does not lie side by side is gathered first, where it is.
    """
    number = check_copy_stream(stream, device, call)
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    cls = type(array)
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, cls)
    driver = driver_of(device, call)
    _check_known(driver, array, call)
    copy_stream = choose_copy_stream(driver, array, device, number, stream, call)
    if _is_whole(array):  # else what gathers it tells them
        copy_stream = add_earlier_users(driver, array, copy_stream, call)
    allocation = allocate(driver, spec.nbytes, device.id, call)
    source = array
    if not _is_whole(array):
        with _giving_back(allocation):
            source = copy_on_device(array, cls, "C", call, None)
            copy_stream = choose_copy_stream(driver, source, device, number, stream, call)
    with _filling(driver, allocation, copy_stream, call):
        driver.copy(
            allocation.ptr, source.ptr, spec.nbytes, copy_stream.handle, copy_stream.ordinal, call
        )
        keep, work = _keep_source(driver, copy_stream, allocation, source._keepalive, call)
        order_after(driver, copy_stream, call)
    if source is not array and keep is allocation:
        # Giving back what was gathered would let the host wait: it stays with the copy.
        keep = CopyInProgress(allocation, source._keepalive)
    return _on_device(spec, allocation, keep, work, cls)


def move_to_device(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of host-accessible memory on a device, on a stream.

    The array may be written when this returns: the driver sets plain host memory aside at once,
    and for page-locked and managed memory, which it copies straight from, the host waits.
    """
    number = check_copy_stream(stream, device, call)
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, type(array))
    driver = driver_of(device, call)
    if DEVICE_OF.get(array._spec.device.type, device.type) is not device.type:
        array = share_with_host(array, None, call)  # another vendor's, which this driver knows not
    if not _is_whole(array):
        array = copy_on_host(array, type(array), "C", call)
    is_shared = (
        array._spec.device is not CPU or driver.pointer_attributes(array.ptr, call) is not None
    )
    copy_stream = choose_copy_stream(driver, array, device, number, stream, call)
    allocation = allocate(driver, spec.nbytes, device.id, call)
    moved = _upload(driver, array, spec, allocation, copy_stream, call)
    if is_shared:
        driver.synchronize(copy_stream.handle, copy_stream.ordinal, call)
    return moved


def move_to_host(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of device memory in page-locked host memory, made when this returns.

    Parameters
    ----------
    array : Tensor
        Memory of a device, CUDA or ROCm.
    device : Device
        What to call the result: the CPU, or page-locked memory of the same driver.
    call : str
        Named in errors.
    stream : None, int or stream object
        Where to copy; None for the stream that work on the array is pending on.
    """
    there = array._spec.device
    number = check_copy_stream(stream, there, call)
    layout = _keep_order(array._spec.layout)
    spec = Spec(array._spec.dtype, device, layout)
    copies = _plan(array, layout, call)
    cls = type(array)
    if not copies and copies is not None:
        return _core.describe(0, spec, 0, None, None, cls)
    driver = driver_of(there, call)
    _check_known(driver, array, call)
    copy_stream = choose_copy_stream(driver, array, there, number, stream, call)
    if copies is None:
        rearranged = _copy_through_host(driver, array, cls, "C", copy_stream, call)
        return rearranged if device is CPU else lock_pages(rearranged, device, call)
    allocation = allocate_pinned(driver, spec.nbytes, there.id, call)
    with _filling(driver, allocation, copy_stream, call):
        _enqueue(driver, copies, allocation.ptr, array.ptr, copy_stream, call)
        driver.synchronize(copy_stream.handle, copy_stream.ordinal, call)
    _note_filled(array)
    return _core.describe(allocation.ptr, spec, 0, allocation, allocation, cls)


def lock_pages(array: T, device: Device, call: str, stream: Any = None) -> T:
    """Return a copy of host-accessible memory in page-locked or managed memory, by the host."""
    check_named(stream, device, call)
    return _copy_as(array, device, _keep_order(array._spec.layout), call)


def copy_in_kind(array: T, call: str) -> T:
    """Return a copy, in C order, of page-locked or managed memory in memory of the same kind."""
    shape = array._spec.shape
    return _copy_as(array, array._spec.device, Layout(shape, c_strides(shape)), call)


def _copy_as(array: T, device: Device, layout: Layout, call: str) -> T:
    """Return a copy by the host, in fresh page-locked or managed memory."""
    spec = Spec(array._spec.dtype, device, layout)
    if not layout.size:
        return _core.describe(0, spec, 0, None, None, type(array))
    driver = driver_of(device, call)
    if device.type in LOCKED_OF.values():
        allocation = allocate_pinned(driver, spec.nbytes, device.id, call)
    else:
        allocation = allocate_managed(driver, spec.nbytes, driver.current_device(call), call)
    with _giving_back(allocation):
        copied = _core.describe(allocation.ptr, spec, 0, allocation, allocation, type(array))
        fill_host(array, copied, call)
    return copied


# ---------------------------------------------------------------- what to copy


def _keep_order(layout: Layout) -> Layout:
    """Return the layout of a moved array: without gaps, in F order if it was, else in C order."""
    by_columns = layout.is_f_contiguous and not layout.is_c_contiguous
    return Layout(layout.shape, (f_strides if by_columns else c_strides)(layout.shape))


def _is_whole(array: Tensor) -> bool:
    """Whether elements lie side by side, so that their bytes are copied as they are."""
    layout = array._spec.layout
    return layout.is_c_contiguous or layout.is_f_contiguous


def _plan(array: Tensor, target: Layout, call: str) -> list[PitchedCopy] | None:
    """Return the driver's copies that fill a layout, or None where the host must rearrange."""
    spec = array._spec
    layout = spec.layout
    if not spec.dtype.is_packed:
        return plan_copies(spec.shape, layout.strides, target.strides, spec.dtype.itemsize)
    check_alike(spec, target, call)
    return plan_copies((spec.nbytes,), (1,), (1,), 1)


def _check_known(driver: Driver, array: Tensor, call: str) -> None:
    """Refuse an address that the driver does not know: it would take it for one of the host's."""
    if driver.pointer_attributes(array.ptr, call) is None:
        what = f"address {array.ptr:#x} on {array._spec.device} is unknown"
        raise UnsupportedDeviceError(call, what, "CAI-DATA-3")


# ---------------------------------------------------------------- copying


@contextlib.contextmanager
def _giving_back(allocation: Allocation) -> Iterator[None]:
    """Give an allocation back at once if something fails, though the traceback has it."""
    try:
        yield
    except BaseException:
        allocation.release()
        raise


@contextlib.contextmanager
def _filling(
    driver: Driver, allocation: Allocation, copy_stream: CopyStream, call: str
) -> Iterator[None]:
    """Fill memory on a stream that waits for the producer; leave nothing running on failure."""
    with _giving_back(allocation):
        await_producer(driver, copy_stream, call)
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):
                driver.synchronize(copy_stream.handle, copy_stream.ordinal, call)
            raise


def _enqueue(
    driver: Driver,
    copies: list[PitchedCopy],
    target: int,
    source: int,
    copy_stream: CopyStream,
    call: str,
) -> None:
    """Enqueue copies between these addresses."""
    for copy in copies:
        to, start = target + copy.target[0], source + copy.source[0]
        if copy.height == copy.depth == 1:
            driver.copy(to, start, copy.width, copy_stream.handle, copy_stream.ordinal, call)
        else:
            placed = copy._replace(target=(to, *copy.target[1:]), source=(start, *copy.source[1:]))
            driver.copy_pitched(placed, copy_stream.handle, copy_stream.ordinal, call)


def _upload(
    driver: Driver, array: T, spec: Spec, allocation: Allocation, copy_stream: CopyStream, call: str
) -> T:
    """Return a copy on a device of host-accessible memory that lies side by side."""
    with _filling(driver, allocation, copy_stream, call):
        driver.copy(
            allocation.ptr, array.ptr, spec.nbytes, copy_stream.handle, copy_stream.ordinal, call
        )
        keep, work = _keep_source(driver, copy_stream, allocation, None, call)
    return _on_device(spec, allocation, keep, work, type(array))


def _keep_source(
    driver: Driver, copy_stream: CopyStream, allocation: Allocation, source: object, call: str
) -> tuple[Allocation | CopyInProgress, PendingWork]:
    """Return what keeps fresh memory alive, and what a stream is filling it from; and that work.

    Both let go of the source when the copy was made.  Memory of ours is not given back before the
    work on its device is done, and need not be kept.  Where that is the work of another device or
    context, its own one is made to follow.
    """
    theirs = allocation_of(source)
    if theirs is not None:
        driver.follow(copy_stream.handle, copy_stream.ordinal, theirs.ordinal, call, theirs.ptr)
    is_foreign = source is not None and theirs is None
    driver.follow(copy_stream.handle, copy_stream.ordinal, allocation.ordinal, call, allocation.ptr)
    work = work_on(driver, copy_stream, call)
    keep = CopyInProgress(allocation, source) if is_foreign else allocation
    holders = [one for one in (keep, work) if isinstance(one, (CopyInProgress, PendingCopy))]
    if holders:
        notify_when_done(driver, copy_stream.handle, copy_stream.ordinal, call, *holders)
    return keep, work


def _on_device(
    spec: Spec,
    allocation: Allocation,
    keep: Allocation | CopyInProgress,
    work: PendingWork,
    cls: type[T],
) -> T:
    """Return an array on fresh memory that a stream is filling."""
    tensor = _core.describe(allocation.ptr, spec, 0, keep, keep, cls)
    tensor._pending_work = work
    return tensor


def _note_filled(array: Tensor) -> None:
    """Note that the host has waited for whatever filled the memory of an array."""
    for holder in (array._keepalive, pending_work_of(array)):
        if isinstance(holder, (CopyInProgress, PendingCopy)):
            holder.on_done()


def _copy_through_host(
    driver: Driver, array: Tensor, cls: type[T], order: str, copy_stream: CopyStream, call: str
) -> T:
    """Return a copy in host memory of what the driver cannot rearrange: its whole span is fetched.

    The host waits, and the elements are put in order there.
    """
    spec = array._spec
    low, high = spec.layout.byte_bounds(spec.dtype.itemsize)
    allocation = allocate_pinned(driver, high - low, copy_stream.ordinal, call)
    with _filling(driver, allocation, copy_stream, call):
        driver.copy(
            allocation.ptr,
            array.ptr + low,
            high - low,
            copy_stream.handle,
            copy_stream.ordinal,
            call,
        )
        driver.synchronize(copy_stream.handle, copy_stream.ordinal, call)
    _note_filled(array)
    fetched = Spec(spec.dtype, CPU, spec.layout)
    staged = _core.describe(allocation.ptr - low, fetched, READ_ONLY, None, allocation, cls)
    return copy_on_host(staged, cls, order, call)
