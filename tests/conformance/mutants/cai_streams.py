"""Mutants that publish wrong streams, or do not wait for published ones.

Source: CUDA Array Interface, version 3, Synchronization; `checks.cai_streams`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD

from ._honest_recorder import Recorded, recorder_mutant, recorder_of
from ._honest_taker import Taker, taker_mutant, taker_of

if TYPE_CHECKING:
    from typing import Any

    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken

# ---------------------------------------------------------------- producers


@recorder_mutant("published_streams_are_not_0", step="published")
def publishes_0_when_nothing_is_pending(x: Recorded) -> int | None:
    """Publishes stream 0 if no work is pending."""
    return Recorded.published(x) or 0


@recorder_mutant("published_streams_of_busy_arrays_are_not_0", step="published")
def publishes_0_for_the_legacy_stream(x: Recorded) -> int | None:
    """Publishes stream 0 for the legacy default stream, its handle in other APIs."""
    stream = Recorded.published(x)
    return 0 if stream == LEGACY else stream


@recorder_mutant("published_streams_order_the_pending_work", step="published")
def publishes_no_stream(_: Any) -> None:
    """Publishes no stream although work is pending, and does not wait."""


@recorder_mutant("published_streams_order_the_pending_work", step="published")
def publishes_another_stream(x: Recorded) -> int | None:
    """Publishes a new stream without work."""
    return x.cuda.stream() if x.cuda and x.stream else None


@recorder_mutant("published_streams_live_as_long_as_the_array", step="published")
def publishes_a_stream_that_is_gone(x: Recorded) -> int | None:
    """Publishes a stream that it has destroyed."""
    stream = Recorded.published(x)
    if stream is not None or x.cuda is None:
        return stream
    gone = x.cuda.stream()
    x.cuda.destroy(gone)
    return gone


def waiting_recorder() -> Subject:
    """Return a subject that publishes no stream, and waits on the host instead, as allowed."""

    def published(x: Recorded) -> int | None:
        x.finish()
        return None

    return recorder_of(published=published)


@recorder_mutant(
    "published_streams_order_the_pending_work",
    step="__init__",
    published=lambda _: None,
    counterpart=waiting_recorder,
)
def waits_before_it_is_asked(x: Recorded, *arguments: Any, **keywords: Any) -> None:
    """Publishes no stream, and only waits once, when the array is created."""
    Recorded.__init__(x, *arguments, **keywords)
    x.finish()


# ---------------------------------------------------------------- consumers


@taker_mutant("published_streams_are_waited_for", step="order")
def ignores_the_stream(*_: object) -> None:
    """Does not wait for the published stream, as in PyTorch."""


@taker_mutant("published_streams_are_waited_for", step="order")
def ignores_the_default_streams(taker: Taker, taken: Taken) -> None:
    """Waits for handles only: 1 and 2 are treated as no stream, as in JAX."""
    if taken.record.stream not in {LEGACY, PER_THREAD}:
        Taker.order(taker, taken)


@taker_mutant("published_streams_wait_for_the_consumer", step="give_back")
def never_gives_back(*_: object) -> None:
    """Waits for the published stream, but does not make it wait for the end of the use."""


def _worker_there() -> Subject:
    """Return an honest consumer that works on the published stream."""

    def use(taker: Taker, x: Any, work: Any) -> None:
        work(taker.take(x).record.stream or LEGACY)

    return taker_of(use=use)


@taker_mutant("published_streams_wait_for_the_consumer", step="use", counterpart=_worker_there)
def gives_back_before_it_works(taker: Taker, x: Any, work: Any) -> None:
    """Makes the published stream wait for its own before the work is enqueued."""
    taker.give_back(taker.take(x))
    work(taker.stream)


@taker_mutant("records_without_a_stream_are_taken_at_once", step="order")
def waits_for_the_device(taker: Taker, _: Taken) -> None:
    """Synchronises the device whenever it imports a record."""
    taker.cuda.synchronize()
