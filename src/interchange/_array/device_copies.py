"""Copies and moves of device memory into new memory: allocate, and call `copy_into`'s steps.

Source: array API standard 2025.12 (``to_device``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._streams.completion import notify_when_done
from interchange._streams.driver import driver_of
from interchange._streams.pending import PendingCopy, PendingWork
from interchange._types.devices import CPU
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.spec import Spec

from .allocations import (
    CopyInProgress,
    allocate,
    allocate_managed,
    allocate_pinned,
    allocate_temporary,
    allocation_of,
)
from .copy_into import LOCKED_OF, draining, giving_back, is_copied_here, prepare
from .host_copies import check_named, copy_elements

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._types.devices import Device

    from .copy_into import Copy

    T = TypeVar("T", bound="Tensor")


def find_move(there: Device, target: Device) -> Callable[[Any, Device, str, Any], Any] | None:
    """Return the function that moves arrays from one device to another, or None."""
    if target.type in LOCKED_OF:
        if there.type is target.type:
            return move_between
        return move_by_driver if there.is_host_accessible else None
    if target is CPU:
        return move_by_driver if there.type in LOCKED_OF else None
    if target.type not in LOCKED_OF.values():
        return None
    if there.is_host_accessible:
        return copy_to_host_kind
    return move_by_driver if LOCKED_OF.get(there.type) is target.type else None


def copy_on_device(
    array: Tensor,
    cls: type[T],
    order: str,
    call: str,
    stream: Any,
    *,
    is_temporary: bool = False,
) -> T:
    """Return a copy of device memory on the same device, on a stream, as `copy_array` says.

    `is_temporary`: whether it is made only to be copied, by interchange, once.
    """
    spec = Spec(array._spec.dtype, array._spec.device, _ordered(array._spec.shape, order))
    return _filled(array, spec, call, stream, cls, is_temporary=is_temporary)


def move_between(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of device memory on another device of the same driver, on a stream.

    An array that is not contiguous is made contiguous on its own device first; its earlier users
    wait for that copy.
    """
    layout = array._spec.layout
    if not layout.size or layout.is_c_contiguous or layout.is_f_contiguous:
        return move_by_driver(array, device, call, stream)
    spec = Spec(array._spec.dtype, device, _keep_order(layout))
    prepare(array, spec, stream, call)  # check the arguments before anything is enqueued
    dense = copy_on_device(array, type(array), "C", call, None, is_temporary=True)
    return _filled(dense, spec, call, stream, type(array), is_of_temporary=True)


def move_by_driver(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy on a device, or of a device's memory in page-locked host memory.

    A copy to a device runs on a stream, and a host array may be written after this returns; a copy
    to the host, whose stream is one of the source's device, is complete.
    """
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    return _filled(array, spec, call, stream, type(array))


def copy_to_host_kind(array: T, device: Device, call: str, stream: Any = None) -> T:
    """Return a host-made copy of host-accessible memory in page-locked or managed memory."""
    check_named(stream, device, call)
    return _copy_by_host(array, device, _keep_order(array._spec.layout), call)


def copy_in_kind(array: T, call: str) -> T:
    """Return a copy, in C order, of page-locked or managed memory in memory of the same kind."""
    return _copy_by_host(array, array._spec.device, _ordered(array._spec.shape, "C"), call)


def _copy_by_host(array: T, device: Device, layout: Layout, call: str) -> T:
    """Return a copy made by the host, in new page-locked or managed memory."""
    spec = Spec(array._spec.dtype, device, layout)
    if not layout.size:
        return _core.describe(0, spec, 0, None, None, type(array))
    driver = driver_of(device, call)
    if device.type in LOCKED_OF.values():
        allocation = allocate_pinned(driver, spec.nbytes, device.id, call)
    else:
        allocation = allocate_managed(driver, spec.nbytes, driver.current_device(call), call)
    with giving_back(allocation):
        copied = _core.describe(allocation.ptr, spec, 0, allocation, allocation, type(array))
        copy_elements(copied, array, call)
    return copied


def _ordered(shape: tuple[int, ...], order: str) -> Layout:
    """Return the contiguous layout of a shape in C or F order."""
    return Layout(shape, (c_strides if order == "C" else f_strides)(shape))


def _keep_order(layout: Layout) -> Layout:
    """Return the layout of a moved array: contiguous, in F order if it was, else in C order."""
    by_columns = layout.is_f_contiguous and not layout.is_c_contiguous
    return _ordered(layout.shape, "F" if by_columns else "C")


def _filled(
    array: Tensor,
    spec: Spec,
    call: str,
    stream: Any,
    cls: type[T],
    *,
    is_temporary: bool = False,
    is_of_temporary: bool = False,
) -> T:
    """Return an array on new memory that the elements of another are copied into.

    `is_temporary`: whether the array is a temporary of a copy.
    `is_of_temporary`: whether the other is one, made for this copy.

    Device memory keeps a source of another library alive until the copy is complete.  Memory that
    interchange allocated is freed only after the work on its device, and need not be kept: if the
    copy is work of another device or context, that device is made to wait for it.  A temporary
    that was made for this copy is freed in the order of its stream; without a pool it stays with
    the copy, since freeing it would make the host wait.
    """
    copy = prepare(array, spec, stream, call)
    if copy is None:
        return _core.describe(0, spec, 0, None, None, cls)
    driver, source, _, chosen, _ = copy
    on_stream = chosen.handle, chosen.ordinal
    is_on_device = spec.device.type in LOCKED_OF
    if is_on_device:
        make = allocate_temporary if is_temporary else allocate
        allocation = make(driver, spec.nbytes, chosen.ordinal, call, chosen.handle)
    else:
        allocation = allocate_pinned(driver, spec.nbytes, chosen.ordinal, call)
    held = source._keepalive if is_on_device and is_copied_here(source) else None
    ours = allocation_of(held)
    is_foreign = held is not None and ours is None
    keep = CopyInProgress(allocation, held) if is_foreign or is_of_temporary else allocation
    with giving_back(allocation), draining(driver, chosen, call):
        target = _core.describe(allocation.ptr, spec, 0, keep, keep, cls)
        is_read = copy.run(target)
        if not is_on_device:
            return target
        if is_read and ours is not None and ours.is_ordered:
            ours.release_in_order(*on_stream, call)
        elif is_read and ours is not None:
            driver.follow(*on_stream, ours.ordinal, call, ours.ptr)
        driver.follow(*on_stream, allocation.ordinal, call, allocation.ptr)
        work = target._pending_work = _work_on(copy)
        holders = [keep] if isinstance(keep, CopyInProgress) and is_foreign else []
        listeners = [*holders, work] if isinstance(work, PendingCopy) else holders
        if listeners:
            notify_when_done(driver, *on_stream, call, *listeners)
    return target


def _work_on(copy: Copy) -> PendingWork:
    """Return what the result of a copy records, so that its next consumer waits."""
    stream = copy.stream
    if stream.keeps_source:
        rest = copy.driver.lasting_stream(stream.ordinal, copy.call)
        return PendingCopy(stream.handle, stream.ordinal, stream.keep, rest)
    return PendingWork(stream.handle, stream.ordinal, stream.keep)
