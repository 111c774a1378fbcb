"""Device memory in other processes: handles of the driver, and events that order both sides.

Source: CUDA driver API, Interprocess Communication: the exporter keeps the memory as long as it is
open elsewhere; streams of the opener wait for an event of the exporter.  Before an opener gives the
memory back, it waits for its device: what comes later in the exporter needs no wait.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange._streams.driver import driver_of
from interchange._streams.interprocess import HANDLE_BYTES, Interprocess
from interchange._streams.ordering import make_ready, ordinal_for, stream_to_publish
from interchange._streams.pending import WorkOnConsumer, pending_work_of
from interchange._streams.rules import NO_SYNC, check_stream
from interchange._streams.shareable import POOLED, Exported
from interchange._types.devices import Device
from interchange._types.errors import ExchangeError, UnsupportedDeviceError
from interchange.abi.dlpack import DLDeviceType

from .exporter import exporter, request_memory
from .forks import ForkedLock
from .handles import ON_DEVICE, Place, make_handle
from .host_memory import describe_opened, objects_behind, readonly_of, refuse_gone, span_of
from .processes import check_origin, host_id
from .references import References, Referred
from .registry import TOKEN_BYTES

if TYPE_CHECKING:
    import socket
    from typing import TypeVar

    from interchange._core import Tensor
    from interchange._streams.device_driver import Driver
    from interchange._streams.shareable import Opened

    from .handles import SharedHandle

    T = TypeVar("T", bound="Tensor")

_SHARED_TYPES: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})
_MORE: Final = struct.Struct(f"<44s16sB{HANDLE_BYTES}sQ")
"""What a handle adds: the exporter's socket, the device, kind and handle, the size."""
_END_IS_SEEN: Final = 1.0  # time within which the socket of a process that was killed closes [s]
_Key = tuple[str, int, int, int]  # driver, device, address, and number of an allocation


# ---------------------------------------------------------------- export


class _Exported(Referred):
    """An allocation that this process shares."""

    __slots__ = ("_interprocess", "events", "handle", "key", "start", "token")

    def __init__(self, key: _Key, interprocess: Interprocess, start: int, handle: Exported) -> None:
        super().__init__()
        self.key = key
        self.start = start
        self.handle = handle
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self.events: dict[int, int] = {}  # by their home
        self._interprocess = interprocess

    def record(self, stream: int, ordinal: int, call: str) -> None:
        """Let openers wait for the work that is now on a stream."""
        interprocess = self._interprocess
        home = interprocess.home_of(stream, ordinal, call)
        known = self.events.get(home)
        self.events[home] = interprocess.record(known, stream, ordinal, call)

    def answer(self) -> tuple[object, bytes, list[int]] | None:
        """Return what keeps the memory alive, the events, and descriptors; None if nothing does."""
        keep = _references.living(self)
        if not keep:
            return None
        events = [
            self._interprocess.export_event(event, home, "share()")
            for home, event in self.events.items()
        ]
        descriptor = self.handle.descriptor
        return keep, b"".join(events), [] if descriptor < 0 else [descriptor]

    def end(self) -> None:
        """Refuse openers from now on."""
        if _exported.get(self.key) is self:
            del _exported[self.key]
        exporter().withdraw(self.token)
        for home, event in self.events.items():
            self._interprocess.destroy(event, home)
        if self.handle.descriptor >= 0:
            os.close(self.handle.descriptor)


_references = References()
_exported: dict[_Key, _Exported] = {}


def _forget() -> None:
    """Share nothing in a forked child, which cannot use the driver."""
    global _references  # noqa: PLW0603 - another thread of the parent may hold its lock
    _references = References()
    for each in _exported.values():
        if each.handle.descriptor >= 0:
            os.close(each.handle.descriptor)
    _exported.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def share_device(array: Tensor, x: object, call: str) -> SharedHandle:
    """Return a handle of device memory.

    `array`: the memory.
    `x`: the object that it was imported from.

    Raises UnsupportedDeviceError: the driver has no handles for it (IX-SHARE-7).
    Raises StreamError: the stream of its pending work captures (DLP-STREAM-8).
    """
    spec, device, readonly = array._spec, array._spec.device, readonly_of(array)
    if device.type not in _SHARED_TYPES:
        raise UnsupportedDeviceError(call, f"the memory is on {device}", "IX-SHARE-7")
    if not spec.layout.size:
        return make_handle(spec.dtype, device, spec.layout, Place(), readonly=readonly)
    driver = driver_of(device, call)
    where = driver.pointer_attributes(array.ptr, call)
    if where is None or where.type not in _SHARED_TYPES or where.end < span_of(array)[1]:
        what = f"the memory at {array.ptr:#x} is not an allocation of a device"
        raise UnsupportedDeviceError(call, what, "IX-SHARE-7")
    exported = _find_or_export(driver, where.ordinal, where.start, call)
    work, stream = pending_work_of(array), stream_to_publish(array, call)
    if work is not None and stream is not None:
        exported.record(stream, work.ordinal, call)
    end = exporter()
    uuid = Interprocess(driver).device_uuid(where.ordinal, call)
    size = where.end - where.start
    more = _MORE.pack(end.name.encode(), uuid, *exported.handle[:2], size)
    ids = host_id(call), os.geteuid(), os.getpid()
    start = array.ptr - where.start
    place = Place(ON_DEVICE, *ids, token=exported.token, start=start, more=more)
    handle = make_handle(spec.dtype, device, spec.layout, place, readonly=readonly, keep=array)
    with _references.lock:
        _references.refer(exported, [*objects_behind(array, x), handle])
    _references.sweep()
    return handle


def _find_or_export(driver: Driver, ordinal: int, start: int, call: str) -> _Exported:
    """Return the record of an allocation, which answers openers."""
    interprocess = Interprocess(driver)
    key = driver.name, ordinal, start, interprocess.number_of(start)
    found = _exported.get(key)
    if found is not None and key[-1] >= 0:
        return found
    handle = interprocess.export_memory(start, ordinal, call)
    if found is not None and found.handle == handle:
        return found
    made = _Exported(key, interprocess, start, handle)
    if found is None:
        found = _exported.setdefault(key, made)
    else:  # another allocation at this address
        found = _exported[key] = made
    if found is made:
        exporter().offer(made.token, made.answer)
    elif made.handle.descriptor >= 0:  # another thread was faster
        os.close(made.handle.descriptor)
    return found


# ---------------------------------------------------------------- import


class _Imported:
    """An allocation of another process, which is given back when this object dies.

    `peer`: the connection for which the exporter keeps the memory.
    """

    __slots__ = ("__weakref__", "_home", "_interprocess", "_opened", "_peer", "_process")

    def __init__(
        self, interprocess: Interprocess, opened: Opened, home: int, peer: socket.socket
    ) -> None:
        self._peer = peer
        self._interprocess = interprocess
        self._home = home
        self._opened = opened
        self._process = os.getpid()  # a forked child must not close its parent's memory

    @property
    def ptr(self) -> int:
        """The first address."""
        return self._opened.ptr

    def __del__(self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress) -> None:
        if self._process == _process():
            with _suppress(Exception):  # at exit the driver's own globals may be gone
                self._interprocess.close_memory(self._opened, self._home, "close()")
            self._peer.close()


_opening: Final = ForkedLock()
_imported: weakref.WeakValueDictionary[tuple[bytes, int], _Imported] = weakref.WeakValueDictionary()
"""Allocations of other processes that are open here, by token and home."""


def open_device(handle: SharedHandle, cls: type[T], stream: int | None, keep: Any, call: str) -> T:
    """Return a tensor over the device memory of a handle, ready on a stream.

    `stream`: the stream that will use the memory; None for the standard's default.
    `keep`: the object that the stream was taken from.

    Raises ExchangeError: the handle is not from here (IX-SHARE-5), its memory does not exist any
        more (IX-SHARE-4), or the device is not visible (IX-SHARE-7).
    """
    place = handle._place
    check_origin(place.host, place.uid, place.pid, call)
    name, uuid, kind, memory, size = _MORE.unpack(_checked(handle, call))
    driver = driver_of(handle.device, call)
    interprocess = Interprocess(driver)
    ordinal = interprocess.ordinal_of(uuid, call)
    device = Device(handle.device.type, ordinal)
    _check_bounds(handle, size, call)
    if kind > POOLED:
        raise ExchangeError(call, f"memory of kind {kind}", "IX-SHARE-3")
    consumer = check_stream(stream, device, call)
    if place.pid == os.getpid():
        return _own(handle, cls, stream, keep, call)
    peer, events, descriptors = _request(name.rstrip(b"\0").decode("ascii", "replace"), place, call)
    try:
        waiting = check_stream(None, device, call) if consumer == NO_SYNC else consumer
        home = interprocess.home_of(waiting or 0, ordinal, call)
        if consumer is not None and consumer != NO_SYNC:
            for at in range(0, len(events), HANDLE_BYTES):
                interprocess.wait_for(events[at : at + HANDLE_BYTES], consumer, ordinal, call)
        with _opening.lock:
            known = _imported.get((place.token, home))
            if known is None:
                sent = Exported(kind, memory, *descriptors)
                try:
                    opened = interprocess.import_memory(sent, size, home, ordinal, call)
                except ExchangeError as error:
                    _refuse_ended(peer, place, call, error)
                    raise
                known = _Imported(interprocess, opened, home, peer)
                _imported[place.token, home] = known
                peer = None
    finally:
        if peer is not None:
            peer.close()
        for each in descriptors:
            os.close(each)
    found = describe_opened(handle, device, known.ptr, cls, call, owner=known, keep=known)
    if consumer != NO_SYNC:
        where = ordinal_for(device, consumer, call)
        found._pending_work = WorkOnConsumer(consumer, where, keep)
    return found


def _request(name: str, place: Place, call: str) -> tuple[Any, bytes, list[int]]:
    """Ask the exporter to keep the memory: return what `request_memory` does."""
    try:
        found = request_memory(name, place.pid, place.token)
    except OSError as error:
        gone = f"process {place.pid} does not answer ({error})"
        raise ExchangeError(call, gone, "IX-SHARE-4") from error
    if found is None:
        raise refuse_gone(place, call)
    return found


def _refuse_ended(peer: socket.socket, place: Place, call: str, error: ExchangeError) -> None:
    """Raise the error for an exporter that ended, if it did while its memory was opened."""
    peer.settimeout(_END_IS_SEEN)
    try:
        ended = not peer.recv(1)
    except ConnectionError:
        ended = True
    except OSError:  # it runs, and sends nothing
        ended = False
    if ended:
        raise refuse_gone(place, call) from error


def _own(handle: SharedHandle, cls: type[T], stream: int | None, keep: Any, call: str) -> T:
    """Return a tensor over memory that this process itself shares."""
    token = handle._place.token
    found = next((one for one in [*_exported.values()] if one.token == token), None)
    living = [] if found is None else _references.living(found)
    if found is None or not living:
        raise ExchangeError(call, "this process does not share the memory any more", "IX-SHARE-4")
    work = next(filter(None, map(pending_work_of, living)), None)
    made = describe_opened(handle, handle.device, found.start, cls, call, owner=living, keep=living)
    if work is not None:
        made._pending_work = work
    if keep is not None:
        make_ready(made, stream, keep, call)
    return made


def _checked(handle: SharedHandle, call: str) -> bytes:
    """Return what a handle adds for device memory, of the right length."""
    more = handle._place.more
    if len(more) != _MORE.size or handle.device.type not in _SHARED_TYPES:
        raise ExchangeError(call, f"{len(more)} bytes name device memory", "IX-SHARE-3")
    return more


def _check_bounds(handle: SharedHandle, size: int, call: str) -> None:
    """Refuse a handle whose elements are not within its allocation."""
    low, high = handle._spec.byte_bounds()
    start = handle._place.start
    if start + low < 0 or start + high > size:
        what = f"shape {handle.shape} at byte {start} of an allocation of {size} bytes"
        raise ExchangeError(call, what, "IX-SHARE-3")
