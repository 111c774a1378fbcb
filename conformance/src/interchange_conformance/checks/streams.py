"""Stream order: a producer's pending work runs before the consumer's, without needless waits.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream, dl_device, copy); CUDA driver API,
Stream Management.  Work on the array is blocked by a gate during the export, so that a missing wait
is found on any driver, regardless of timing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, driver
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.pending_work import LONG_PATIENCE, NEW, PendingWork
from interchange_conformance.registry import area

from ._exports import HOST, NEWEST, answer, words
from ._on_devices import (
    NBYTES,
    expect_order,
    exported,
    make_busy,
    make_there,
    need_order,
    stream_name,
    warm_up,
)

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.emucuda.calls import Trace
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("streams")

_SOURCE: Final = "array API standard 2025.12, array.__dlpack__, stream"
_FRESH: Final = 0  # a new stream, in the tables below
_WAITING: Final = ("cuStreamWaitEvent", "Synchronize", "cuStreamBeginCapture")
_ORDERING: Final = ("cuEventRecord", *_WAITING)
_BEFORE_THE_WORK: Final = 0.1  # until the work is released [seconds]


class _Pair(NamedTuple):
    """Stream with pending work, stream of the consumer, and kind of memory."""

    pending: int
    consumer: int | None
    device: str = "cuda"


_PAIRS: Final = {
    "to-another-stream": _Pair(_FRESH, _FRESH),
    "to-legacy": _Pair(_FRESH, LEGACY),
    "to-per-thread": _Pair(_FRESH, PER_THREAD),
    "to-none": _Pair(_FRESH, None),
    "from-legacy": _Pair(LEGACY, _FRESH),
    "from-per-thread": _Pair(PER_THREAD, _FRESH),
    "managed-to-another-stream": _Pair(_FRESH, _FRESH, "managed"),
    "managed-to-legacy": _Pair(_FRESH, LEGACY, "managed"),
}


def _streams(cuda: Cuda, pair: _Pair) -> tuple[int, int | None]:
    """Return the two streams of a pair; new ones if requested."""
    pending = pair.pending or cuda.stream()
    return pending, cuda.stream() if pair.consumer == _FRESH else pair.consumer


@check("DLP-STREAM-6", source=_SOURCE, cases=_PAIRS, on="cuda")
def pending_work_comes_before_the_consumers(producer: ProducerUnderTest, case: _Pair) -> None:
    """Pending work on an array runs before the consumer stream's next work.

    Record an event on your stream and make the consumer's wait for it, before the capsule is made;
    a library that does not track streams cannot do so, and should refuse the argument.
    """
    cuda = driver()
    own, consumer = _streams(cuda, case)
    warm_up(producer, own, consumer, case.device)
    x, address, own = make_busy(producer, own, case.device)
    pending = PendingWork(cuda, address, NBYTES, own)

    note(f"exporting with stream={consumer}, with work held on {stream_name(own)}")
    opened = exported(producer, x, stream=consumer)

    call = f"with work on {stream_name(own)}, __dlpack__(stream={consumer}) returned"
    expect_order(pending, LEGACY if consumer is None else consumer, opened, call)


@check("DLP-STREAM-5", source=f"{_SOURCE}=None is the default", severity="SHOULD", on="cuda")
def a_stream_left_out_is_the_legacy_default(producer: ProducerUnderTest) -> None:
    """__dlpack__() without stream orders pending work before the legacy default stream.

    None is the default of the argument in the standard; with another default, consumers that omit
    the stream race with your work.
    """
    cuda = driver()
    own = cuda.stream()
    need_order(producer)
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own)

    note("exporting without a stream, with work held")
    opened = exported(producer, x)

    expect_order(pending, LEGACY, opened, "with work on a stream, __dlpack__() returned")


@check(
    "DLP-STREAM-6", source=_SOURCE, cases={"another-stream": False, "same-stream": True}, on="cuda"
)
def every_export_waits_anew(producer: ProducerUnderTest, case: bool) -> None:
    """A second export waits too: for another stream, and for work enqueued after the first.

    Do not cache that a stream has waited: pending work may be newer.
    """
    cuda = driver()
    own, first = cuda.stream(), cuda.stream()
    second = first if case else cuda.stream()
    need_order(producer)
    x, address, own = make_busy(producer, own)
    kept = exported(producer, x, stream=first)
    pending = PendingWork(cuda, address, NBYTES, own)

    note("exporting for the second time, with work held")
    opened = exported(producer, x, stream=second)

    call = f"with new work on a stream, a second __dlpack__(stream={second}) returned"
    expect_order(pending, second, opened, call)
    del kept


@check("DLP-STREAM-6", source=f"{_SOURCE} and copy", on="cuda")
def copies_are_made_after_the_pending_work(producer: ProducerUnderTest) -> None:
    """A copy made on export includes pending work, and is ready on the consumer's stream.

    Make the consumer's stream wait for yours first, then copy on the consumer's.
    """
    cuda = driver()
    own, consumer = cuda.stream(), cuda.stream()
    need_order(producer)
    x, address, own = make_busy(producer, own)
    exported(producer, make_busy(producer, own).x, stream=consumer, copy=True)  # to load modules
    pending = PendingWork(cuda, address, NBYTES, own)

    note("exporting a copy, with work held")
    opened = exported(producer, x, stream=consumer, copy=True)

    expect(
        opened.first != address,
        f"copy=True, stream={consumer} returned the array's own memory",
    )
    call = f"with work on a stream, __dlpack__(stream={consumer}, copy=True) returned"
    expect_order(pending, consumer, opened, call)


@check(
    "DLP-STREAM-6",
    source="DLPack Python specification, Semantics: synchronize or wait on the stream",
    severity="QUIRK",
    cases={name: _PAIRS[name] for name in ("to-another-stream", "to-legacy")},
    on="cuda",
)
def an_export_does_not_block_the_host(producer: ProducerUnderTest, case: _Pair) -> None:
    """An export does not block the host while work is pending; only the consumer's stream waits.

    Use an event instead of a synchronization: the specification allows both, but a blocked host
    leaves the device idle.
    """
    cuda = driver()
    own, consumer = _streams(cuda, case)
    warm_up(producer, own, consumer)
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own, LONG_PATIENCE)

    note("exporting with work held: it holds the GIL while it waits, if it hangs here")
    exported(producer, x, stream=consumer)

    expect(
        not pending.release(),
        f"__dlpack__(stream={consumer}) did not return while work on {stream_name(own)} was held",
    )


# ---------------------------------------------------------------- exports without a wait


@check("DLP-STREAM-2", source=f"{_SOURCE}=-1: no synchronization", on="cuda")
def stream_minus_1_does_not_block_the_host(producer: ProducerUnderTest) -> None:
    """stream=-1 returns at once, whatever is pending.

    Return the capsule and do nothing else: the consumer orders the work itself.
    """
    cuda = driver()
    own = cuda.stream()
    warm_up(producer, own, -1)
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own, LONG_PATIENCE)

    note("exporting with stream=-1 and work held")
    exported(producer, x, stream=-1)

    expect(
        not pending.release(),
        "__dlpack__(stream=-1) did not return while work on the array was held",
    )


def _calls(trace: Trace, parts: tuple[str, ...] = _ORDERING) -> list[str]:
    """Return the calls in a trace that order streams, or wait for them."""
    return [name for name in trace.names if any(part in name for part in parts)]


def _trace_of_minus_1(producer: ProducerUnderTest) -> Trace:
    """Return the log of an export with stream=-1, after one that loads modules."""
    cuda = driver()
    own = cuda.stream()
    warm_up(producer, own, -1)
    x, _, own = make_busy(producer, own)
    with cuda.trace() as trace:
        exported(producer, x, stream=-1)
    return trace


@check("DLP-STREAM-2", source=f"{_SOURCE}=-1: no synchronization", on="cuda")
def stream_minus_1_makes_no_stream_wait(producer: ProducerUnderTest) -> None:
    """With stream=-1 neither a stream nor the host waits.

    Check the stream before any driver call: during a capture, -1 keeps the consumer's graph intact.
    """
    found = _calls(_trace_of_minus_1(producer), _WAITING)
    expect(not found, f"__dlpack__(stream=-1) called {', '.join(found)}; nothing is due")


@check("DLP-STREAM-2", source=f"{_SOURCE}=-1: no synchronization", severity="QUIRK", on="cuda")
def stream_minus_1_records_no_event(producer: ProducerUnderTest) -> None:
    """With stream=-1 no event is recorded.

    Return the capsule and do nothing else: the consumer orders the work itself.
    """
    found = _calls(_trace_of_minus_1(producer), ("cuEventRecord",))
    expect(not found, f"__dlpack__(stream=-1) called {', '.join(found)}; nothing is due")


@check("DLP-STREAM-6", source=_SOURCE, severity="QUIRK", on="cuda")
def an_export_to_the_arrays_own_stream_needs_no_wait(producer: ProducerUnderTest) -> None:
    """For the stream of the pending work no event is recorded, and nothing waits.

    Compare the handles first: work on one stream is ordered.
    """
    cuda = driver()
    own = cuda.stream()
    warm_up(producer, own, own)
    x, _, own = make_busy(producer, own)

    with cuda.trace() as trace:
        exported(producer, x, stream=own)

    found = _calls(trace)
    expect(not found, f"for the array's own stream, __dlpack__ called {', '.join(found)}")


# ---------------------------------------------------------------- captures and handles


def _export_under_capture(
    producer: ProducerUnderTest, x: Any, captured: int, stream: int, what: str
) -> None:
    """Export while a stream captures; the capture must succeed, even if the export fails."""
    cuda = driver()
    cuda.synchronize()
    said = "returned a capsule"
    with cuda.capture(captured) as capture:
        note(f"exporting with stream={stream} under capture")
        try:
            producer.open_newest(x, stream=stream)
        except NotApplicable:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal also keeps the capture valid
            said = f"raised {words(error)}"
    expect(
        not capture.spoilt,
        f"while {what}, __dlpack__(stream={stream}) {said}, and the capture ended with "
        f"{capture.spoilt}",
    )


@check(
    "DLP-STREAM-8",
    source="array API standard 2025.12, array.__dlpack__, stream=-1; CUDA driver API, capture",
    on="cuda",
)
def a_capture_survives_stream_minus_1(producer: ProducerUnderTest) -> None:
    """An export with stream=-1 leaves a capture of the consumer's stream intact.

    Make no driver call for -1: most of them invalidate a capture.
    """
    cuda = driver()
    own, consumer = cuda.stream(), cuda.stream()
    warm_up(producer, own, -1)
    x, _, own = make_busy(producer, own)

    _export_under_capture(producer, x, consumer, -1, "another stream captures")


@check("DLP-STREAM-8", source="CUDA driver API, Stream capture", on="cuda")
def a_capture_survives_an_export_to_its_own_stream(producer: ProducerUnderTest) -> None:
    """An array of the capturing stream is exported to that stream, or refused.

    The streams are the same, so there is nothing to wait for: call neither synchronize nor query,
    and do not use the legacy default stream.
    """
    cuda = driver()
    own = cuda.stream()
    warm_up(producer, own, own)
    x, _, own = make_busy(producer, own)

    if own == LEGACY:
        raise NotApplicable("the legacy default stream cannot be captured")
    _export_under_capture(producer, x, own, own, "the array's own stream captures")


@check("DLP-STREAM-8", source="CUDA driver API, Stream capture", severity="SHOULD", on="cuda")
def a_capture_survives_an_export_from_another_stream(producer: ProducerUnderTest) -> None:
    """An array of a stream outside the capture is refused for a capturing stream.

    Call cuStreamIsCapturing() before you make it wait, and raise BufferError: a capture cannot wait
    for work outside it, and the driver invalidates it for the attempt.
    """
    cuda = driver()
    own, consumer = cuda.stream(), cuda.stream()
    warm_up(producer, own, consumer)
    x, _, own = make_busy(producer, own)

    _export_under_capture(producer, x, consumer, consumer, "the consumer's stream captures")


@check("DLP-STREAM-7", source=f"{_SOURCE}: the stream is the consumer's", on="cuda")
def the_consumers_stream_may_go_before_the_memory(producer: ProducerUnderTest) -> None:
    """The consumer's stream can be destroyed after the export, before the memory.

    Keep no handle of the consumer's stream: neither the deleter nor a later export may use it.
    """
    cuda = driver()
    own, consumer = cuda.stream(), cuda.stream()
    later = cuda.stream()  # a driver may reuse the handle of a destroyed stream
    x, _, own = make_busy(producer, own)
    owned = exported(producer, x, stream=consumer).consume()
    cuda.synchronize()
    cuda.destroy(consumer)

    note("releasing memory after the stream that it was handed over on")
    owned.release()
    note("exporting again after the consumer's first stream was destroyed")
    found = answer(producer, x, stream=later)
    if isinstance(found, Exception):
        raise Found(f"after the first consumer's stream was destroyed, exporting to another raised "
                    f"{words(found)}")  # fmt: skip


# ---------------------------------------------------------------- exports to the host


@check(
    "DLP-STREAM-9",
    source="array API standard 2025.12, array.__dlpack__, dl_device",
    cases={"cuda": "cuda", "managed": "managed", "pinned": "pinned"},
    on="cuda",
)
def the_host_gets_memory_when_the_work_is_done(producer: ProducerUnderTest, case: str) -> None:
    """With dl_device=(1, 0) the array is exported after its pending work has finished.

    Synchronize the stream of the work before __dlpack__ returns: the host has no stream that could
    wait. Do so for managed and page-locked memory, too: the host would read too early.
    """
    cuda = driver()
    own = cuda.stream()
    x, address, own = make_busy(producer, own, case)
    exported(producer, make_busy(producer, own, case).x, dl_device=HOST)  # to load modules
    pending = PendingWork(cuda, address, NBYTES, own, LONG_PATIENCE)
    pending.release_later(_BEFORE_THE_WORK)

    note("exporting to the host, with work held")
    opened = exported(producer, x, dl_device=HOST)
    early = pending.is_held
    if opened.device == HOST or cuda.kind(opened.first)[0] in {"managed", "pinned"}:
        data = set(b"".join(opened.read()))
        reports = cuda.reports()
        pending.release()
        told = "".join(f"; the detector reports: {report}" for report in reports)
        expect(
            data == {NEW} and not early and not reports,
            f"__dlpack__(dl_device=(1, 0)) returned {'before' if early else 'after'} the work on "
            f"the array was done, and the host saw bytes {sorted(data)}{told}; due is {NEW}",
        )
        return
    raise NotApplicable(f"dl_device=(1, 0) returned memory on device {opened.device}")


@check(
    "DLP-STREAM-9",
    source="array API standard 2025.12, array.__dlpack__, dl_device",
    severity="SHOULD",
    on="cuda",
)
def a_stream_for_the_host_is_refused(producer: ProducerUnderTest) -> None:
    """With dl_device=(1, 0) a stream other than None is refused.

    Raise ValueError: the host has no streams.
    """
    cuda, x, _ = make_there(producer, "cuda")
    exported(producer, x, dl_device=HOST)

    found = answer(producer, x, stream=cuda.stream(), dl_device=HOST, max_version=NEWEST)

    expect(
        isinstance(found, Exception),
        "__dlpack__(dl_device=(1, 0), stream=...) returned a capsule; no stream is due",
    )
