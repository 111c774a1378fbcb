"""Notifications on the host when the work on a stream is done.

Source: CUDA driver API, ``cuEventQuery``; Python's gc module.  The host does not wait
and the driver does not call back: it is queried when garbage is collected, memory is allocated, or
a copy is exported.
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
    from .device_driver import Driver


class Listener(Protocol):
    """An object that keeps another alive until some work is done."""

    def on_done(self) -> None:
        """Drop the reference."""


class Notification(NamedTuple):
    """Work, and the listeners to notify when it is done."""

    driver: Driver
    stream: int
    process: int  # process id; a forked child cannot query the driver
    mark: Any  # an event recorded after the work
    listeners: tuple[weakref.ref[Listener], ...]  # weak references to the listeners


_notifications: Final[deque[Notification]] = deque()


def notify_when_done(
    driver: Driver, stream: int, ordinal: int, call: str, *listeners: Listener
) -> None:
    """Notify listeners after the work that is now on a stream is done.

    `ordinal`: the device whose default stream it is, if it is one.
    `listeners`: with ``on_done()``; only weak references to them are kept.
    """
    mark = driver.mark(stream, ordinal, call)
    references = tuple(weakref.ref(listener) for listener in listeners)
    _notifications.append(Notification(driver, stream, os.getpid(), mark, references))
    if poll not in gc.callbacks:
        gc.callbacks.append(poll)


def poll(
    phase: str = "start",
    info: object = None,  # noqa: ARG001 - the collector passes it
    _notifications: Any = _notifications,  # bound as defaults: globals may be gone
    _suppress: Any = contextlib.suppress,
    _process: Any = os.getpid,
) -> None:
    """Notify listeners whose work is done, before garbage is collected.

    Each stream is queried until the first event that is pending: later ones are pending, too.
    """
    if phase != "start" or not _notifications:
        return
    process, waiting = _process(), set()
    for _ in range(len(_notifications)):
        try:
            one = _notifications.popleft()  # so that no other thread queries it
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
