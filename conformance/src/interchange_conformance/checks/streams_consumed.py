"""The streams that consumers request, and whether imported memory is ready on the stream they use.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream) and ``from_dlpack``.  Requests are
tested with fake devices, which need no driver; order is tested with real memory whose producer
delays a write.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance import zoo
from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, CudaError, driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.pending_work import LONG_PATIENCE, PendingWork
from interchange_conformance.registry import area
from interchange_conformance.zoo import Opaque, Producer, StreamOnly
from interchange_conformance.zoo.on_device import OnDevice, place

from ._exports import words
from ._on_devices import (
    CUDA,
    MANAGED,
    PINNED,
    ROCM,
    SHAPE,
    asked_of,
    requests,
    stream_name,
    taken,
)

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("streams")

_SOURCE: Final = "array API standard 2025.12, array.__dlpack__, stream"
_WITH_STREAMS: Final = {"cuda": (CUDA, 0), "rocm": (ROCM, 0)}
_OF_CUDA: Final = {"cuda": (CUDA, 0), "managed": (MANAGED, 0)}
_LARGEST: Final = 2**64 - 1
_FOR: Final = {
    "a-stream": ("cuda", None),
    "legacy": ("cuda", LEGACY),
    "per-thread": ("cuda", PER_THREAD),
    "managed-for-a-stream": ("managed", None),
}
"""Kind of memory, and the stream of the import; None for a new one."""
_WHILE_READING: Final = 0.1  # minimum time for which the work is blocked [seconds]
_TIMES_READING: Final = 5  # and this multiple of the time of an import and a read


_SIGNATURES: Final = {
    **{name: (device, Producer) for name, device in _WITH_STREAMS.items()},
    "cuda-stream-only": ((CUDA, 0), StreamOnly),
    "cuda-opaque": ((CUDA, 0), Opaque),
}
"""Device and kind of a producer: current ones, and those with older ``__dlpack__`` signatures."""


def _sent(consumer: ConsumerUnderTest, device: tuple[int, int]) -> list[Any]:
    """Return the streams that were sent to a fake device; None for an omitted one."""
    asked = requests(consumer, zoo.claiming(device))
    return [keywords.get("stream") for keywords in asked]


def _numbers(sent: list[Any]) -> list[int]:
    """Return those that are numbers."""
    return [stream for stream in sent if isinstance(stream, int)]


# ---------------------------------------------------------------- requests


@check(
    "DLP-STREAM-5",
    source="DLPack Python specification: the consumer must pass the stream it will use",
    severity="SHOULD",
    cases=_SIGNATURES,
)
def producers_with_streams_are_sent_a_stream(
    consumer: ConsumerUnderTest, case: tuple[tuple[int, int], type[Source]]
) -> None:
    """A producer of CUDA or ROCm memory is sent the consumer's stream, also with fewer keywords.

    Pass stream= even for the default stream: without it a producer orders its work before the
    legacy default stream or, as PyTorch, before nothing. Keep it when you call again without
    keywords that an older producer does not accept.
    """
    device, kind = case
    x = zoo.host(kind=kind).but(device=device)
    taken(lambda: consumer.take(x))  # a consumer that refuses the memory uses it on no stream
    asked = asked_of(x)

    silent = [keywords for keywords in asked if keywords.get("stream") is None]
    expect(not silent, f"__dlpack__ was called with {silent[0] if silent else {}}; no stream came")


@check("DLP-STREAM-2", source=f"{_SOURCE}: 0 is disallowed", cases=_OF_CUDA)
def stream_0_is_never_sent_to_cuda(consumer: ConsumerUnderTest, case: tuple[int, int]) -> None:
    """A producer of CUDA memory is sent -1, 1, 2 or a handle, and never 0.

    Send 1 for the legacy default stream, 2 for the per-thread one: translate your library's own 0
    first.
    """
    wrong = [stream for stream in _numbers(_sent(consumer, case)) if stream < -1 or stream == 0]

    expect(not wrong, f"stream={wrong[:1]} was sent to device type {case[0]}")


@check("DLP-STREAM-3", source=f"{_SOURCE}: 1 and 2 are unsupported on ROCm")
def default_streams_of_cuda_are_never_sent_to_rocm(consumer: ConsumerUnderTest) -> None:
    """A producer of ROCm memory is sent -1, 0 or a handle, and never 1 or 2.

    Send 0 for the default stream there: 1 and 2 are CUDA's.
    """
    wrong = [
        stream for stream in _numbers(_sent(consumer, (ROCM, 0))) if stream < -1 or stream in {1, 2}
    ]

    expect(not wrong, f"stream={wrong[:1]} was sent to a ROCm device")


@check("DLP-STREAM-4", source=_SOURCE, cases={**_WITH_STREAMS, "managed": (MANAGED, 0)})
def streams_are_sent_as_ints(consumer: ConsumerUnderTest, case: tuple[int, int]) -> None:
    """The value sent as stream is an int or None, and fits a handle.

    Send the handle, not the object that wraps it: producers look at the type.
    """
    wrong = [
        stream
        for stream in _sent(consumer, case)
        if stream is not None
        and (not isinstance(stream, int) or isinstance(stream, bool) or stream > _LARGEST)
    ]

    expect(not wrong, f"stream={wrong[:1]!r} was sent; a stream is None or an int")


@check("DLP-STREAM-1", source=f"{_SOURCE}: None for devices without streams")
def host_producers_are_sent_no_stream(consumer: ConsumerUnderTest) -> None:
    """A producer of host memory is sent no stream, not even -1.

    Call __dlpack_device__() first, and omit stream for the host: producers refuse any.
    """
    x = zoo.host()

    asked = requests(consumer, x)

    wrong = [keywords for keywords in asked if keywords.get("stream") is not None]
    expect(not wrong, f"__dlpack__ of host memory was called with {wrong[:1]}")


@check(
    "DLP-STREAM-1",
    source="the standard is silent; JAX sends none, for producers refuse it",
    severity="QUIRK",
)
def page_locked_producers_are_sent_no_stream(consumer: ConsumerUnderTest) -> None:
    """A producer of page-locked memory is sent no stream, not even -1.

    Treat it as host memory: several libraries export such arrays as host arrays.
    """
    wrong = [stream for stream in _sent(consumer, (PINNED, 0)) if stream is not None]

    expect(not wrong, f"stream={wrong[:1]} was sent to a producer of page-locked memory")


# ---------------------------------------------------------------- order


def _producer(cuda: Cuda, stream: int | None, kind: str = "cuda") -> OnDevice:
    """Return memory with pending work on a stream."""
    block, _ = place(cuda, kind, SHAPE, "float32")
    return OnDevice(block, SHAPE, "float32", stream=stream, cuda=cuda)


def _warm_up(consumer: ConsumerUnderTest, stream: int | None, kind: str = "cuda") -> None:
    """Import another array before the measured one: loading modules may block the host."""
    cuda = driver()
    x = _producer(cuda, cuda.stream(), kind)
    with contextlib.suppress(Exception):
        if stream is None:
            consumer.values(consumer.take(x))
        else:
            consumer.take_on(stream, x)
    cuda.make_current(0)
    cuda.synchronize()


@check("DLP-STREAM-6", source=_SOURCE, cases=_FOR, on="cuda")
def what_is_taken_is_ready_for_the_stream_it_is_taken_for(
    consumer: ConsumerUnderTest, case: tuple[str, int | None]
) -> None:
    """The stream for which an array is imported waits for its pending work.

    Send the stream that you will use; with -1 nothing waits.
    """
    cuda = driver()
    kind, stream = case
    own, stream = cuda.stream(), stream or cuda.stream()
    _warm_up(consumer, stream, kind)
    x = _producer(cuda, own, kind)
    pending = PendingWork(cuda, x.block.address, x.nbytes, own)

    note("taking an array with work held")
    y = taken(lambda: consumer.take_on(stream, x))

    seen = pending.seen_on(stream)
    said = [keywords.get("stream", "nothing") for keywords in asked_of(x)]
    what = f"taken for {stream_name(stream)}, with stream={said[-1:]} sent to the producer"
    expect(seen.is_ordered(), seen.evidence(what))
    del y


@check("DLP-STREAM-6", source=_SOURCE, on="cuda")
def elements_are_read_when_the_work_is_done(consumer: ConsumerUnderTest) -> None:
    """Without a named stream, reads of an imported array see its pending work.

    Send the stream on which your reads will run: for the legacy default stream, 1.
    """
    _expect_late_reads(consumer, "cuda")


@check(
    "DLP-STREAM-6",
    source=f"{_SOURCE}; it does not speak of managed memory, which the host reaches, too",
    severity="SHOULD",
    on="cuda",
)
def managed_memory_is_read_when_the_work_is_done(consumer: ConsumerUnderTest) -> None:
    """Imported managed memory is read after its pending work has finished.

    If the host reads it, send dl_device=(1, 0), for which the producer waits, or send a stream and
    synchronize it first: the device may still write the memory.
    """
    _expect_late_reads(consumer, "managed")


def _expect_late_reads(consumer: ConsumerUnderTest, kind: str) -> None:
    """Make a consumer import and read memory with blocked work; the work must be visible."""
    cuda = driver()
    own = cuda.stream()
    _warm_up(consumer, None, kind)
    start = time.monotonic()
    _warm_up(consumer, None, kind)
    held = max(_WHILE_READING, _TIMES_READING * (time.monotonic() - start))
    x = _producer(cuda, own, kind)
    pending = PendingWork(cuda, x.block.address, x.nbytes, own, held + LONG_PATIENCE)
    pending.release_later(held)

    note("taking and reading an array with work held")
    y = taken(lambda: consumer.take(x))
    found = consumer.values(y)
    early = pending.is_held
    reports = cuda.reports()
    pending.release()

    told = "".join(f"; the detector reports: {report}" for report in reports)
    expect(
        not early and not reports and set(found) == set(_WORKED),
        f"the elements {found[:3]} were read {'before' if early else 'after'} the pending work was "
        f"done{told}; {_WORKED[:1]} is due",
    )


_WORKED: Final = memoryview(bytes([7] * 4)).cast("f").tolist()
"""Value of a float32 written by `Pending`."""


@check(
    "DLP-STREAM-6",
    source="DLPack Python specification, Semantics: asynchronous execution is enabled",
    severity="QUIRK",
    on="cuda",
)
def an_import_does_not_block_the_host(consumer: ConsumerUnderTest) -> None:
    """An import does not block the host while the producer's work is pending.

    The producer has made your stream wait: there is nothing to synchronize.
    """
    cuda = driver()
    own, stream = cuda.stream(), cuda.stream()
    _warm_up(consumer, stream)
    x = _producer(cuda, own)
    pending = PendingWork(cuda, x.block.address, x.nbytes, own, LONG_PATIENCE)

    note("taking with work held: it holds the GIL while it waits, if it hangs here")
    y = taken(lambda: consumer.take_on(stream, x))

    expect(not pending.release(), "the array was not taken while work on it was held")
    del y


class _Asking(OnDevice):
    """A producer that inspects the requested stream."""

    unknown: int | None = None

    def order(self, consumer: int) -> None:
        """Record whether the driver knows the stream."""
        if consumer > PER_THREAD and self.cuda is not None and not self.cuda.knows(consumer):
            self.unknown = consumer
            return
        super().order(consumer)


@check("DLP-STREAM-7", source=_SOURCE, cases={"named": True, "not-named": False}, on="cuda")
def the_stream_that_is_sent_exists(consumer: ConsumerUnderTest, case: bool) -> None:
    """The handle that is sent to a producer is a stream of the driver.

    Send the CUstream itself as an int, not the address of an object that holds it, and keep the
    stream alive until __dlpack__ has returned.
    """
    cuda = driver()
    block, _ = place(cuda, "cuda", SHAPE, "float32")
    x = _Asking(block, SHAPE, "float32", stream=cuda.stream(), cuda=cuda)

    note("asking the driver for the stream that the consumer sent")
    taken((lambda: consumer.take_on(cuda.stream(), x)) if case else (lambda: consumer.take(x)))

    expect(x.unknown is None, f"stream={x.unknown} was sent, which the driver does not know")


class _Plain(OnDevice):
    """A producer that orders any requested stream without validation."""

    def order(self, consumer: int) -> None:
        """Make the consumer's stream wait, as the standard requires."""
        if consumer not in {-1, self.stream} and self.stream is not None:
            with contextlib.suppress(CudaError):
                self.wait(self.stream, consumer)


@check("DLP-STREAM-8", source="CUDA driver API, Stream capture", on="cuda")
def a_capture_survives_an_import(consumer: ConsumerUnderTest) -> None:
    """Importing an array of the capturing stream for that stream leaves the capture intact.

    Send the stream itself or -1, and neither query nor synchronize; do not use the legacy default
    stream.
    """
    cuda = driver()
    stream = cuda.stream(blocking=True)
    _warm_up(consumer, stream)
    block, _ = place(cuda, "cuda", SHAPE, "float32")
    x = _Plain(block, SHAPE, "float32", stream=stream, cuda=cuda)
    cuda.synchronize()

    said = "was taken"
    with cuda.capture(stream) as capture:
        note("taking an array under capture")
        try:
            consumer.take_on(stream, x)
        except NotApplicable:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal also keeps the capture valid
            said = f"was refused ({words(error)})"
    sent = [keywords.get("stream", "nothing") for keywords in asked_of(x)]
    expect(
        not capture.spoilt,
        f"while its stream {stream} captured, an array {said}; stream={sent[-1:]} was sent, and "
        f"the capture ended with {capture.spoilt}",
    )
