"""Copies of device memory by its driver: `copy_into`, and the functions that allocate and call it.

Source: array API standard 2025.12 (``to_device``); CUDA driver API, API synchronization behavior. A
copy on or to a device runs on a stream, and the host does not wait for it, unless it reads
page-locked or managed memory, which the host could write next.  A copy to the host is complete when
the call returns.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.dlpack import READ_ONLY
from interchange._streams.completion import notify_when_done
from interchange._streams.driver import driver_of
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import pending_streams_of
from interchange._streams.pending import PendingCopy, PendingWork, pending_work_of
from interchange._streams.rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
)
from interchange._streams.write_back import EarlierUse, all_users_of, order_back
from interchange._types.devices import CPU
from interchange._types.errors import StreamError, UnsupportedDeviceError
from interchange._types.layout import Layout, c_strides, f_strides
from interchange._types.spec import Spec
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

from . import host_copies
from .allocations import (
    CopyInProgress,
    allocate,
    allocate_managed,
    allocate_pinned,
    allocation_of,
)
from .host_copies import check_alike, check_named, copy_on_host, share_with_host
from .memcpy_plan import plan_copies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._streams.driver import Driver, PitchedCopy
    from interchange._types.devices import Device

    from .allocations import Allocation

    T = TypeVar("T", bound="Tensor")


LOCKED_OF: Final = {
    DLDeviceType.kDLCUDA: DLDeviceType.kDLCUDAHost,
    DLDeviceType.kDLROCM: DLDeviceType.kDLROCMHost,
}
"""Device type whose memory is copied here -> the type of its page-locked host memory."""
DEVICE_OF: Final = {
    DLDeviceType.kDLCUDAManaged: DLDeviceType.kDLCUDA,
    **{locked: device for device, locked in LOCKED_OF.items()},
}
"""Type of host-accessible memory that a driver knows -> the device type of that driver."""
_DEFAULT: Final = {DLDeviceType.kDLCUDA: PER_THREAD_DEFAULT_STREAM, DLDeviceType.kDLROCM: 0}
"""Device type -> the stream of copies if the caller names none and no work is pending."""


# ---------------------------------------------------------------- the primitive


def copy_into(
    driver: Driver,
    target: Tensor,
    source: Tensor,
    plan: list[PitchedCopy] | None,
    stream: CopyStream,
    call: str,
) -> bool:
    """Copy the elements of one array into another; all copies by a driver are made here.

    The stream waits for the work pending on the source, and the earlier users of the source wait
    for the copy.  The host waits if it can access one of the arrays, or has to rearrange elements.
    After an error a copy may still be running: see `_draining`.

    Parameters
    ----------
    driver : Driver
        The driver of the device that one of the arrays is on.
    target, source : Tensor
        Arrays of one shape and element type.
    plan : list of PitchedCopy or None
        The result of `plan_for`.
    stream : CopyStream
        The result of `choose_copy_stream` for the source.
    call : str
        Named in errors.

    Returns
    -------
    bool
        Whether the stream may still read the source.
    """
    to_device, from_device = is_copied_here(target), is_copied_here(source)
    _await_producers(driver, stream, call)
    if plan is None and from_device:
        source = _fetch(driver, source, stream, call)
    if plan is None and not to_device:
        host_copies.copy_into(target, source, call)
        return False
    if plan is None:
        order = "C" if target._spec.layout.is_c_contiguous else "F"
        source = copy_on_host(source, type(source), order, call)
    host_waits = not to_device or (not from_device and _is_driver_memory(driver, source, call))
    for copy in plan or plan_whole(target._spec):
        _enqueue(driver, copy, target.ptr, source.ptr, stream, call)
    if host_waits:
        driver.synchronize(stream.handle, stream.ordinal, call)
        _note_filled(source)
    is_read = plan is not None and from_device and to_device
    if is_read:
        order_back(source._spec.device, stream.handle, stream.ordinal, stream.earlier_uses, call)
    return is_read


def plan_for(source: Spec, target: Spec, call: str) -> list[PitchedCopy] | None:
    """Return the driver's copies that fill `target`, or None if the host has to rearrange elements.

    Between devices, and from the host, a driver copies contiguous bytes only.

    Raises
    ------
    UnsupportedDTypeError
        Packed elements cannot be rearranged (DLP-DTYPE-5).
    """
    layout, goal = source.layout, target.layout
    if source.dtype.is_packed:
        check_alike(source, goal, call)
        return plan_whole(source)
    if target.device.type not in LOCKED_OF or target.device is source.device:
        return plan_copies(source.shape, layout.strides, goal.strides, source.dtype.itemsize)
    by_rows = layout.is_c_contiguous and goal.is_c_contiguous
    by_columns = layout.is_f_contiguous and goal.is_f_contiguous
    return plan_whole(source) if by_rows or by_columns else None


def plan_whole(spec: Spec) -> list[PitchedCopy]:
    """Return the copy of contiguous bytes, if there are any."""
    return plan_copies((spec.nbytes,), (1,), (1,), 1) or []


def is_copied_here(array: Tensor) -> bool:
    """Whether the memory of an array is device memory, which its driver copies."""
    return array._spec.device.type in LOCKED_OF


def _enqueue(
    driver: Driver, copy: PitchedCopy, target: int, source: int, stream: CopyStream, call: str
) -> None:
    """Enqueue one copy between these addresses."""
    to, start = target + copy.target[0], source + copy.source[0]
    if copy.height == copy.depth == 1:
        driver.copy(to, start, copy.width, stream.handle, stream.ordinal, call)
    else:
        placed = copy._replace(target=(to, *copy.target[1:]), source=(start, *copy.source[1:]))
        driver.copy_pitched(placed, stream.handle, stream.ordinal, call)


def _fetch(driver: Driver, array: Tensor, stream: CopyStream, call: str) -> Tensor:
    """Return the whole memory span of a device array in host memory; the host waits."""
    spec = array._spec
    low, high = spec.layout.byte_bounds(spec.dtype.itemsize)
    allocation = allocate_pinned(driver, high - low, stream.ordinal, call)
    with _giving_back(allocation), _draining(driver, stream, call):
        driver.copy(
            allocation.ptr, array.ptr + low, high - low, stream.handle, stream.ordinal, call
        )
        driver.synchronize(stream.handle, stream.ordinal, call)
    _note_filled(array)
    fetched = Spec(spec.dtype, CPU, spec.layout)
    return _core.describe(allocation.ptr - low, fetched, READ_ONLY, None, allocation, type(array))


def _note_filled(array: Tensor) -> None:
    """Note that the host has waited for the work on the memory of an array."""
    for holder in (array._keepalive, pending_work_of(array)):
        if isinstance(holder, (CopyInProgress, PendingCopy)):
            holder.on_done()


def _is_driver_memory(driver: Driver, array: Tensor, call: str) -> bool:
    """Whether the driver reads host memory directly; it stages plain memory before it returns."""
    return array._spec.device is not CPU or driver.pointer_attributes(array.ptr, call) is not None


def _check_known(driver: Driver, array: Tensor, call: str) -> None:
    """Refuse an address unknown to the driver, which would read it as a host address."""
    if driver.pointer_attributes(array.ptr, call) is None:
        what = f"address {array.ptr:#x} on {array._spec.device} is unknown"
        raise UnsupportedDeviceError(call, what, "CAI-DATA-3")


@contextlib.contextmanager
def _giving_back(allocation: Allocation) -> Iterator[None]:
    """Free an allocation at once on an error, although the traceback refers to it."""
    try:
        yield
    except BaseException:
        allocation.release()
        raise


@contextlib.contextmanager
def _draining(driver: Driver, stream: CopyStream, call: str) -> Iterator[None]:
    """Let the host wait for a stream on an error, so that no copy is left running."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            driver.synchronize(stream.handle, stream.ordinal, call)
        raise


# ---------------------------------------------------------------- the stream of a copy


class CopyStream(NamedTuple):
    """The stream that a copy runs on.

    Attributes
    ----------
    handle : int
        The stream.
    ordinal : int
        Its device, needed to identify default streams.
    keep : object
        Kept alive with the stream.
    producers : EarlierUse
        The other streams that work on the source is pending on.
    keeps_source : bool
        Whether `keep` refers to the source, and not only to a stream.
    earlier : tuple[EarlierUse, ...]
        The streams on which the source was used before that.
    """

    handle: int
    ordinal: int
    keep: Any
    producers: EarlierUse
    keeps_source: bool = False
    earlier: tuple[EarlierUse, ...] = ()

    @property
    def earlier_uses(self) -> tuple[EarlierUse, ...]:
        """The uses whose streams have to wait for the copy before they may write again."""
        return (self.producers, *self.earlier)


def check_copy_stream(stream: Any, place: Device, call: str) -> int | None:
    """Return the handle of the stream that the caller names for a copy, or None.

    Parameters
    ----------
    stream : None, int or stream object
        The caller's argument.
    place : Device
        The device of the stream.
    call : str
        Named in errors.

    Raises
    ------
    StreamError
        The value is not a stream of the device, or is -1 (DLP-STREAM-2, DLP-STREAM-3,
        DLP-STREAM-4).
    """
    if stream is None:
        return None
    number = check_stream(stream_handle(stream, call), place, call)
    if number == NO_SYNC:
        what = f"stream=-1 for a copy on {place}, which runs on a stream"
        hint = "name the stream to copy on, or none"
        raise StreamError(call, what, STREAM_RULES[place.type].rule, hint)
    return number


def choose_copy_stream(
    driver: Driver,
    source: Tensor,
    place: Device,
    stream: int | None,
    keep: Any,
    call: str,
    *,
    order_users: bool = False,
) -> CopyStream:
    """Choose the stream of a copy; nothing is enqueued yet.

    Neither the stream nor one that work is pending on may capture: an event between them would
    make the copy part of the capture.

    Parameters
    ----------
    driver : Driver
        The driver of `place`.
    source : Tensor
        The source.
    place : Device
        The device that default streams belong to.
    stream : int or None
        The result of `check_copy_stream`.
    keep : object
        The object that the stream was taken from.
    call : str
        Named in errors.
    order_users : bool
        Whether all earlier users of the source have to wait for the copy, not only the producer.

    Raises
    ------
    StreamError
        A stream does not exist (DLP-STREAM-7), or captures (DLP-STREAM-8).
    """
    pending, home, theirs = pending_streams_of(source, call)
    if pending and home < 0:  # managed memory: default streams are those of the current device
        home = driver.current_device(call)
    for one in pending:
        driver.refuse_capture(one, home, call)
    if stream is None and pending and (home == place.id or not _is_default(pending[-1])):
        work = pending_work_of(source)
        keeps_source = work is not None and work.keeps_source
        producers = EarlierUse(pending[:-1], home, PendingWork(None, home, theirs))
        chosen = CopyStream(pending[-1], place.id, theirs, producers, keeps_source)
    else:
        stream = _DEFAULT[place.type] if stream is None else stream
        others = tuple(one for one in pending if not _are_same(one, home, stream, place.id))
        if len(others) == len(pending):  # the stream is none of those checked above
            driver.refuse_capture(stream, place.id, call)
        producers = EarlierUse(others, home, PendingWork(None, home, theirs))
        chosen = CopyStream(stream, place.id, keep, producers)
    return _add_earlier_users(driver, source, chosen, call) if order_users else chosen


def _add_earlier_users(driver: Driver, source: Tensor, chosen: CopyStream, call: str) -> CopyStream:
    """Return the stream of a copy with the earlier users of its source, which have to wait for it.

    Raises
    ------
    StreamError
        The stream of an earlier user captures (DLP-STREAM-8).
    """
    users = all_users_of(source, call)
    if users and not isinstance(users[0], PendingCopy):  # a finished copy drops its stream
        del users[0]  # it is one of the producers
    home = chosen.producers.ordinal
    known = [(chosen.handle, chosen.ordinal), *((one, home) for one in chosen.producers.streams)]
    earlier = []
    for work in users:
        streams = [
            one
            for one in work.streams_to_tell(call)
            if not any(_are_same(*other, one, work.ordinal) for other in known)
        ]
        for one in streams:
            driver.refuse_capture(one, work.ordinal, call)
            known.append((one, work.ordinal))
        if streams:
            earlier.append(EarlierUse(tuple(streams), work.ordinal, work))
    return chosen._replace(earlier=tuple(earlier))


def _await_producers(driver: Driver, stream: CopyStream, call: str) -> None:
    """Make the stream of a copy wait for the work that is pending on its source."""
    streams, home, _ = stream.producers
    for producer in streams:
        driver.order(producer, stream.handle, home, call, stream.ordinal)


def _is_default(stream: int) -> bool:
    """Whether a number stands for a default stream, of the device that is current."""
    return stream <= PER_THREAD_DEFAULT_STREAM


def _are_same(stream: int, ordinal: int, other: int, where: int) -> bool:
    """Whether two streams are the same; a default stream's number does not identify its device."""
    return stream == other and (ordinal == where or not _is_default(other))


def _work_on(driver: Driver, stream: CopyStream, call: str) -> PendingWork:
    """Return what the result of a copy records, so that its next consumer waits."""
    if stream.keeps_source:
        rest = driver.lasting_stream(stream.ordinal, call)
        return PendingCopy(stream.handle, stream.ordinal, stream.keep, rest)
    return PendingWork(stream.handle, stream.ordinal, stream.keep)


# ---------------------------------------------------------------- copies in new memory


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
        return copy_to_host_kind
    return move_to_host if LOCKED_OF.get(there.type) is target.type else None


def copy_on_device(array: Tensor, cls: type[T], order: str, call: str, stream: Any) -> T:
    """Return a copy of device memory on the same device, on a stream.

    Parameters
    ----------
    array : Tensor
        Memory of a device, CUDA or ROCm.
    cls : type
        The class of the result.
    order : {"C", "F"}
        Which axis runs fastest.
    call : str
        Named in errors.
    stream : None, int or stream object
        Stream of the copy; None for the stream of the pending work.

    Raises
    ------
    StreamError
        `stream` is not a stream of that device, or is -1.
    UnsupportedDTypeError
        Packed elements cannot be rearranged (DLP-DTYPE-5).
    ExchangeError
        The driver does not know the address (CAI-DATA-3), or reported an error (IX-DRIVER-2).
    """
    device = array._spec.device
    number = check_copy_stream(stream, device, call)
    spec = Spec(array._spec.dtype, device, _ordered(array._spec.shape, order))
    plan = plan_for(array._spec, spec, call)
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, cls)
    driver = driver_of(device, call)
    _check_known(driver, array, call)
    chosen = choose_copy_stream(
        driver, array, device, number, stream, call, order_users=plan is not None
    )
    allocation = allocate(driver, spec.nbytes, device.id, call)
    return _fill(driver, allocation, spec, array, call, plan=plan, stream=chosen, cls=cls)


def move_between(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of device memory on another device of the same driver, on a stream.

    An array that is not contiguous is made contiguous on its own device first.
    """
    number = check_copy_stream(stream, device, call)
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    cls = type(array)
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, cls)
    driver = driver_of(device, call)
    _check_known(driver, array, call)
    layout = array._spec.layout
    is_whole = layout.is_c_contiguous or layout.is_f_contiguous
    # The earlier users of an array that is made contiguous first wait for that copy.
    chosen = choose_copy_stream(driver, array, device, number, stream, call, order_users=is_whole)
    allocation = allocate(driver, spec.nbytes, device.id, call)
    if not is_whole:
        with _giving_back(allocation):
            array = copy_on_device(array, cls, "C", call, None)
            chosen = choose_copy_stream(driver, array, device, number, stream, call)
    return _fill(
        driver,
        allocation,
        spec,
        array,
        call,
        plan=plan_whole(spec),
        stream=chosen,
        cls=cls,
        is_gathered=not is_whole,
    )


def move_to_device(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of host-accessible memory on a device, on a stream.

    The array may be written after this returns.
    """
    number = check_copy_stream(stream, device, call)
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, type(array))
    driver = driver_of(device, call)
    if DEVICE_OF.get(array._spec.device.type, device.type) is not device.type:
        array = share_with_host(array, None, call)  # memory of another vendor's driver
    plan = plan_for(array._spec, spec, call)
    chosen = choose_copy_stream(driver, array, device, number, stream, call)
    allocation = allocate(driver, spec.nbytes, device.id, call)
    return _fill(driver, allocation, spec, array, call, plan=plan, stream=chosen, cls=type(array))


def move_to_host(array: T, device: Device, call: str, stream: Any) -> T:
    """Return a copy of device memory in page-locked host memory, complete when this returns.

    Parameters
    ----------
    array : Tensor
        Memory of a device, CUDA or ROCm.
    device : Device
        The device of the result: the CPU, or page-locked memory of the same driver.
    call : str
        Named in errors.
    stream : None, int or stream object
        Stream of the copy; None for the stream of the pending work.
    """
    there = array._spec.device
    number = check_copy_stream(stream, there, call)
    spec = Spec(array._spec.dtype, device, _keep_order(array._spec.layout))
    plan = plan_for(array._spec, spec, call)
    if not spec.layout.size:
        return _core.describe(0, spec, 0, None, None, type(array))
    driver = driver_of(there, call)
    _check_known(driver, array, call)
    chosen = choose_copy_stream(driver, array, there, number, stream, call)
    allocation = allocate_pinned(driver, spec.nbytes, there.id, call)
    return _fill(driver, allocation, spec, array, call, plan=plan, stream=chosen, cls=type(array))


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
    with _giving_back(allocation):
        copied = _core.describe(allocation.ptr, spec, 0, allocation, allocation, type(array))
        host_copies.copy_into(copied, array, call)
    return copied


def _ordered(shape: tuple[int, ...], order: str) -> Layout:
    """Return the contiguous layout of a shape in C or F order."""
    return Layout(shape, (c_strides if order == "C" else f_strides)(shape))


def _keep_order(layout: Layout) -> Layout:
    """Return the layout of a moved array: contiguous, in F order if it was, else in C order."""
    by_columns = layout.is_f_contiguous and not layout.is_c_contiguous
    return _ordered(layout.shape, "F" if by_columns else "C")


def _fill(
    driver: Driver,
    allocation: Allocation,
    spec: Spec,
    source: Tensor,
    call: str,
    *,
    plan: list[PitchedCopy] | None,
    stream: CopyStream,
    cls: type[T],
    is_gathered: bool = False,
) -> T:
    """Return an array on new memory that elements are copied into.

    Device memory keeps a source of another library alive until the copy is complete.  Memory that
    interchange allocated is freed only after the work on its device, and need not be kept: if the
    copy is work of another device or context, that device is made to wait for it.  A contiguous
    temporary made for this copy stays with it (`is_gathered`), since freeing it would make the host
    wait.
    """
    is_on_device = spec.device.type in LOCKED_OF
    held = source._keepalive if is_on_device and is_copied_here(source) else None
    ours = allocation_of(held)
    is_foreign = held is not None and ours is None
    keep = CopyInProgress(allocation, held) if is_foreign or is_gathered else allocation
    with _giving_back(allocation), _draining(driver, stream, call):
        target = _core.describe(allocation.ptr, spec, 0, keep, keep, cls)
        is_read = copy_into(driver, target, source, plan, stream, call)
        if not is_on_device:
            return target
        if is_read and ours is not None:
            driver.follow(stream.handle, stream.ordinal, ours.ordinal, call, ours.ptr)
        driver.follow(stream.handle, stream.ordinal, allocation.ordinal, call, allocation.ptr)
        work = target._pending_work = _work_on(driver, stream, call)
        holders = [keep] if isinstance(keep, CopyInProgress) and is_foreign else []
        listeners = [*holders, work] if isinstance(work, PendingCopy) else holders
        if listeners:
            notify_when_done(driver, stream.handle, stream.ordinal, call, *listeners)
    return target
