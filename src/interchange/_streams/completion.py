"""Work that streams have not done yet, and who is told, on the host, once it is.

Source: CUDA driver API, ``cuEventQuery``; Python's gc module.  Nobody waits, and no driver calls
back: it is asked whenever garbage is collected, memory is allocated, or a copy is handed on.
"""

from __future__ import annotations

import contextlib
import gc
import os
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from .driver import Driver


class Listener(Protocol):
    """What keeps something alive until some work is done."""

    def on_done(self) -> None:
        """Let go of it."""


class Notification(NamedTuple):
    """Work that somebody is to be told of.

    Attributes
    ----------
    driver : Driver
        Whose it is.
    stream : int
        Which stream it is on.
    process : int
        In a forked child there is no driver to ask.
    mark : object
        What the driver is asked about.
    listeners : tuple
        Weak references to those who are told.
    """

    driver: Driver
    stream: int
    process: int
    mark: Any
    listeners: tuple[weakref.ref[Listener], ...]


_notifications: Final[deque[Notification]] = deque()


def notify_when_done(
    driver: Driver, stream: int, ordinal: int, call: str, *listeners: Listener
) -> None:
    """Let listeners know, some time, that the work is done which is on a stream now.

    Parameters
    ----------
    driver : Driver
        The driver of the stream.
    stream : int
        Its handle.
    ordinal : int
        The device whose default stream it is, if it is one.
    call : str
        Named in errors.
    *listeners : object
        With ``on_done()``; they are referred to weakly.
    """
    mark = driver.mark(stream, ordinal, call)
    references = tuple(weakref.ref(listener) for listener in listeners)
    _notifications.append(Notification(driver, stream, os.getpid(), mark, references))
    if poll not in gc.callbacks:
        gc.callbacks.append(poll)


def poll(
    phase: str = "start",
    info: object = None,  # noqa: ARG001 - so are callbacks of the collector called
    _notifications: Any = _notifications,  # defaults, since globals may be gone
    _suppress: Any = contextlib.suppress,
    _process: Any = os.getpid,
) -> None:
    """Tell those whose work is done, before garbage is looked for.

    One question per stream: what is behind the first that is under way is under way, too.
    """
    if phase != "start" or not _notifications:
        return
    process, waiting = _process(), set()
    for _ in range(len(_notifications)):
        try:
            one = _notifications.popleft()  # nobody else asks about it meanwhile
        except IndexError:
            return
        where, done = (one.driver, one.stream), False
        with _suppress(Exception):
            is_ours = one.process == process and where not in waiting
            done = is_ours and one.driver.is_complete(one.mark)
        if not done:
            waiting.add(where)
            _notifications.append(one)
            continue
        for reference in one.listeners:
            listener = reference()
            if listener is not None:
                listener.on_done()
