"""The client of a fork server: it starts the process, sends requests, and survives its failure."""

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
"""Time limit of importing libraries [seconds]."""
_SLACK: Final = 10.0  # by which a verdict of a fork server may be late [seconds]
_EXIT_SECONDS: Final = 3.0  # for a fork server to end its children and itself [seconds]
_CHUNK: Final = 65536  # read at a time [bytes]
_KEPT: Final = 4000  # limit of a fork server's printed output that is kept [bytes]
_MODULE: Final = "interchange_conformance.running.fork_server"


class ForkServerGoneError(Exception):
    """A fork server ended or stalled; the message contains the details."""


class ForkServer:
    """A fork server process, and the pipes to it.

    Parameters
    ----------
    environment : mapping
        Environment of the process.
    python : str, optional
        The interpreter, which finds the kit in that environment; by default this process's.
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
        """Load subjects, and return their descriptions.

        Parameters
        ----------
        specs : sequence of str
            The subjects; empty for a server whose children load the subjects of their requests.
        preload : sequence of str, optional
            Additional modules to import.
        seconds : float, optional
            Time limit of loading [seconds].

        Raises
        ------
        ForkServerGoneError
            The process ended or stalled during loading.
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
        """Return the verdict on a request.

        Parameters
        ----------
        request : dict
            ``kind``, ``specs`` of the subjects, ``seconds`` for the work, ``loading``, the
            additional time for imports [seconds], and the arguments of the kind.

        Raises
        ------
        ForkServerGoneError
            There is no verdict, and the fork server has ended.
        """
        return self._ask(request, request["seconds"] + request["loading"] + _SLACK)

    def close(self) -> None:
        """End the process and its children; called once, by the thread that sends requests."""
        os.close(self._requests)  # this ends the server and its child
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        self.kill()
        os.close(self._answers)
        os.close(self._output)

    def kill(self) -> None:
        """Kill the process and its children; callable from any thread, also while another waits."""
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
        """Return the next line of the process."""
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
        """Read printed output of the process, and return whether more may follow."""
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._printed = (self._printed + chunk)[-_KEPT:]
        return bool(chunk)

    def _words(self) -> str:
        """Return the end of the printed output, on separate lines."""
        for _ in range(16):  # the capacity of a pipe
            if not self._hear_output():
                break
        said = cleaned(self._printed.decode("utf-8", "replace")).strip()
        return f"\n{said}" if said else ""

    def _last_words(self) -> str:
        """Return how the process ended, and its printed output."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:  # it closed its pipes, but is still running
            self.kill()
            return f"it closed pipes that are not its own{self._words()}"
        how = f"signal {-code} ended it" if code < 0 else f"it ended with exit code {code}"
        return f"{how}{self._words()}"


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    """Return both ends of a pipe, which are closed if a later step fails."""
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends
