"""Run a function in a forked child, and return the result, however the child ends.

Source: fork(2).  The child leads its own process group, has one pipe for messages and one for
printed output, and ends with its parent.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.evidence import causes
from interchange_conformance.evidence.printable import cleaned
from interchange_conformance.findings import on_note

from . import kernel
from .child_process import LOST, ChildProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Work = Callable[[], tuple[str, str]]

_NOTE: Final = 500  # of a note, so that its line is written atomically [characters]


def run_in_child(
    work: Work,
    seconds: float,
    *,
    before: Callable[[], object] = bool,
    seconds_before: float = 0.0,
    ends: bool = False,
    parent_pipe: int | None = None,
    private: Collection[int] = (),
) -> dict[str, Any]:
    """Run a function in a child of this process, and return the result.

    Parameters
    ----------
    work : callable
        Returns a status and the evidence.
    seconds : float
        Time limit after which the child is terminated [seconds].
    before : callable, optional
        Function that the child calls first.
    seconds_before : float, optional
        Additional time limit of `before`; the limit of the work starts afterwards [seconds].
    ends : bool, default False
        Whether the child's interpreter is finalised, and its end is part of the verdict; otherwise
        the child exits as soon as the work is done.
    parent_pipe : int, optional
        A pipe whose other end the caller holds [file descriptor].
    private : collection of int, optional
        Descriptors that are closed in the child [file descriptors].

    Returns
    -------
    dict
        ``status``, ``evidence``, ``output``, which is the end of the printed output, ``cause`` and
        ``seconds``.

    Raises
    ------
    ParentGoneError
        The other end of the parent pipe was closed.
    """
    began = time.monotonic()
    helpers = kernel.children()  # started by the library when it was imported
    said, saying = os.pipe()
    printed, printing = os.pipe()
    _flush()
    parent = os.getpid()
    theirs = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # only this module waits for them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # BLAS has threads, and warns of forks
        child = os.fork()
    if not child:
        mine = (said, printed, *private)
        with _ending(parent, ends=ends):
            signal.signal(signal.SIGCHLD, theirs or signal.SIG_DFL)
            _live(before, work, _redirected(saying, printing, mine))
    os.close(saying)
    os.close(printing)
    with contextlib.suppress(OSError):
        os.setpgid(child, child)  # in both processes, so that neither needs to wait
    process = ChildProcess(child, said, printed, parent_pipe, helpers)
    try:
        process.follow(seconds_before, seconds, to_its_end=ends)
    finally:
        process.clear()
        signal.signal(signal.SIGCHLD, theirs or signal.SIG_DFL)
    verdict = process.conclude(ends=ends)
    verdict["seconds"] = round(time.monotonic() - began, 4)
    return verdict


def _flush() -> None:
    """Flush standard output and error, so that no child prints their buffers again."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


# ---------------------------------------------------------------- in the child


@contextlib.contextmanager
def _ending(parent: int, *, ends: bool) -> Iterator[None]:
    """End the process after the block in any case: it must not return into the parent's code."""
    me, code = os.getpid(), LOST
    try:
        os.setpgid(0, 0)
        kernel.end_with_parent(parent)
        kernel.die_first()
        yield
        code = 0
    except BaseException:  # noqa: BLE001 - as above
        traceback.print_exc()
        _flush()
    if not ends or os.getpid() != me:
        os._exit(code)
    gc.unfreeze()  # objects that the fork server froze would not be freed at the end
    raise SystemExit(code)


def _live(before: Callable[[], object], work: Work, mouth: _Mouth) -> None:
    """Run the work, and send the verdict."""
    on_note(lambda doing: mouth.say({"note": cleaned(doing)[:_NOTE]}))
    before()
    mouth.say({"note": ""})  # the time limit of the work starts
    status, evidence = work()
    _flush()
    mouth.say({"status": status, "evidence": evidence, "cause": causes.last()})


def _redirected(saying: int, printing: int, others: Collection[int]) -> _Mouth:
    """Disable standard input, redirect output to a pipe, and return the pipe of messages."""
    for pipe in others:
        os.close(pipe)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    os.close(nothing)
    os.close(printing)
    faulthandler.enable(2)
    return _Mouth(saying)


class _Mouth:
    """A pipe to which a child sends messages, unless the library has closed it."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._owner, self._lock = pipe, os.getpid(), threading.Lock()
        self._identity = self._look()

    def _look(self) -> tuple[int, int]:
        """Return the identity of the file to which the descriptor refers."""
        found = os.fstat(self._pipe)
        return found.st_dev, found.st_ino

    def say(self, line: dict[str, str]) -> None:
        """Write a line; do nothing in a child of the child.

        Raises `OSError`: the library closed the pipe, or replaced its descriptor.
        """
        if os.getpid() != self._owner:
            return
        if self._look() != self._identity:
            raise OSError("the descriptor was closed, and leads elsewhere now")
        rest = json.dumps(line).encode() + b"\n"
        with self._lock:
            while rest:
                rest = rest[os.write(self._pipe, rest) :]
