"""Where work on memory may still be pending: what an Array on a device remembers of streams.

Source: CUDA Array Interface, version 3, Synchronization; array API standard 2025.12, ``stream``;
CUDA driver API, Stream synchronization behavior.  Work may be pending on several streams at once: a
producer that publishes whichever stream is current names another one from time to time.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from .unfinished import look

_here: Final = threading.local()


def this_thread() -> object:
    """Return what stands for the calling thread; unlike its number, it is never used again."""
    try:
        return _here.token
    except AttributeError:
        _here.token = object()
        return _here.token


class Work:
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
    >>> Work(7, 0, None).pending("f()")
    (7,)
    """

    __slots__ = ("keep", "ordinal", "stream", "thread")

    def __init__(self, stream: int | None, ordinal: int, keep: Any) -> None:
        self.stream = stream
        self.ordinal = ordinal
        self.keep = keep
        self.thread = this_thread() if stream == PER_THREAD_DEFAULT_STREAM else None

    def pending(self, call: str) -> tuple[int, ...]:  # noqa: ARG002 - others ask, and may fail
        """Return the streams to wait for; asked anew whenever somebody takes the memory.

        The last one is that which the producer names now; there is none where nothing is pending.
        """
        return self.said_here(self.stream)

    def owed(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:
        """Return the streams that are to wait for a borrower, who waited for those `before`."""
        return tuple(dict.fromkeys((*before, *self.pending(call))))

    @property
    def keeper(self) -> Any:
        """What keeps the streams of `pending` alive."""
        return self.keep

    @property
    def keeps_source(self) -> bool:
        """Whether `keeper` is what has the memory, too, and not a stream alone."""
        return False

    def at_import(self, call: str) -> int | None:  # noqa: ARG002 - as above
        """Return the stream to wait for, as it was said when the memory came in."""
        return self.stream

    def said_here(self, *streams: int | None) -> tuple[int, ...]:
        """Return streams by the numbers that they have in the calling thread, each once."""
        first, then = streams[0], streams[-1]
        if first == then:  # mostly: one stream, by one name
            here = self.as_said_here(first)
            return () if here is None else (here,)
        said = map(self.as_said_here, streams)
        return tuple(dict.fromkeys(stream for stream in said if stream is not None))

    def as_said_here(self, stream: int | None) -> int | None:
        """Return a stream by the number that it has in the calling thread.

        The per-thread default stream of another thread has none.  The legacy default stream stands
        for it, which waits for all per-thread ones, and which they all wait for.
        """
        if stream == PER_THREAD_DEFAULT_STREAM and self.thread is not this_thread():
            return LEGACY_DEFAULT_STREAM
        return stream


class Filled(Work):
    """A copy on a stream that the producer of its source keeps alive.

    When the copy was made, nothing is pending, and the producer is let go with its stream: they
    would stay as long as the copy.

    Parameters
    ----------
    stream, ordinal, keep
        As in `Work`; `keep` has the source, too.
    rest : int
        A stream of ours that stays, and waits for whoever borrows the copy.
    """

    __slots__ = ("__weakref__", "rest")

    def __init__(self, stream: int, ordinal: int, keep: Any, rest: int) -> None:
        super().__init__(stream, ordinal, keep)
        self.rest = rest

    def note_done(self) -> None:
        """Note that the copy was made; what was enqueued since may be pending elsewhere."""
        if self.keep is not None:
            self.stream = self.keep = None

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the stream of the copy until the driver says that it was made."""
        if self.keep is not None:
            look()
        return super().pending(call)

    def owed(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:  # noqa: ARG002 - others'
        """Return the stream that is to wait for a borrower; from then on work is pending there."""
        self.move()
        return super().pending(call)

    def move(self) -> None:
        """Note that work is pending on our stream, which waits for the copy."""
        self.stream, self.keep = self.rest, None

    @property
    def keeps_source(self) -> bool:
        """Whether `keeper` has the source of the copy, which was not made yet."""
        return self.keep is not None


class Ready(Work):
    """Memory was made ready on a consumer's stream; its producer has a stream of its own.

    Parameters
    ----------
    stream, ordinal, keep
        As in `Work`.
    origin : Work or None
        What was known of the memory before: what its producer named, or a stream on which it was
        made ready in between; None where nobody named any.
    """

    __slots__ = ("origin",)

    def __init__(
        self, stream: int | None, ordinal: int, keep: Any, origin: Work | None = None
    ) -> None:
        super().__init__(stream, ordinal, keep)
        self.origin = origin


class Lent(Work):
    """Memory that is used on a consumer's stream, until it is handed back.

    Parameters
    ----------
    stream, ordinal, keep
        As in `Work`.
    lender : Work or None
        What was known of the memory before, and is again when the loan has ended.
    """

    __slots__ = ("has_ended", "lender")

    def __init__(self, stream: int | None, ordinal: int, keep: Any, lender: Work | None) -> None:
        super().__init__(stream, ordinal, keep)
        self.lender = lender
        self.has_ended = False

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the streams to wait for: that of the loan while it lasts."""
        if not self.has_ended:
            return self.said_here(self.stream)
        return () if self.lender is None else self.lender.pending(call)

    @property
    def keeper(self) -> Any:
        """What keeps the stream of the loan alive, and the lender's when it has ended."""
        if not self.has_ended:
            return self.keep
        return None if self.lender is None else self.lender.keeper

    @property
    def keeps_source(self) -> bool:
        """Whether `keeper` is the lender's, and has the memory, too."""
        return self.has_ended and self.lender is not None and self.lender.keeps_source


def filled_of(work: Work | None) -> Filled | None:
    """Return the copy that was not made yet, and whose stream may go when it was, or None."""
    while isinstance(work, Lent) and work.has_ended:
        work = work.lender
    return work if isinstance(work, Filled) and work.keeps_source else None


def origins_of(work: Work | None) -> tuple[list[Work], bool]:
    """Return whose streams are to wait for a borrower, and whether the producer's is among them."""
    owed: list[Work] = []
    while isinstance(work, Ready):
        owed.append(work)
        work = work.origin
    if work is None:
        return owed, False
    return [*owed, work], True


def work_of(tensor: Any) -> Work | None:
    """Return what is known of pending work on the memory of a tensor; None on the host."""
    return getattr(tensor, "_work", None)
