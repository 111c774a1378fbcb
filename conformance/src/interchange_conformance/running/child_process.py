"""Follow a child process until its end, and determine its verdict.

Source: waitid(2), kill(2).  A crash, an exit and a hang are verdicts; processes that a child leaves
running are killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Final

from interchange_conformance.evidence.causes import cause_of_end
from interchange_conformance.evidence.printable import cleaned
from interchange_conformance.findings import OWN

from . import kernel

LOST: Final = 71
"""Exit code of a child that can no longer send its verdict."""
_KEPT: Final = 4000  # limit of printed output that is kept [bytes]
_CHUNK: Final = 65536  # read at a time [bytes]
_LAST_CHUNKS: Final = (
    16  # as much as a pipe may hold; more comes from a process that is still writing
)
_GRACE: Final = 2.0  # from a verdict to the end of the process [seconds]
_LEFT_BEHIND: Final = 0.2  # for the descendants of a child to end [seconds]
_TICK: Final = 0.02  # [seconds]
_SOON: Final = 0.001  # between a closed pipe and the end of its process [seconds]


class ParentGoneError(Exception):
    """No client waits for the verdict any more; the child was killed."""


class _Messages:
    """The messages of a child: its last note, and its verdict."""

    def __init__(self) -> None:
        self._rest = b""
        self.note = ""
        self.has_begun = False
        self.verdict: tuple[str, str] | None = None
        self.cause = ""

    def take_in(self, chunk: bytes) -> None:
        """Add received bytes; lines that are not messages were written by a library by mistake."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[-_CHUNK:]
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                said = json.loads(line)
                if "note" in said:
                    self.note = said["note"]
                    self.has_begun |= not self.note
                elif self.verdict is None:
                    self.verdict = said["status"], said["evidence"]
                    self.cause = said.get("cause", "")


class ChildProcess:
    """A child process, and its output.

    Parameters
    ----------
    child : int
        Its process id.
    said, printed : int
        Pipes of its messages and of its printed output [file descriptors].
    parent_pipe : int or None
        A pipe whose other end the caller holds [file descriptor].
    helpers : set of int
        Children of this process that do not belong to this child [process ids].
    """

    def __init__(
        self, child: int, said: int, printed: int, parent_pipe: int | None, helpers: set[int]
    ) -> None:
        self._child, self._parent_pipe, self._helpers = child, parent_pipe, helpers
        self._report_pipe, self._printed = said, printed
        self._open = {said, printed}
        self._messages, self._output = _Messages(), b""
        self._ended = False
        self._code: int | None = None  # negative for a signal; None if it was terminated here

    def follow(self, seconds_before: float, seconds: float, *, to_its_end: bool) -> None:
        """Wait for the end of the child, until its time limit.

        Parameters
        ----------
        seconds_before : float
            Additional time until it reports that its work begins [seconds].
        seconds : float
            Time limit of its work [seconds].
        to_its_end : bool
            Whether to wait for its end, within the time limit, after its verdict.

        Raises
        ------
        ParentGoneError
            The other end of the parent pipe was closed.
        """
        poll = select.poll()
        for pipe in self._open:
            os.set_blocking(pipe, False)
            poll.register(pipe, select.POLLIN)
        if self._parent_pipe is not None:
            poll.register(self._parent_pipe, 0)  # only to detect that it was closed
        deadline, has_begun = time.monotonic() + seconds_before + seconds, False
        while (left := deadline - time.monotonic()) > 0:
            pause = min(left, _TICK if self._report_pipe in self._open else _SOON)
            for pipe, _ in poll.poll(pause * 1000):
                if pipe == self._parent_pipe:
                    raise ParentGoneError
                if not self._take_from(pipe):
                    poll.unregister(pipe)
            if self._has_ended():
                return
            if self._messages.has_begun and not has_begun:
                has_begun, deadline = True, time.monotonic() + seconds
            if self._messages.verdict is not None and not to_its_end:
                to_its_end, deadline = True, min(deadline, time.monotonic() + _GRACE)

    def _take_from(self, pipe: int) -> bool:
        """Read from a pipe, and return whether more may follow."""
        try:
            chunk = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            self._open.discard(pipe)
        elif pipe == self._report_pipe:
            self._messages.take_in(chunk)
        else:
            self._output = (self._output + chunk)[-_KEPT:]
        return bool(chunk)

    def _has_ended(self) -> bool:
        """Return whether the child has ended; it has not been reaped."""
        if not self._ended:
            try:
                end = os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # a handler in this process waits for every child
                self._ended, self._code = True, LOST
                return True
            if end is not None:
                by_itself = end.si_code == os.CLD_EXITED
                self._ended, self._code = True, end.si_status if by_itself else -end.si_status
        return self._ended

    def clear(self) -> None:
        """Kill all remaining processes, reap them, and close the pipes."""
        if not self._ended:
            self._cut()
        for pipe in self._open.copy():  # the rest of the output; at most the capacity of a pipe
            all(self._take_from(pipe) for _ in range(_LAST_CHUNKS))
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._child, 0)
        self._sweep()
        os.close(self._report_pipe)
        os.close(self._printed)

    def _cut(self) -> None:
        """Make the child print its stacks, and end it."""
        for deadly in (signal.SIGABRT, signal.SIGKILL):  # on the first, faulthandler prints stacks
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, deadly)
            patience = time.monotonic() + _LEFT_BEHIND
            while time.monotonic() < patience and not self._has_ended():
                time.sleep(_SOON)
        self._ended, self._code = True, None

    def _sweep(self) -> None:
        """Kill and reap processes that the child left running, in its group or as orphans."""
        patience = time.monotonic() + (0 if self._code is None else _LEFT_BEHIND)
        end = patience + _GRACE  # processes that survive this are left to the kernel
        while (now := time.monotonic()) < end:
            orphans = kernel.children() - self._helpers
            deadly = signal.SIGKILL if now >= patience else 0
            for orphan in orphans:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(orphan, deadly)
                    os.waitpid(orphan, os.WNOHANG)
            with contextlib.suppress(PermissionError):
                try:
                    os.killpg(self._child, deadly)
                except ProcessLookupError:
                    if not orphans:
                        return
            time.sleep(_SOON)

    def conclude(self, *, ends: bool) -> dict[str, Any]:
        """Return the verdict of the child, or the one that follows from its end."""
        status, evidence = self._amount(ends=ends)
        output = cleaned(self._output.decode("utf-8", "replace"))
        cause = self._messages.cause
        if (
            status,
            evidence,
        ) != self._messages.verdict:  # the process ended differently from its work
            cause = cause_of_end(evidence.partition(" ")[0], output) if status == "crash" else ""
        return {"status": status, "evidence": evidence, "output": output, "cause": cause}

    def _amount(self, *, ends: bool) -> tuple[str, str]:
        """Return a status and the evidence, according to the end of the process."""
        code, verdict = self._code, self._messages.verdict
        when = f" while {self._messages.note}" if self._messages.note else ""
        if verdict is not None:
            has_crashed = code is not None and code < 0
            if not has_crashed and not (ends and verdict[0] == "pass" and code != 0):
                return verdict
            when = ", when the check was over"
        if code is None:
            return "hang", f"the process was still running after its time{when}"
        if code < 0 and self._messages.note.startswith(OWN):
            return "not-applicable", f"{_signal_name(-code)} ended the process{when}"
        if code < 0:
            return "crash", f"{_signal_name(-code)} ended the process{when}"
        if code == LOST and verdict is None:
            words = "the process closed pipes that are not its own, or the kit failed in it"
            return "exit", f"no verdict came{when}: {words}"
        return "exit", f"the process was ended with exit code {code}{when}"


def _signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a signal without a name
        return f"signal {number}"
