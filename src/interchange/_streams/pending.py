"""Where work on memory may still be pending: what an Array on a device remembers of streams.

Source: CUDA Array Interface, version 3, Synchronization; array API standard 2025.12, ``stream``;
CUDA driver API, Stream synchronization behavior.  Work may be pending on several streams at once: a
producer that publishes whichever stream is current names another one from time to time.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .completion import poll
from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

_here: Final = threading.local()


def this_thread() -> object:
    """Return what stands for the calling thread; unlike its number, it is never used again."""
    try:
        return _here.token
    except AttributeError:
        _here.token = object()
        return _here.token


class PendingWork:
    """Work that may be pending on one stream, which a producer named as its own.

    Parameters
    ----------
    stream : int or None
        Handle of the stream on which all pending work can be waited for; None when nothing is
        pending, or when somebody vouched for it.
    ordinal : int
        Which device the memory is on, counted as the driver counts; -1 for none in particular.
    keep : object
        Kept alive with whatever names the stream: the stream itself, if it is an object.

    Attributes
    ----------
    thread : object
        The thread that named its own default stream, as `this_thread` tells it; else None.

    Examples
    --------
    >>> PendingWork(7, 0, None).pending("f()")
    (7,)
    """

    __slots__ = ("keep", "ordinal", "stream", "thread")

    thread: object | None

    def __init__(self, stream: int | None, ordinal: int, keep: Any) -> None:
        self.stream: int | None = stream
        self.ordinal: int = ordinal
        self.keep: Any = keep
        self.thread = this_thread() if stream == PER_THREAD_DEFAULT_STREAM else None

    def pending(self, call: str) -> tuple[int, ...]:  # noqa: ARG002 - others ask, and may fail
        """Return the streams to wait for; asked anew whenever somebody takes the memory.

        The last one is that which the producer names now; there is none where nothing is pending.
        """
        return self.handles_here(self.stream)

    def streams_to_notify(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:
        """Return the streams that are to wait for a borrower, who waited for those `before`."""
        return tuple(dict.fromkeys((*before, *self.pending(call))))

    def streams_to_tell(self, call: str) -> tuple[int, ...]:
        """Return the streams that are to wait for work of ours, before it is enqueued."""
        return self.pending(call)

    def on_told(self) -> None:
        """Note that the streams of `streams_to_tell` wait for work of ours."""

    @property
    def keepalive(self) -> Any:
        """What keeps the streams of `pending` alive."""
        return self.keep

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` is what has the memory, too, and not a stream alone."""
        return False

    def at_import(self, call: str) -> int | None:  # noqa: ARG002 - as above
        """Return the stream to wait for, as it was said when the memory came in."""
        return self.stream

    def handles_here(self, *streams: int | None) -> tuple[int, ...]:
        """Return streams by the numbers that they have in the calling thread, each once."""
        first, then = streams[0], streams[-1]
        if first == then:  # mostly: one stream, by one name
            here = self.handle_here(first)
            return () if here is None else (here,)
        said = map(self.handle_here, streams)
        return tuple(dict.fromkeys(stream for stream in said if stream is not None))

    def handle_here(self, stream: int | None) -> int | None:
        """Return a stream by the number that it has in the calling thread.

        The per-thread default stream of another thread has none.  The legacy default stream stands
        for it, which waits for all per-thread ones, and which they all wait for.
        """
        if stream == PER_THREAD_DEFAULT_STREAM and self.thread is not this_thread():
            return LEGACY_DEFAULT_STREAM
        return stream


class PendingCopy(PendingWork):
    """A copy on a stream that the producer of its source keeps alive.

    When the copy was made, nothing is pending, and the producer is let go with its stream: they
    would stay as long as the copy.

    Parameters
    ----------
    stream, ordinal, keep
        As in `PendingWork`; `keep` has the source, too.
    rest : int
        A stream of ours that stays, and waits for whoever borrows the copy.
    """

    __slots__ = ("__weakref__", "rest")

    def __init__(self, stream: int, ordinal: int, keep: Any, rest: int) -> None:
        super().__init__(stream, ordinal, keep)
        self.rest = rest

    def on_done(self) -> None:
        """Note that the copy was made; what was enqueued since may be pending elsewhere."""
        if self.keep is not None:
            self.stream = self.keep = None

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the stream of the copy until the driver says that it was made."""
        if self.keep is not None:
            poll()
        return super().pending(call)

    def streams_to_notify(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:  # noqa: ARG002 - others'
        """Return the stream that is to wait for a borrower; from then on work is pending there."""
        self.move()
        return super().pending(call)

    def streams_to_tell(self, call: str) -> tuple[int, ...]:  # noqa: ARG002 - as above
        """Return our stream: whoever used the copy has waited for it."""
        return (self.rest,)

    def on_told(self) -> None:
        """Note that work is pending on our stream."""
        self.move()

    def move(self) -> None:
        """Note that work is pending on our stream, which waits for the copy."""
        self.stream, self.keep = self.rest, None

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` has the source of the copy, which was not made yet."""
        return self.keep is not None


class WorkOnConsumer(PendingWork):
    """Memory was made ready on a consumer's stream; its producer has a stream of its own.

    Parameters
    ----------
    stream, ordinal, keep
        As in `PendingWork`.
    origin : PendingWork or None
        What was known of the memory before: what its producer named, or a stream on which it was
        made ready in between; None where nobody named any.
    """

    __slots__ = ("origin",)

    def __init__(
        self, stream: int | None, ordinal: int, keep: Any, origin: PendingWork | None = None
    ) -> None:
        super().__init__(stream, ordinal, keep)
        self.origin = origin


class BorrowedWork(PendingWork):
    """Memory that is used on a consumer's stream, until it is handed back.

    Parameters
    ----------
    stream, ordinal, keep
        As in `PendingWork`.
    previous : PendingWork or None
        What was known of the memory before, and is again once the memory is handed back.
    """

    __slots__ = ("has_ended", "previous")

    def __init__(
        self, stream: int | None, ordinal: int, keep: Any, previous: PendingWork | None
    ) -> None:
        super().__init__(stream, ordinal, keep)
        self.previous = previous
        self.has_ended = False

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the streams to wait for: that of the borrower until it hands back."""
        if not self.has_ended:
            return self.handles_here(self.stream)
        return () if self.previous is None else self.previous.pending(call)

    @property
    def keepalive(self) -> Any:
        """What keeps the stream of the borrower alive, and the producer's once it has ended."""
        if not self.has_ended:
            return self.keep
        return None if self.previous is None else self.previous.keepalive

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` is the producer's, and has the memory, too."""
        return self.has_ended and self.previous is not None and self.previous.keeps_source


def pending_copy_of(work: PendingWork | None) -> PendingCopy | None:
    """Return the copy that was not made yet, and whose stream may go when it was, or None."""
    work = _behind_ended(work)
    return work if isinstance(work, PendingCopy) and work.keeps_source else None


def _behind_ended(work: PendingWork | None) -> PendingWork | None:
    """Return what is known of memory again where who borrowed it has handed it back."""
    while isinstance(work, BorrowedWork) and work.has_ended:
        work = work.previous
    return work


def origins_of(work: PendingWork | None) -> tuple[list[PendingWork], bool]:
    """Return whose streams are to wait for a borrower, and whether the producer's is among them."""
    works: list[PendingWork] = []
    work = _behind_ended(work)
    while isinstance(work, WorkOnConsumer):
        works.append(work)
        work = _behind_ended(work.origin)
    if work is None:
        return works, False
    return [*works, work], True


def users_of(work: PendingWork | None) -> list[PendingWork]:
    """Return whose streams are to wait for work of ours on memory, the latest user first.

    Nobody from a consumer on who asked for no order: the order is theirs to see to.
    """
    works, _ = origins_of(work)
    return works[: next((i for i, one in enumerate(works) if _is_vouched_for(one)), len(works))]


def without_stream(work: PendingWork | None, stream: int) -> PendingWork | None:
    """Return what is known of memory, less that it was made ready on a stream."""
    work = _behind_ended(work)
    if not isinstance(work, WorkOnConsumer):
        return work
    origin = without_stream(work.origin, stream)
    if work.stream == stream:
        return origin
    if origin is work.origin:
        return work
    found = WorkOnConsumer(work.stream, work.ordinal, work.keep, origin)
    found.thread = work.thread
    return found


def _is_vouched_for(work: PendingWork) -> bool:
    """Whether a consumer asked for no order."""
    return isinstance(work, WorkOnConsumer) and work.stream is None


def pending_work_of(tensor: Any) -> PendingWork | None:
    """Return what is known of pending work on the memory of a tensor; None on the host."""
    return getattr(tensor, "_pending_work", None)
