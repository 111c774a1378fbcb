"""The stream that a copy runs on: which one, after whose work, and who waits for the copy.

Source: array API standard 2025.12, ``array.to_device`` (stream); CUDA driver API, Stream
synchronization behavior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._streams.handles import stream_handle
from interchange._streams.ordering import pending_on
from interchange._streams.rules import (
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
    check_stream,
)
from interchange._streams.work import Work, work_of
from interchange._terms.errors import StreamError
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._core import Tensor
    from interchange._streams.driver import Driver
    from interchange._terms.devices import Device

_UNNAMED: Final = {DLDeviceType.kDLCUDA: PER_THREAD_DEFAULT_STREAM, DLDeviceType.kDLROCM: 0}
"""Device type -> the stream of copies where nobody names one and no work is pending."""


class Lane(NamedTuple):
    """The stream that a copy runs on.

    Attributes
    ----------
    stream : int
        Its handle.
    ordinal : int
        The device whose default stream it is, if it is one.
    keep : object
        Kept alive with whatever names the stream.
    producer : Lane or None
        The other stream that work on the source was pending on, if there is one.
    """

    stream: int
    ordinal: int
    keep: Any
    producer: Lane | None = None


def check_lane(stream: Any, place: Device, call: str) -> int | None:
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
        way_out = "name the stream to copy on, or none"
        raise StreamError(call, what, STREAM_RULES[place.type].rule, way_out)
    return number


def choose_lane(
    driver: Driver, array: Tensor, place: Device, stream: int | None, keep: Any, call: str
) -> Lane:
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
        What `check_lane` returned.
    keep : object
        What the stream was taken from.
    call : str
        Named in errors.

    Raises
    ------
    StreamError
        A stream does not exist (DLP-STREAM-7), or captures (DLP-STREAM-8).
    """
    pending, home = pending_on(array, call)
    producer = None
    if pending is not None:
        if home < 0:  # of no device in particular: default streams are those of the current one
            home = driver.current_device(call)
        driver.refuse_capture(pending, home, call)
        producer = Lane(pending, home, getattr(work_of(array), "keep", None))
        if stream is None and (home == place.id or not _is_default(pending)):
            return Lane(pending, place.id, producer.keep)
    stream = _UNNAMED[place.type] if stream is None else stream
    if producer is not None and _are_same(producer, stream, place.id):
        return Lane(stream, place.id, keep)
    driver.refuse_capture(stream, place.id, call)
    return Lane(stream, place.id, keep, producer)


def await_producer(driver: Driver, lane: Lane, call: str) -> None:
    """Let the stream of a copy wait for the work that is pending on its source."""
    if lane.producer is not None:
        _order(driver, lane.producer, lane, call)


def hand_back(driver: Driver, lane: Lane, call: str) -> None:
    """Let the producer's stream wait for the copy, so that the source may be written there."""
    if lane.producer is not None:
        _order(driver, lane, lane.producer, call)


def _order(driver: Driver, first: Lane, then: Lane, call: str) -> None:
    """Make one stream wait for another, perhaps of another device."""
    driver.order(first.stream, then.stream, first.ordinal, call, then.ordinal)


def _is_default(stream: int) -> bool:
    """Whether a number stands for a default stream, of the device that is current."""
    return stream <= PER_THREAD_DEFAULT_STREAM


def _are_same(lane: Lane, stream: int, ordinal: int) -> bool:
    """Whether a stream of a device is that of `lane`; the number of a default one is not enough."""
    return lane.stream == stream and (lane.ordinal == ordinal or not _is_default(stream))


def work_on(lane: Lane) -> Work:
    """Return what the result of a copy remembers, so that its next consumer waits."""
    return Work(lane.stream, lane.ordinal, lane.keep)
