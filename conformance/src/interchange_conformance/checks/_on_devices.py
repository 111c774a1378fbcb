"""Common code of the checks of device memory: arrays on a requested device, and their addresses.

Source: CUDA driver API, Unified Addressing; array API standard 2025.12, ``array.__dlpack__``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, driver
from interchange_conformance.findings import CannotMakeError, Found, NotApplicable, expect
from interchange_conformance.probes.forms import Form, blocks_of
from interchange_conformance.probes.pending_work import PendingWork

from ._exports import reported_device, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ConsumerUnderTest, ProducerUnderTest
    from interchange_conformance.zoo import Call

SHAPE: Final = (1024,)
NBYTES: Final = 4096  # of SHAPE in float32 [bytes]
CUDA, PINNED, ROCM, MANAGED = 2, 3, 10, 13
WITH_STREAMS: Final = frozenset({CUDA, ROCM, MANAGED})
KINDS: Final = {"cuda": ("cuda", 0), "cuda:1": ("cuda", 1), "managed": ("managed", 0)} | {
    "pinned": ("pinned", 0)
}
"""Name of a device, for ``make`` -> the driver's name of such memory."""
NAMES: Final = {LEGACY: "the legacy default stream", PER_THREAD: "the per-thread default stream"}


def stream_name(stream: int) -> str:
    """Return the name of a stream."""
    return NAMES.get(stream, f"stream {stream:#x}")


def address_of(producer: ProducerUnderTest, x: Any) -> int:
    """Return the address of an array's first element, without ordering streams.

    Raises `NotApplicable`: the array does not export it.
    """
    found: int | str = ""
    with_streams = reported_device(x)[0] in WITH_STREAMS
    for keywords in ({"stream": -1}, {}) if with_streams else ({},):
        found = _address_or_reason(producer, x, keywords)
        if isinstance(found, int):
            return found
    raise NotApplicable(f"the array could not be exported with nothing pending: {found}")


def _address_or_reason(producer: ProducerUnderTest, x: Any, keywords: dict[str, Any]) -> int | str:
    """Return the address in a capsule, or the reason why there is none."""
    try:
        return producer.open_newest(x, **keywords).first
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - another check reports the error
        return words(error)


def _forms(producer: ProducerUnderTest) -> Iterator[Form]:
    """Yield forms of arrays of NBYTES, or of more if the library has no others."""
    yield Form(SHAPE, "float32")
    yield from blocks_of(NBYTES)
    if producer.plain.nbytes >= NBYTES:
        yield producer.plain


def fresh(producer: ProducerUnderTest, device: str) -> Any:
    """Return an array of `NBYTES` that was requested on a device, and never exported."""
    forms = _forms(producer)
    return producer.first_of(forms, lambda form: producer.make(*form, device=device))[0]


def make_there(producer: ProducerUnderTest, device: str) -> tuple[Cuda, Any, int]:
    """Return the driver, an array on a device of `KINDS` and its address, after all work on it.

    Raises `NotApplicable`: there is no driver or no such device, or ``make`` returned other memory.
    """
    cuda = driver()
    kind, number = KINDS[device]
    if number:
        cuda.need_second_device()
    x = fresh(producer, device)
    if not hasattr(x, "__dlpack_device__"):
        raise NotApplicable(f"{type(x).__name__} has no __dlpack_device__")
    cuda.make_current(0)
    cuda.synchronize()
    address = address_of(producer, x)
    found = cuda.kind(address)
    if found != (kind, number) and not (found[0] == kind == "managed"):
        words = f"{found[0]} memory, number {found[1]}"
        raise NotApplicable(f"make(device={device!r}) returned an array in {words}")
    return cuda, x, address


class Busy(NamedTuple):
    """An array for which its library assumes pending work on a stream."""

    x: Any
    address: int
    stream: int


def make_busy(producer: ProducerUnderTest, stream: int, device: str = "cuda") -> Busy:
    """Return an array with assumed pending work on a stream, but without any yet.

    If the subject has no ``make_on``, the stream is the one that the array exports.
    """
    if producer.subject.make_on is None:
        return _publishing(producer, stream, device)
    cuda = driver()
    forms = _forms(producer)
    x, _ = producer.first_of(forms, lambda form: producer.make_on(stream, *form, device))
    if not hasattr(x, "__dlpack__"):
        raise NotApplicable(f"{type(x).__name__} has no __dlpack__")
    cuda.synchronize()
    address = address_of(producer, x)
    found = cuda.kind(address)[0]
    if found != device:
        raise NotApplicable(f"make_on() returned an array in {found} memory, and not in {device}")
    return Busy(x, address, stream)


def _publishing(producer: ProducerUnderTest, wanted: int, device: str) -> Busy:
    """Return an array that exports a stream: any, or a certain default stream."""
    _, x, address = make_there(producer, device)
    record = getattr(x, "__cuda_array_interface__", None)
    stream = record.get("stream") if isinstance(record, dict) else None
    if not isinstance(stream, int) or stream < LEGACY:
        raise NotApplicable("the subject describes no make_on(), and its arrays publish no stream")
    if wanted in NAMES and stream != wanted:
        raise NotApplicable(f"the subject describes no make_on(), for {stream_name(wanted)}")
    return Busy(x, address, stream)


def exported(producer: ProducerUnderTest, x: Any, **keywords: Any) -> OpenedCapsule:
    """Return the opened capsule; a refusal makes the check not applicable.

    A producer may refuse requests for which it cannot order its work.
    """
    try:
        return producer.open_newest(x, **keywords)
    except (NotApplicable, Found):
        raise
    except Exception as error:
        asked = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
        raise NotApplicable(f"__dlpack__({asked}) raised {words(error)}") from error


def warm_up(
    producer: ProducerUnderTest, pending: int, stream: int | None, device: str = "cuda"
) -> None:
    """Export another array before the measured one: loading modules may block the host."""
    with contextlib.suppress(Exception):
        producer.open_newest(make_busy(producer, pending, device).x, stream=stream)
    driver().synchronize()


def expect_order(pending: PendingWork, stream: int, opened: OpenedCapsule, call: str) -> None:
    """Read through a capsule on the consumer's stream; the work must be visible."""
    seen = pending.seen_on(stream, opened.first)
    expect(seen.is_ordered(), seen.evidence(call))


def need_order(producer: ProducerUnderTest) -> None:
    """Raise `NotApplicable` if even a plain export is not ordered.

    One check reports this; the others test producers that order their work.
    """
    cuda = driver()
    own, consumer = cuda.stream(), cuda.stream()
    warm_up(producer, own, consumer)
    x, address, own = make_busy(producer, own)
    pending = PendingWork(cuda, address, NBYTES, own)
    opened = exported(producer, x, stream=consumer)
    if not pending.seen_on(consumer, opened.first).is_ordered():
        raise NotApplicable("no export waits for pending work, as another check finds")
    cuda.forget()


def taken(take: Callable[[], Any]) -> Any:
    """Return the consumer's array; a refusal makes the check not applicable."""
    try:
        return take()
    except (NotApplicable, Found):
        raise
    except CannotMakeError as error:
        raise NotApplicable(str(error)) from error
    except Exception as error:
        raise NotApplicable(f"the array is refused: {words(error)}") from error


def requests(consumer: ConsumerUnderTest, x: Any) -> list[dict[str, Any]]:
    """Return the keywords with which a consumer requested a capsule from a producer of the zoo.

    The import itself may be refused.
    """
    refusal = ""
    try:
        consumer.take(x)
    except NotApplicable:
        raise
    except Exception as error:  # noqa: BLE001 - fake devices may be refused
        refusal = words(error)
    asked = asked_of(x)
    if not asked:
        raise NotApplicable(f"it asks for no capsule of device type {x.said.device}: {refusal}")
    return asked


def asked_of(x: Any) -> list[dict[str, Any]]:
    """Return the keywords of each ``__dlpack__`` call of a producer that keeps a log."""
    log: list[Call] = x.log
    return [call.keywords for call in log if call.method == "__dlpack__"]
