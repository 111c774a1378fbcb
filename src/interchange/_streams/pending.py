"""Pending work: the streams that an Array on a device has to wait for.

Source: CUDA Array Interface, version 3, Synchronization; array API standard 2025.12, ``stream``;
CUDA driver API, Stream synchronization behavior.  Work may be pending on several streams, if
a producer publishes its current stream.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .completion import poll
from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

_here: Final = threading.local()


def this_thread() -> object:
    """Return an object that stands for the calling thread; a thread id can be reused."""
    try:
        return _here.token
    except AttributeError:
        _here.token = object()
        return _here.token


class PendingWork:
    """Work that may be pending on one stream, which its producer named.

    `stream`: handle of the stream on which all pending work can be waited for; None if no work is
        pending, or if the caller requested no order.
    `ordinal`: the ordinal of the memory's device; -1 if the memory belongs to no single device.
    `keep`: kept alive as long as the stream is in use: the stream object, for instance.

    Examples
    --------
    >>> PendingWork(7, 0, None).pending("f()")
    (7,)
    """

    __slots__ = ("keep", "ordinal", "stream", "thread")

    # For a per-thread default stream, the thread as in `this_thread`; else None.
    thread: object | None

    def __init__(self, stream: int | None, ordinal: int, keep: Any) -> None:
        self.stream: int | None = stream
        self.ordinal: int = ordinal
        self.keep: Any = keep
        self.thread = this_thread() if stream == PER_THREAD_DEFAULT_STREAM else None

    def pending(self, call: str) -> tuple[int, ...]:  # noqa: ARG002 - subclasses call the producer, which may fail
        """Return the streams to wait for; a consumer calls this at each import.

        The last one is the producer's current stream; there is none if no work is pending.
        """
        return self.handles_here(self.stream)

    def streams_to_notify(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:
        """Return the streams that wait for a borrower, which waited for those `before`."""
        return tuple(dict.fromkeys((*before, *self.pending(call))))

    def streams_to_order(self, call: str) -> tuple[int, ...]:
        """Return the streams that wait for work of interchange, before that is enqueued."""
        return self.pending(call)

    def on_notified(self) -> None:
        """Record that the streams of `streams_to_order` wait for work of interchange."""

    @property
    def keepalive(self) -> Any:
        """The object that keeps the streams of `pending` alive."""
        return self.keep

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` keeps the memory alive, too, and not only a stream."""
        return False

    def at_import(self, call: str) -> int | None:  # noqa: ARG002 - as above
        """Return the stream to wait for, as named when the memory was imported."""
        return self.stream

    def handles_here(self, *streams: int | None) -> tuple[int, ...]:
        """Return streams by the numbers that they have in the calling thread, each once."""
        first, then = streams[0], streams[-1]
        if first == then:  # the usual case
            here = self.handle_here(first)
            return () if here is None else (here,)
        said = map(self.handle_here, streams)
        return tuple(dict.fromkeys(stream for stream in said if stream is not None))

    def handle_here(self, stream: int | None) -> int | None:
        """Return a stream by the number that it has in the calling thread.

        The per-thread default stream of another thread has none.  The legacy default stream is used
        instead: it synchronizes with all per-thread ones.
        """
        if stream == PER_THREAD_DEFAULT_STREAM and self.thread is not this_thread():
            return LEGACY_DEFAULT_STREAM
        return stream


class PendingCopy(PendingWork):
    """A copy on a stream that the producer of its source keeps alive.

    When the copy is done, no work is pending, and the references to the producer and its stream are
    dropped.

    `stream`, `ordinal`, `keep`: as in `PendingWork`; `keep` keeps the source alive, too.
    `rest`: a private stream, which waits for borrowers of the copy.
    """

    __slots__ = ("__weakref__", "rest")

    def __init__(self, stream: int, ordinal: int, keep: Any, rest: int) -> None:
        super().__init__(stream, ordinal, keep)
        self.rest = rest

    def on_done(self) -> None:
        """Record that the copy is done; later work may be pending on another stream."""
        if self.keep is not None:
            self.stream = self.keep = None

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the stream of the copy until the copy is done."""
        if self.keep is not None:
            poll()
        return super().pending(call)

    def streams_to_notify(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:  # noqa: ARG002 - as above
        """Return the stream that waits for a borrower; from then on work is pending there."""
        self.move()
        return super().pending(call)

    def streams_to_order(self, call: str) -> tuple[int, ...]:  # noqa: ARG002 - as above
        """Return our stream: earlier users of the copy have waited for it."""
        return (self.rest,)

    def on_notified(self) -> None:
        """Record that work is pending on our stream."""
        self.move()

    def move(self) -> None:
        """Record that work is pending on our stream, which waits for the copy."""
        self.stream, self.keep = self.rest, None

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` keeps the source of the copy alive, which is not done yet."""
        return self.keep is not None


class WorkOnConsumer(PendingWork):
    """Memory that is ready on a consumer's stream; its producer has another stream.

    `stream`, `ordinal`, `keep`: as in `PendingWork`.
    `origin`: the pending work before: the stream that the producer named, or one on which the
        memory was made ready in between; None if there is none.
    """

    __slots__ = ("origin",)

    def __init__(
        self, stream: int | None, ordinal: int, keep: Any, origin: PendingWork | None = None
    ) -> None:
        super().__init__(stream, ordinal, keep)
        self.origin = origin


class BorrowedWork(PendingWork):
    """Memory that is borrowed: used on a consumer's stream until the borrowing ends.

    `stream`, `ordinal`, `keep`: as in `PendingWork`.
    `previous`: the pending work before, which is valid again when the borrowing has ended.
    """

    __slots__ = ("has_ended", "previous")

    def __init__(
        self, stream: int | None, ordinal: int, keep: Any, previous: PendingWork | None
    ) -> None:
        super().__init__(stream, ordinal, keep)
        self.previous = previous
        self.has_ended = False

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the streams to wait for: the borrower's until the borrowing has ended."""
        if not self.has_ended:
            return self.handles_here(self.stream)
        return () if self.previous is None else self.previous.pending(call)

    @property
    def keepalive(self) -> Any:
        """The object that keeps the stream of the borrower alive, or the producer's afterwards."""
        if not self.has_ended:
            return self.keep
        return None if self.previous is None else self.previous.keepalive

    @property
    def keeps_source(self) -> bool:
        """Whether `keepalive` is the producer's, and keeps the memory alive, too."""
        return self.has_ended and self.previous is not None and self.previous.keeps_source


def pending_copy_of(work: PendingWork | None) -> PendingCopy | None:
    """Return a copy that is not done, whose stream may be released after it, or None."""
    work = _behind_ended(work)
    return work if isinstance(work, PendingCopy) and work.keeps_source else None


def _behind_ended(work: PendingWork | None) -> PendingWork | None:
    """Return the pending work without borrowings that have ended."""
    while isinstance(work, BorrowedWork) and work.has_ended:
        work = work.previous
    return work


def origins_of(work: PendingWork | None) -> tuple[list[PendingWork], bool]:
    """Return the users whose streams wait for a borrower, and whether the producer is one."""
    works: list[PendingWork] = []
    work = _behind_ended(work)
    while isinstance(work, WorkOnConsumer):
        works.append(work)
        work = _behind_ended(work.origin)
    if work is None:
        return works, False
    return [*works, work], True


def users_of(work: PendingWork | None) -> list[PendingWork]:
    """Return the users whose streams wait for work of interchange on memory, the latest first.

    A consumer that requested no order, and users before it, are left out: it orders them itself.
    """
    works, _ = origins_of(work)
    return works[: next((i for i, one in enumerate(works) if _asked_for_no_order(one)), len(works))]


def without_stream(work: PendingWork | None, stream: int) -> PendingWork | None:
    """Return pending work without a stream that the memory was made ready on."""
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


def _asked_for_no_order(work: PendingWork) -> bool:
    """Whether a consumer requested no order."""
    return isinstance(work, WorkOnConsumer) and work.stream is None


def pending_work_of(tensor: Any) -> PendingWork | None:
    """Return the pending work on the memory of a tensor; None on the host."""
    return getattr(tensor, "_pending_work", None)
