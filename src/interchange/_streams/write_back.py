"""Write-back of order: streams that used memory before wait for later work of interchange.

Source: CUDA Array Interface, version 3, Synchronization; CUDA driver API, Stream synchronization
behavior.  Copies, borrowed memory and libraries that write to it all use
`EarlierUse`, `wait_for` and `order_back`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from interchange._types.devices import ordinal_of
from interchange._types.errors import InterchangeError
from interchange.abi._records import NamedTuple

from .ordering import device_guard, order_streams, ordinal_for
from .pending import PendingWork, WorkOnConsumer, pending_work_of, users_of
from .rules import LEGACY_DEFAULT_STREAM, STREAM_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interchange._types.devices import Device


class EarlierUse(NamedTuple):
    """One earlier use of memory."""

    streams: tuple[int, ...]  # the streams that it was used on
    ordinal: int  # their device
    work: PendingWork | None  # the record of that use, notified once its streams wait
    keep: Any  # keeps the streams alive


def wait_for(
    device: Device,
    stream: int,
    ordinal: int,
    uses: Iterable[EarlierUse],
    call: str,
    *,
    fork: bool = False,
) -> None:
    """Make a stream wait for earlier uses of memory on `device`; `fork` as in `order_streams`."""
    for use in uses:
        for earlier in use.streams:
            order_streams(device, earlier, stream, use.ordinal, call, ordinal, fork=fork)


def order_back(
    device: Device, stream: int, ordinal: int, uses: Iterable[EarlierUse], call: str
) -> bool:
    """Make the streams of earlier uses wait for the work that is now on a stream.

    If an order fails, the host waits for the stream before the error is raised.

    `stream`, `ordinal`: the stream that work was enqueued on, and its device.
    `uses`: the earlier uses.

    Returns whether every use has a stream that now waits.
    """
    all_wait = True
    try:
        for use in uses:
            for user in use.streams:
                order_streams(device, stream, user, ordinal, call, use.ordinal)
            all_wait = all_wait and bool(use.streams)
            if use.work is not None:
                use.work.on_notified()
    except BaseException:
        with contextlib.suppress(InterchangeError):
            order_streams(device, stream, None, ordinal, call)
        raise
    return all_wait


def order_users(tensor: Any, stream: int, call: str) -> None:
    """Make the earlier users of a tensor's memory wait for the work that is now on a stream."""
    device = tensor._spec.device
    order_back(device, stream, ordinal_for(device, stream, call), _uses_of(tensor, call), call)


def _uses_of(tensor: Any, call: str) -> Iterator[EarlierUse]:
    """Yield the earlier uses of a tensor's memory, with the streams that have to wait."""
    for work in all_users_of(tensor, call):
        keep = work.keepalive  # before the streams: a copy drops it when it is done
        yield EarlierUse(work.streams_to_order(call), work.ordinal, work, keep)


def all_users_of(tensor: Any, call: str) -> list[PendingWork]:
    """Return the users whose streams have to wait for work on a tensor, the latest user first.

    The last is the producer.  DLPack does not name the producer's stream: if the producer has a
    CUDA record, the stream is read from there.
    """
    users = users_of(pending_work_of(tensor))
    last = users[-1] if users else None
    if isinstance(last, WorkOnConsumer) and last.origin is None:
        published = _published_by_owner(tensor, call)
        if published is not None:
            users.append(published)
    return users


def _published_by_owner(tensor: Any, call: str) -> PendingWork | None:
    """Return the work that the record of the memory's owner publishes, if it has a record."""
    owner, device = getattr(tensor, "_owner", None), tensor._spec.device
    if owner is None or getattr(owner, "_spec", None) is not None:  # an Array
        return None
    try:
        with device_guard(device, call) or contextlib.nullcontext():
            raw = getattr(owner, "__cuda_array_interface__", None)
    except Exception:  # noqa: BLE001 - a property may raise anything; DLPack suffices
        return None
    stream = raw.get("stream") if isinstance(raw, dict) else None
    if type(stream) is not int or stream <= 0 or device.type not in STREAM_RULES:
        return None
    default = STREAM_RULES[device.type].default
    stream = default if stream == LEGACY_DEFAULT_STREAM else stream
    return PendingWork(stream, ordinal_of(device), owner)
