"""Where work on memory may still be pending: what an Array on a device remembers of streams.

Source: CUDA Array Interface, version 3, Synchronization; array API standard 2025.12, ``stream``;
CUDA driver API, Stream synchronization behavior.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

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
    7
    """

    __slots__ = ("keep", "ordinal", "stream", "thread")

    def __init__(self, stream: int | None, ordinal: int, keep: Any) -> None:
        self.stream = stream
        self.ordinal = ordinal
        self.keep = keep
        self.thread = this_thread() if stream == PER_THREAD_DEFAULT_STREAM else None

    def pending(self, call: str) -> int | None:  # noqa: ARG002 - others ask a stranger, and fail
        """Return the stream to wait for; asked anew whenever somebody takes the memory."""
        return self.as_said_here(self.stream)

    def at_import(self, call: str) -> int | None:  # noqa: ARG002 - as above
        """Return the stream to wait for, as it was said when the memory came in."""
        return self.stream

    def as_said_here(self, stream: int | None) -> int | None:
        """Return a stream by the number that it has in the calling thread.

        The per-thread default stream of another thread has none.  The legacy default stream stands
        for it, which waits for all per-thread ones, and which they all wait for.
        """
        if stream == PER_THREAD_DEFAULT_STREAM and self.thread is not this_thread():
            return LEGACY_DEFAULT_STREAM
        return stream


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

    def pending(self, call: str) -> int | None:
        """Return the stream to wait for: that of the loan while it lasts."""
        if not self.has_ended:
            return self.as_said_here(self.stream)
        return None if self.lender is None else self.lender.pending(call)


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
