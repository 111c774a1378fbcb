"""The stream that a copy runs on: which one, after whose work, and who waits for the copy.

Source: array API standard 2025.12, ``array.to_device`` (stream); CUDA driver API, Stream
synchronization behavior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._streams.handles import stream_handle
from interchange._streams.ordering import all_users_of, pending_streams_of
from interchange._streams.pending import (
    PendingCopy,
    PendingWork,
    pending_work_of,
)
from interchange._streams.rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
)
from interchange._types.errors import StreamError
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._core import Tensor
    from interchange._streams.driver import Driver
    from interchange._types.devices import Device

_UNNAMED: Final = {DLDeviceType.kDLCUDA: PER_THREAD_DEFAULT_STREAM, DLDeviceType.kDLROCM: 0}
"""Device type -> the stream of copies where nobody names one and no work is pending."""


class CopyStream(NamedTuple):
    """The stream that a copy runs on.

    Attributes
    ----------
    handle : int
        The stream's.
    ordinal : int
        The device whose default stream it is, if it is one.
    keep : object
        Kept alive with whatever names the stream.
    producers : tuple[CopyStream, ...]
        The other streams that work on the source was pending on.
    keeps_source : bool
        Whether `keep` has the source, too, and is not a stream alone.
    earlier : tuple[CopyStream, ...]
        The streams on which the source was used before; each `keep` is a `PendingWork`.
    """

    handle: int
    ordinal: int
    keep: Any
    producers: tuple[CopyStream, ...] = ()
    keeps_source: bool = False
    earlier: tuple[CopyStream, ...] = ()


def check_copy_stream(stream: Any, place: Device, call: str) -> int | None:
    """Return the handle of the stream that a copy is asked to run on; None where none is named.

    Parameters
    ----------
    stream : None, int or stream object
        What the user passed.
    place : Device
        Whose streams are meant.
    call : str
        Named in errors.

    Raises
    ------
    StreamError
        The value names no stream there, or is -1 (DLP-STREAM-2, DLP-STREAM-3, DLP-STREAM-4).
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
    driver: Driver, array: Tensor, place: Device, stream: int | None, keep: Any, call: str
) -> CopyStream:
    """Choose the stream of a copy; nothing is enqueued yet.

    Neither the stream nor the one that work is pending on may capture: an event between them would
    make the copy part of the capture.

    Parameters
    ----------
    driver : Driver
        The driver of `place`.
    array : Tensor
        What will be read.
    place : Device
        Whose default streams are meant.
    stream : int or None
        What `check_copy_stream` returned.
    keep : object
        What the stream was taken from.
    call : str
        Named in errors.

    Raises
    ------
    StreamError
        A stream does not exist (DLP-STREAM-7), or captures (DLP-STREAM-8).
    """
    pending, home, theirs = pending_streams_of(array, call)
    if pending and home < 0:  # of no device in particular: default streams are the current one's
        home = driver.current_device(call)
    work = pending_work_of(array)
    for one in pending:
        driver.refuse_capture(one, home, call)
    producers = tuple(CopyStream(one, home, theirs) for one in pending)
    if stream is None and pending and (home == place.id or not _is_default(pending[-1])):
        keeps_source = work is not None and work.keeps_source
        return CopyStream(pending[-1], place.id, theirs, producers[:-1], keeps_source)
    stream = _UNNAMED[place.type] if stream is None else stream
    others = tuple(one for one in producers if not _are_same(one, stream, place.id))
    if len(others) == len(producers):  # none of those that were looked at
        driver.refuse_capture(stream, place.id, call)
    return CopyStream(stream, place.id, keep, others)


def add_earlier_users(
    driver: Driver, array: Tensor, copy_stream: CopyStream, call: str
) -> CopyStream:
    """Return the stream of a copy that is to be followed by whoever used its source before.

    They are the streams that a producer named where the source was made ready on a consumer's.

    Raises
    ------
    StreamError
        Such a stream captures (DLP-STREAM-8).
    """
    users = all_users_of(array, call)
    if users and not isinstance(users[0], PendingCopy):  # whose stream is forgotten some time
        del users[0]  # it is among the producers
    if not users:
        return copy_stream
    known = [copy_stream, *copy_stream.producers]
    for work in users:
        for one in work.streams_to_tell(call):
            if not any(_are_same(other, one, work.ordinal) for other in known):
                driver.refuse_capture(one, work.ordinal, call)
                known.append(CopyStream(one, work.ordinal, work))
    return copy_stream._replace(earlier=tuple(known[1 + len(copy_stream.producers) :]))


def await_producer(driver: Driver, copy_stream: CopyStream, call: str) -> None:
    """Let the stream of a copy wait for the work that is pending on its source."""
    for producer in copy_stream.producers:
        _order(driver, producer, copy_stream, call)


def order_after(driver: Driver, copy_stream: CopyStream, call: str) -> None:
    """Let whoever used the source before wait for the copy, so that they may write to it again."""
    for user in (*copy_stream.producers, *copy_stream.earlier):
        _order(driver, copy_stream, user, call)
    for user in copy_stream.earlier:
        user.keep.on_told()


def _order(driver: Driver, first: CopyStream, then: CopyStream, call: str) -> None:
    """Make one stream wait for another, perhaps of another device."""
    driver.order(first.handle, then.handle, first.ordinal, call, then.ordinal)


def _is_default(stream: int) -> bool:
    """Whether a number stands for a default stream, of the device that is current."""
    return stream <= PER_THREAD_DEFAULT_STREAM


def _are_same(copy_stream: CopyStream, stream: int, ordinal: int) -> bool:
    """Whether a stream is that of a copy; the number of a default one is not enough."""
    return copy_stream.handle == stream and (
        copy_stream.ordinal == ordinal or not _is_default(stream)
    )


def work_on(driver: Driver, copy_stream: CopyStream, call: str) -> PendingWork:
    """Return what the result of a copy remembers, so that its next consumer waits."""
    if copy_stream.keeps_source:
        rest = driver.lasting_stream(copy_stream.ordinal, call)
        return PendingCopy(copy_stream.handle, copy_stream.ordinal, copy_stream.keep, rest)
    return PendingWork(copy_stream.handle, copy_stream.ordinal, copy_stream.keep)
