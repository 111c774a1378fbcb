"""`copy_into`: copies elements between two arrays, by the host or by the driver of a device.

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
from interchange._streams.ordering import note_consumer, pending_streams_of
from interchange._streams.pending import PendingCopy, pending_work_of, without_stream
from interchange._streams.rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
)
from interchange._streams.write_back import EarlierUse, all_users_of, order_back, wait_for
from interchange._types.devices import CPU
from interchange._types.errors import StreamError, UnsupportedDeviceError
from interchange._types.layout import c_strides
from interchange._types.spec import Spec
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

from .allocations import CopyInProgress, allocate_pinned, allocate_temporary, allocation_of
from .host_copies import (
    check_alike,
    check_named,
    copy_elements,
    share_with_host,
    wait_until_readable,
)
from .memcpy_plan import plan_copies
from .peer_copies import Side, is_relayed, relay
from .staging import Elements, is_long, receive, send

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange._core import Tensor
    from interchange._streams.device_driver import Driver, PitchedCopy
    from interchange._streams.pending import PendingWork
    from interchange._types.devices import Device

    from .allocations import Allocation


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


def copy_into(target: Any, source: Any, stream: Any, call: str) -> None:
    """Copy the elements of one array into another, in the order of all other work on both.

    The copy waits for the work pending on both arrays, and their earlier users wait for the copy.
    The source may be freed, and if the host can access it, written, when this returns.

    `target`: writable; its elements overlap neither each other nor those of `source`.
    `source`: of the same shape and element type.
    `stream`: as for `copy_array`; without one and without work pending on a source on a device, the
        stream of the work that is pending on the target.

    Raises StreamError: `stream` is not a stream of the device, or is -1, or a stream captures.
    Raises UnsupportedDeviceError: neither the host nor a driver can access both arrays (DLP-DEV-6,
        CAI-DATA-3).
    Raises UnsupportedDTypeError: packed elements cannot be rearranged (DLP-DTYPE-5).
    """
    if not (is_copied_here(target) or is_copied_here(source)):
        check_named(stream, source._spec.device, call)
        copy_elements(target, source, call)
        return
    key = tuple(slice(None, None, -1 if step < 0 else None) for step in target._spec.strides)
    copy = prepare(source[key], target[key]._spec, stream, call, target)
    if copy is None:
        return
    driver, chosen = copy.driver, copy.stream
    handle, ordinal, device = chosen.handle, chosen.ordinal, target._spec.device
    before = EarlierUse(*pending_streams_of(target, call)[:2], None, pending_work_of(target))
    for one in before.streams:
        driver.refuse_capture(one, before.ordinal, call)
    uses = _uses_to_order(driver, [(handle, ordinal)], all_users_of(target, call), call)
    with draining(driver, chosen, call):
        wait_for(device, handle, ordinal, (before,), call)
        is_read = copy.run(target[key])
        order_back(device, handle, ordinal, uses, call)
        if not is_copied_here(target):
            return
        note_consumer(target, handle, chosen.keep, call, without_stream(before.keep, handle))
        ours = allocation_of(target._keepalive)
        if ours is not None:
            driver.follow(handle, ordinal, ours.ordinal, call, ours.ptr)
        if is_read:
            copy.keep_source()


def copy_into_part(whole: Any, key: Any, source: Any, stream: Any, call: str) -> None:
    """Copy elements into a part of an array, as `copy_into`; the work is pending on all of it.

    `key`: the index of the part, for a view.
    `stream`: not used where neither memory is that of a device with streams.
    """
    part = whole[key]
    has_streams = {whole.device.type, source.device.type} & STREAM_RULES.keys()
    copy_into(part, source, stream if has_streams else None, call)
    work = pending_work_of(part)
    if work is not None:
        whole._pending_work = work


class _SourceInUse:
    """Keeps a source alive until a copy into memory of another owner is complete."""

    __slots__ = ("__weakref__", "_source")

    def __init__(self, source: object) -> None:
        self._source = source
        _in_use.add(self)

    def on_done(self) -> None:
        """Release the source."""
        _in_use.discard(self)


_in_use: Final[set[_SourceInUse]] = set()


class Copy(NamedTuple):
    """A copy by a driver whose arguments are checked; nothing is enqueued yet."""

    driver: Driver
    source: Any
    # The driver's copies; None if the host has to rearrange elements.
    plan: list[PitchedCopy] | None
    stream: CopyStream
    call: str

    def run(self, target: Any) -> bool:
        """Copy the elements, and return whether the stream may still read the source.

        The stream waits for the work pending on the source, and the earlier users of the source
        wait for the copy.  The host waits if it can access one of the arrays, or has to rearrange
        elements.  After an error a copy may still be running: see `draining`.
        """
        driver, source, plan, stream, call = self
        to_device, from_device = is_copied_here(target), is_copied_here(source)
        place = target._spec.device if to_device else source._spec.device
        wait_for(place, stream.handle, stream.ordinal, (stream.producers,), call)
        if plan is None and from_device:
            source = _fetch(driver, source, stream, call)
        if plan is None and not to_device:
            copy_elements(target, source, call)
            return False
        if plan is None:
            self._upload(target, source)
            return False
        host_waits = not to_device or (not from_device and _is_driver_memory(driver, source, call))
        self._enqueue_all(target, source)
        if host_waits:
            driver.synchronize(stream.handle, stream.ordinal, call)
            _note_filled(source)
        is_read = from_device and to_device
        if is_read and not _is_temporary(source):
            order_back(place, stream.handle, stream.ordinal, stream.earlier_uses, call)
        return is_read

    def _enqueue_all(self, target: Tensor, source: Tensor) -> None:
        """Enqueue the driver's copies, or pieces between devices without a direct path."""
        driver, _, plan, stream, call = self
        sides, on = [target._spec.device, source._spec.device], (stream.handle, stream.ordinal)
        is_between = sides[0] is not sides[1] and sides[0].type is sides[1].type
        size, ptrs = target._spec.nbytes, (target.ptr, source.ptr)
        if is_between and is_relayed(driver, ptrs, size, on, call):
            to, start = (Side(ptr, one.id) for ptr, one in zip(ptrs, sides, strict=True))
            relay(driver, to, start, size, on, call)
        elif self._is_received(target):
            receive(driver, _elements_of(target), _elements_of(source), on, call)
        else:
            driver.copy_planned(plan or [], *ptrs, *on, call)

    def _is_received(self, target: Tensor) -> bool:
        """Whether elements with gaps go to plain host memory, by way of page-locked memory."""
        if is_copied_here(target) or not self.plan or not is_long(target._spec.nbytes):
            return False
        is_whole = len(self.plan) == self.plan[0].height == self.plan[0].depth == 1
        return not (is_whole or _is_driver_memory(self.driver, target, self.call))

    def _upload(self, target: Tensor, source: Tensor) -> None:
        """Copy host elements in the order of a device array; one with gaps gets a copy of them."""
        driver, _, _, stream, call = self
        spec, on = target._spec, (stream.handle, stream.ordinal)
        layout, itemsize = spec.layout, spec.dtype.itemsize
        wait_until_readable(source, call)
        given, shape = _elements_of(source), spec.shape
        if layout.is_f_contiguous and not layout.is_c_contiguous:
            given = given._replace(shape=shape[::-1], strides=given.strides[::-1])
        if layout.is_c_contiguous or layout.is_f_contiguous:
            send(driver, target.ptr, given, on, call)
            return
        plan = plan_copies(shape, c_strides(shape), layout.strides, itemsize, is_limited=False)
        staged = allocate_temporary(driver, spec.nbytes, stream.ordinal, call, stream.handle)
        with giving_back(staged), draining(driver, stream, call):
            send(driver, staged.ptr, given, on, call)
            driver.copy_planned(plan or [], target.ptr, staged.ptr, *on, call)
            staged.release_in_order(*on, call)

    def keep_source(self) -> None:
        """Keep the source alive until the stream has read it."""
        driver, source, _, stream, call = self
        ours = allocation_of(source._keepalive)
        on = stream.handle, stream.ordinal
        if ours is not None and ours.is_ordered:  # a temporary of this copy
            ours.release_in_order(*on, call)
            if ours is source._keepalive:
                return
            ours = None
        if ours is not None:  # freed only after the work on its device
            driver.follow(*on, ours.ordinal, call, ours.ptr)
        else:
            notify_when_done(driver, *on, call, _SourceInUse(source._keepalive))


def prepare(
    source: Tensor,
    goal: Spec,
    stream: Any,
    call: str,
    target: Tensor | None = None,
) -> Copy | None:
    """Check a copy of an array to memory on a device or from one, and choose its stream.

    `goal`: of the target.
    `target`: the target if it exists already: by default its stream is that of the copy.

    Returns None if there are no elements.
    """
    to_device, from_device = goal.device.type in LOCKED_OF, is_copied_here(source)
    place = goal.device if to_device else source._spec.device
    number = check_copy_stream(stream, place, call)
    plan = plan_for(source._spec, goal, call)
    if not goal.layout.size:
        return None
    driver = driver_of(place, call)
    if from_device:
        _check_known(driver, source, call)
    elif DEVICE_OF.get(source._spec.device.type, place.type) is not place.type:
        source = share_with_host(source, None, call)  # memory of another vendor's driver
    if target is not None and number is None and not pending_streams_of(source, call).streams:
        pending = pending_streams_of(target, call)
        if pending.streams and pending.ordinal == place.id:
            number, stream = pending.streams[-1], pending.keep
    order_users = to_device and from_device and plan is not None
    chosen = choose_copy_stream(
        driver, source, place, number, stream, call, order_users=order_users
    )
    return Copy(driver, source, plan, chosen, call)


def plan_for(source: Spec, target: Spec, call: str) -> list[PitchedCopy] | None:
    """Return the driver's copies that fill `target`, or None if the host has to rearrange elements.

    Between devices, and from the host, a driver copies contiguous bytes only.

    Raises UnsupportedDTypeError: packed elements cannot be rearranged (DLP-DTYPE-5).
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


def _is_temporary(array: Tensor) -> bool:
    """Whether an array was made for a copy, so that its memory is not used after it."""
    ours = allocation_of(array._keepalive)
    return ours is not None and ours.is_ordered


def _elements_of(array: Tensor) -> Elements:
    """Return the elements of an array, for copies by way of page-locked memory."""
    spec = array._spec
    return Elements(array.ptr, spec.shape, spec.strides, spec.dtype.itemsize)


def _fetch(driver: Driver, array: Tensor, stream: CopyStream, call: str) -> Tensor:
    """Return the whole memory span of a device array in host memory; the host waits."""
    spec = array._spec
    low, high = spec.layout.byte_bounds(spec.dtype.itemsize)
    allocation = allocate_pinned(driver, high - low, stream.ordinal, call)
    with giving_back(allocation), draining(driver, stream, call):
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
def giving_back(allocation: Allocation) -> Iterator[None]:
    """Free an allocation at once on an error, although the traceback refers to it."""
    try:
        yield
    except BaseException:
        allocation.release()
        raise


@contextlib.contextmanager
def draining(driver: Driver, stream: CopyStream, call: str) -> Iterator[None]:
    """Let the host wait for a stream on an error, so that no copy is left running."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            driver.synchronize(stream.handle, stream.ordinal, call)
        raise


# ---------------------------------------------------------------- the stream of a copy


class CopyStream(NamedTuple):
    """The stream that a copy runs on."""

    handle: int
    ordinal: int  # its device, needed to identify default streams
    keep: Any  # kept alive with the stream
    producers: EarlierUse  # the other streams that work on the source is pending on
    keeps_source: bool = False  # whether `keep` refers to the source, and not only to a stream
    earlier: tuple[EarlierUse, ...] = ()  # the streams on which the source was used before that

    @property
    def earlier_uses(self) -> tuple[EarlierUse, ...]:
        """The uses whose streams have to wait for the copy before they may write again."""
        return (self.producers, *self.earlier)


def check_copy_stream(stream: Any, place: Device, call: str) -> int | None:
    """Return the handle of the stream that the caller names for a copy, or None.

    Raises StreamError: the value is not a stream of the device, or is -1 (DLP-STREAM-2,
        DLP-STREAM-3, DLP-STREAM-4).
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

    `driver`: the driver of `place`.
    `place`: the device that default streams belong to.
    `stream`: the result of `check_copy_stream`.
    `keep`: the object that the stream was taken from.
    `order_users`: whether all earlier users of the source have to wait for the copy, not only the
        producer.

    Raises StreamError: a stream does not exist (DLP-STREAM-7), or captures (DLP-STREAM-8).
    """
    pending, home, theirs = pending_streams_of(source, call)
    if pending and home < 0:  # managed memory: default streams are those of the current device
        home = driver.current_device(call)
    for one in pending:
        driver.refuse_capture(one, home, call)
    if stream is None and pending and (home == place.id or not _is_default(pending[-1])):
        work = pending_work_of(source)
        keeps_source = work is not None and work.keeps_source
        producers = EarlierUse(pending[:-1], home, None, theirs)
        chosen = CopyStream(pending[-1], place.id, theirs, producers, keeps_source)
    else:
        stream = _DEFAULT[place.type] if stream is None else stream
        others = tuple(one for one in pending if not _are_same(one, home, stream, place.id))
        if len(others) == len(pending):  # the stream is none of those checked above
            driver.refuse_capture(stream, place.id, call)
        producers = EarlierUse(others, home, None, theirs)
        chosen = CopyStream(stream, place.id, keep, producers)
    if not order_users:
        return chosen
    return chosen._replace(earlier=_earlier_uses(driver, source, chosen, call))


def _earlier_uses(
    driver: Driver, source: Tensor, chosen: CopyStream, call: str
) -> tuple[EarlierUse, ...]:
    """Return the uses of a source before the producers of its copy's stream."""
    users = all_users_of(source, call)
    if users and not isinstance(users[0], PendingCopy):  # a finished copy drops its stream
        del users[0]  # it is one of the producers
    home = chosen.producers.ordinal
    known = [(chosen.handle, chosen.ordinal), *((one, home) for one in chosen.producers.streams)]
    return _uses_to_order(driver, known, users, call)


def _uses_to_order(
    driver: Driver, known: list[tuple[int, int]], users: list[PendingWork], call: str
) -> tuple[EarlierUse, ...]:
    """Return the uses whose streams have to wait for a copy, without those that are known.

    Raises StreamError: the stream of an earlier user captures (DLP-STREAM-8).
    """
    earlier = []
    for work in users:
        keep = work.keepalive
        streams = [
            one
            for one in work.streams_to_order(call)
            if not any(_are_same(*other, one, work.ordinal) for other in known)
        ]
        for one in streams:
            driver.refuse_capture(one, work.ordinal, call)
            known.append((one, work.ordinal))
        if streams:
            earlier.append(EarlierUse(tuple(streams), work.ordinal, work, keep))
    return tuple(earlier)


def _is_default(stream: int) -> bool:
    """Whether a number stands for a default stream, of the device that is current."""
    return stream <= PER_THREAD_DEFAULT_STREAM


def _are_same(stream: int, ordinal: int, other: int, where: int) -> bool:
    """Whether two streams are the same; a default stream's number does not identify its device."""
    return stream == other and (ordinal == where or not _is_default(other))
