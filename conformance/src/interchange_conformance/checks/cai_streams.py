"""Streams of the CUDA Array Interface: those that a library exports, and those it waits for.

Source: CUDA Array Interface, version 3, Synchronization and Lifetime management.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, driver
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.pending_work import LONG_PATIENCE, NEW, PendingWork
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area

from ._records import (
    FIRST_WITH_STREAM,
    SPEC,
    Exporter,
    address_of_elements,
    allocation_of,
    device_array,
    expect_stream,
    is_int,
    record_of,
)

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import ConsumerUnderTest, ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("cai")

_SYNC: Final = "CUDA Array Interface 3, Synchronization"
_COUNT: Final = 256  # size of the memory with pending work [bytes]
_PATIENCE: Final = 0.2  # until pending work continues [seconds]

STREAMS: Final[dict[str, int | None]] = {"handle": None, "legacy": LEGACY, "per-thread": PER_THREAD}
"""Stream with pending work: None for a new stream."""


def _stream(cuda: Cuda, case: int | None) -> int:
    """Return the stream of a case."""
    return cuda.stream() if case is None else case


# ---------------------------------------------------------------- producers


@check("CAI-STREAM-1", source=f"{SPEC}, stream: 0 is disallowed", on="cuda")
def published_streams_are_not_0(producer: ProducerUnderTest) -> None:
    """The stream of a record is None, 1, 2 or a handle.

    Publish 1 for the legacy default stream and 2 for the per-thread one, whose handles may both be
    0 in your own code; leave the key out, or None, when nothing is pending.
    """
    record = record_of(device_array(producer))

    expect_stream(record, "a fresh array")


@check("CAI-STREAM-1", source=f"{SPEC}, stream: 0 is disallowed", cases=STREAMS, on="cuda")
def published_streams_of_busy_arrays_are_not_0(
    producer: ProducerUnderTest, case: int | None
) -> None:
    """The stream of a record is None, 1, 2 or a handle, also where work is pending.

    Publish 1 for the legacy default stream and 2 for the per-thread one, whose handles may both be
    0 in your own code.
    """
    stream = _stream(driver(), case)
    record = record_of(producer.make_on(stream, (_COUNT,), "uint8"))

    expect_stream(record, f"an array that is busy on stream {stream:#x}")


@check("CAI-STREAM-2", source=f"{_SYNC}: producers must ensure", cases=STREAMS, on="cuda")
def published_streams_order_the_pending_work(producer: ProducerUnderTest, case: int | None) -> None:
    """Waiting for the published stream is enough for all pending work on the array.

    Publish the stream of the work. If there are several, make the published one wait for events on
    the others; if you cannot name one, synchronize before you return the record.
    """
    cuda = driver()
    stream, ours = _stream(cuda, case), cuda.stream()
    x = producer.make_on(stream, (_COUNT,), "uint8")
    record = record_of(x)
    if not record.get("version", 0) >= FIRST_WITH_STREAM:
        raise NotApplicable(f"version {record.get('version')} says nothing of streams")
    address = address_of_elements(record)
    if address + _COUNT > allocation_of(cuda, address)[1]:
        raise NotApplicable("the record leaves its allocation")
    pending = PendingWork(cuda, address, _COUNT, stream, _PATIENCE)
    published = record_of(x).get("stream")
    if published is not None:
        cuda.order(published, ours)
    seen = pending.seen_on(ours)

    expect(seen.is_ordered(), seen.evidence(f"pending on {stream:#x}, published {published}"))


@check("DLP-STREAM-7", source="CUDA Array Interface 3, Lifetime management", on="cuda")
def published_streams_live_as_long_as_the_array(producer: ProducerUnderTest) -> None:
    """A published stream exists as long as the array.

    Keep a reference from the array to its stream.
    """
    x = device_array(producer)
    collect()
    producer.subject.release()
    stream = record_of(x).get("stream")

    if is_int(stream) and stream > PER_THREAD:
        expect(driver().knows(stream), f"the published stream {stream:#x} does not exist")


# ---------------------------------------------------------------- consumers


class _Bytes(Exporter):
    """Bytes of device memory, on a stream."""

    def __init__(self, address: int, stream: Any) -> None:
        super().__init__(
            {
                "shape": (_COUNT,),
                "typestr": "|u1",
                "data": (address, False),
                "strides": None,
                "version": 3,
                "stream": stream,
            }
        )


@check("CAI-STREAM-2", source=f"{_SYNC}: synchronize on before", cases=STREAMS, on="cuda")
def published_streams_are_waited_for(consumer: ConsumerUnderTest, case: int | None) -> None:
    """A consumer reads the memory after the work on the published stream.

    Synchronize the stream, make your own stream wait for an event on it, or work on it; 1 and 2 are
    valid handles of the default streams.
    """
    cuda = driver()
    stream = _stream(cuda, case)
    address = cuda.memory(_COUNT)
    x = _Bytes(address, stream)
    _need_reading(consumer, _Bytes(cuda.memory(_COUNT), None))
    pending = PendingWork(cuda, address, _COUNT, stream)
    pending.release_later(_PATIENCE)
    found = set(consumer.values(consumer.take_cai(x)))
    reports = cuda.reports()
    cuda.synchronize()

    saw = f"work that writes {NEW} was pending on the published stream {stream:#x}, and"
    expect(found == {NEW}, f"{saw} {sorted(found)} was read")
    expect(not reports, f"{saw} the detector reports: {'; '.join(reports)}")


@check(
    "CAI-STREAM-2",
    source=f"{_SYNC}: no computation in the provided stream until its operations have taken place",
    cases=STREAMS,
    on="cuda",
)
def published_streams_wait_for_the_consumer(consumer: ConsumerUnderTest, case: int | None) -> None:
    """Later work on the published stream runs after the consumer's use.

    Make the published stream wait for an event after your last work, synchronize, or work on the
    published stream itself: only the consumer knows when its use ends.
    """
    cuda = driver()
    stream = _stream(cuda, case)
    address = cuda.memory(_COUNT)
    works: list[PendingWork] = []
    used: list[int] = []

    def work(own: int) -> None:
        used.append(own)
        works.append(PendingWork(cuda, address, _COUNT, own))

    try:
        consumer.use_cai(_Bytes(address, stream), work)
        if not used:
            raise NotApplicable("use_cai() did not call work()")
        seen = works[0].seen_on(stream)
    finally:
        for one in works:
            one.release()
    words = f"work was pending on the consumer's stream {used[0]:#x} when its use was over"
    expect(seen.is_ordered(), seen.evidence(words))


def _need_reading(consumer: ConsumerUnderTest, x: Any) -> None:
    """Raise `NotApplicable` if a plain record is refused, or cannot be read."""
    try:
        consumer.values(consumer.take_cai(x))
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it does not take bytes: {error!r:.300}") from error


@check("CAI-STREAM-2", source=f"{_SYNC}: when stream is None", severity="QUIRK", on="cuda")
def records_without_a_stream_are_taken_at_once(consumer: ConsumerUnderTest) -> None:
    """Importing a record without a stream does not block the host.

    Use the memory at once, on any stream: without a stream nothing is pending, or the user orders
    the work.
    """
    cuda = driver()
    _need_reading(consumer, _Bytes(cuda.memory(_COUNT), None))
    stream, address = cuda.stream(), cuda.memory(_COUNT)
    consumer.take_cai(_Bytes(cuda.memory(_COUNT), None))
    pending = PendingWork(cuda, address, _COUNT, stream, LONG_PATIENCE)
    y = consumer.take_cai(_Bytes(address, None))
    waited = pending.release()
    cuda.synchronize()
    del y

    expect(not waited, "the host waited for work on a stream that was not published")
