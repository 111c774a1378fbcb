"""Mutants that publish wrong streams, or do not wait for published ones.

Source: CUDA Array Interface, version 3, Synchronization; `checks.cai_streams`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD

from ._honest_recorder import Recorded, honest_recorder, recorder_of
from ._honest_taker import Taker, honest_taker, taker_of
from .model import mutant

if TYPE_CHECKING:
    from typing import Any

    from interchange_conformance.subject import Subject

    from ._honest_taker import Taken

# ---------------------------------------------------------------- producers


@mutant("published_streams_are_not_0", twin=honest_recorder)
def publishes_0_when_nothing_is_pending() -> Subject:
    """Publishes stream 0 if no work is pending."""

    def published(x: Recorded) -> int | None:
        return Recorded.published(x) or 0

    return recorder_of(published=published)


@mutant("published_streams_of_busy_arrays_are_not_0", twin=honest_recorder)
def publishes_0_for_the_legacy_stream() -> Subject:
    """Publishes stream 0 for the legacy default stream, its handle in other APIs."""

    def published(x: Recorded) -> int | None:
        stream = Recorded.published(x)
        return 0 if stream == LEGACY else stream

    return recorder_of(published=published)


@mutant("published_streams_order_the_pending_work", twin=honest_recorder)
def publishes_no_stream() -> Subject:
    """Publishes no stream although work is pending, and does not wait."""
    return recorder_of(published=lambda _: None)


@mutant("published_streams_order_the_pending_work", twin=honest_recorder)
def publishes_another_stream() -> Subject:
    """Publishes a new stream without work."""

    def published(x: Recorded) -> int | None:
        return x.cuda.stream() if x.cuda and x.stream else None

    return recorder_of(published=published)


@mutant("published_streams_live_as_long_as_the_array", twin=honest_recorder)
def publishes_a_stream_that_is_gone() -> Subject:
    """Publishes a stream that it has destroyed."""

    def published(x: Recorded) -> int | None:
        stream = Recorded.published(x)
        if stream is not None or x.cuda is None:
            return stream
        gone = x.cuda.stream()
        x.cuda.destroy(gone)
        return gone

    return recorder_of(published=published)


def waiting_recorder() -> Subject:
    """Return a subject that publishes no stream, and waits on the host instead, as allowed."""

    def published(x: Recorded) -> int | None:
        x.finish()
        return None

    return recorder_of(published=published)


@mutant("published_streams_order_the_pending_work", twin=waiting_recorder)
def waits_before_it_is_asked() -> Subject:
    """Publishes no stream, and only waits once, when the array is created."""

    def init(x: Recorded, *arguments: Any, **keywords: Any) -> None:
        Recorded.__init__(x, *arguments, **keywords)
        x.finish()

    return recorder_of(__init__=init, published=lambda _: None)


# ---------------------------------------------------------------- consumers


@mutant("published_streams_are_waited_for", twin=honest_taker)
def ignores_the_stream() -> Subject:
    """Does not wait for the published stream, as in PyTorch."""
    return taker_of(order=lambda *_: None)


@mutant("published_streams_are_waited_for", twin=honest_taker)
def ignores_the_default_streams() -> Subject:
    """Waits for handles only: 1 and 2 are treated as no stream, as in JAX."""

    def order(taker: Taker, taken: Taken) -> None:
        if taken.record.stream not in {LEGACY, PER_THREAD}:
            Taker.order(taker, taken)

    return taker_of(order=order)


@mutant("published_streams_wait_for_the_consumer", twin=honest_taker)
def never_gives_back() -> Subject:
    """Waits for the published stream, but does not make it wait for the end of the use."""
    return taker_of(give_back=lambda *_: None)


def _worker_there() -> Subject:
    """Return an honest consumer that works on the published stream."""

    def use(taker: Taker, x: Any, work: Any) -> None:
        work(taker.take(x).record.stream or LEGACY)

    return taker_of(use=use)


@mutant("published_streams_wait_for_the_consumer", twin=_worker_there)
def gives_back_before_it_works() -> Subject:
    """Makes the published stream wait for its own before the work is enqueued."""

    def use(taker: Taker, x: Any, work: Any) -> None:
        taker.give_back(taker.take(x))
        work(taker.stream)

    return taker_of(use=use)


@mutant("records_without_a_stream_are_taken_at_once", twin=honest_taker)
def waits_for_the_device() -> Subject:
    """Synchronises the device whenever it imports a record."""

    def order(taker: Taker, _: Taken) -> None:
        taker.cuda.synchronize()

    return taker_of(order=order)
