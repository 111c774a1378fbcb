"""The client of a fork server: starts the process, asks it, and survives whatever becomes of it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.evidence.printable import cleaned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IMPORT_SECONDS: Final = 120.0
"""That libraries may take to be imported [seconds]."""
_SLACK: Final = 10.0  # that a fork server may be late with a verdict [seconds]
_EXIT_SECONDS: Final = 3.0  # for a fork server to end its children and itself [seconds]
_CHUNK: Final = 65536  # read at a time [bytes]
_KEPT: Final = 4000  # of what a fork server prints [bytes]
_MODULE: Final = "interchange_conformance.running.fork_server"


class ForkServerGoneError(Exception):
    """A fork server ended or stalled; the text says how."""


class ForkServer:
    """A fork server process, and the pipes to it.

    Parameters
    ----------
    environment : mapping
        Of the process.
    python : str, optional
        The interpreter, which finds the kit in that environment; this process's when left out.
    """

    def __init__(self, environment: Mapping[str, str], python: str = "") -> None:
        self._path = [] if python else sys.path
        self._received = self._printed = b""
        with contextlib.ExitStack() as undo:
            theirs_in, self._requests = _pipe(undo)
            self._answers, theirs_out = _pipe(undo)
            self._output, theirs_output = _pipe(undo)
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [python or sys.executable, "-m", _MODULE, str(theirs_in), str(theirs_out)],
                env=dict(environment),
                pass_fds=(theirs_in, theirs_out),
                stdin=subprocess.DEVNULL,
                stdout=theirs_output,
                stderr=theirs_output,
                start_new_session=True,  # Ctrl-C does not interrupt a library
            )
            undo.pop_all()
        for theirs in (theirs_in, theirs_out, theirs_output):
            os.close(theirs)
        os.set_blocking(self._output, False)

    def begin(
        self, specs: Sequence[str], *, preload: Sequence[str] = (), seconds: float = IMPORT_SECONDS
    ) -> dict[str, Any]:
        """Have subjects loaded, and return what they are.

        Parameters
        ----------
        specs : sequence of str
            The subjects; none for a server whose children load what they are asked about.
        preload : sequence of str, optional
            Modules that are imported, too.
        seconds : float, optional
            How long that may take [seconds].

        Raises
        ------
        ForkServerGoneError
            The process ended or stalled over it.
        """
        path = [str(Path.cwd()), *self._path]
        start = {
            "path": path,
            "keeps": not self._path,
            "specs": list(specs),
            "preload": list(preload),
        }
        return self._ask(start, seconds)

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the verdict on a piece of work.

        Parameters
        ----------
        request : dict
            ``kind``, ``specs`` of the subjects, ``seconds`` for the work, ``loading``, how much
            longer importing them may take [seconds], and what the kind takes.

        Raises
        ------
        ForkServerGoneError
            There is none, and the fork server is no more.
        """
        return self._ask(request, request["seconds"] + request["loading"] + _SLACK)

    def close(self) -> None:
        """End the process and its children; for the thread that asks it, once."""
        os.close(self._requests)  # on which it ends, and its child with it
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        self.kill()
        os.close(self._answers)
        os.close(self._output)

    def kill(self) -> None:
        """End the process at once, its children with it; any thread may, while another waits."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the answer."""
        try:
            rest = json.dumps(request).encode() + b"\n"
            while rest:
                rest = rest[os.write(self._requests, rest) :]
        except OSError:
            raise ForkServerGoneError(self._last_words()) from None
        line = self._line(time.monotonic() + seconds, seconds)
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            self.kill()
            raise ForkServerGoneError(f"a library wrote into its pipe: {line!r:.200}") from None
        return answer

    def _line(self, deadline: float, seconds: float) -> bytes:
        """Return the next line that the process sends."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._output, select.POLLIN)
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                self.kill()
                raise ForkServerGoneError(
                    f"nothing came within {seconds:.0f} seconds{self._words()}"
                )
            for pipe, _ in poll.poll(left * 1000):
                if pipe == self._output:
                    if not self._hear_output():
                        poll.unregister(pipe)
                    continue
                chunk = os.read(self._answers, _CHUNK)
                if not chunk:
                    raise ForkServerGoneError(self._last_words())
                self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _hear_output(self) -> bool:
        """Take in what the process prints, and return whether more may come."""
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._printed = (self._printed + chunk)[-_KEPT:]
        return bool(chunk)

    def _words(self) -> str:
        """Return the last of what the process printed, on lines of their own."""
        for _ in range(16):  # as much as a pipe may hold
            if not self._hear_output():
                break
        said = cleaned(self._printed.decode("utf-8", "replace")).strip()
        return f"\n{said}" if said else ""

    def _last_words(self) -> str:
        """Return how the process ended, and what it printed."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:  # it closed its pipes, and goes on
            self.kill()
            return f"it closed pipes that are not its own{self._words()}"
        how = f"signal {-code} ended it" if code < 0 else f"it ended with exit code {code}"
        return f"{how}{self._words()}"


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    """Return both ends of a pipe, to be closed should something fail."""
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends
