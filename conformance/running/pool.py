"""The pool: hands items out to nurseries, and collects the verdicts.

Source: interchange.  It never imports what it judges, and outlives whatever that does.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..findings import Verdict
from ..registry import find_item
from .nursery import _conclude, _tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_IMPORT: Final = 120.0  # that a library may take to be imported [seconds]
_SLACK: Final = 10.0  # that a nursery may be late with a verdict [seconds]
_PACKAGE: Final = "interchange_conformance.running"


class About(NamedTuple):
    """What a nursery says of its subject.

    Attributes
    ----------
    name : str
        Name of the subject; the spec where it could not be loaded.
    version : str
        Release of the library.
    roles : list of str
        What it can be judged as.
    forks : bool
        Whether its process may be forked.
    broken : str
        Why it cannot be judged, or nothing.
    """

    name: str
    version: str = "unknown"
    roles: tuple[str, ...] = ()
    forks: bool = True
    broken: str = ""


class NurseryGoneError(Exception):
    """A nursery ended or stalled; the text says how."""


class Nursery:
    """A nursery process, and the pipes to it.

    Parameters
    ----------
    spec : str
        The subject.
    environment : mapping
        Of the process.
    """

    def __init__(self, spec: str, environment: Mapping[str, str]) -> None:
        self.spec, self.environment = spec, environment
        theirs_in, self._requests = os.pipe()
        self._answers, theirs_out = os.pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._received = b""
        command = [
            sys.executable,
            "-m",
            f"{_PACKAGE}.nursery",
            str(theirs_in),
            str(theirs_out),
            spec,
        ]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            env=dict(environment),
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )
        os.close(theirs_in)
        os.close(theirs_out)

    def introduce(self) -> About:
        """Return what the subject is.

        Returns
        -------
        About
            With `About.broken` where it does not import, ends or stalls.
        """
        try:
            answer = self._ask({"path": [str(Path.cwd()), *sys.path]}, _IMPORT)
        except NurseryGoneError as error:
            return About(self.spec, broken=f"{self.spec}: importing it: {error}")
        if "broken" in answer:
            return About(self.spec, broken=str(answer["broken"]))
        answer["roles"] = tuple(answer["roles"])
        return About(**answer)

    def run(self, item: str, seconds: float) -> dict[str, Any]:
        """Return the verdict of an item.

        Raises
        ------
        NurseryGoneError
            There is none, and the nursery is no more.
        """
        return self._ask({"item": item, "seconds": seconds}, seconds + _SLACK)

    def close(self) -> None:
        """End the process."""
        for descriptor in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        try:
            self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the answer."""
        try:
            os.write(self._requests, json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise NurseryGoneError(self._last_words()) from None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                self._process.kill()
                raise NurseryGoneError(f"nothing came within {seconds:.0f} seconds")
            chunk = os.read(self._answers, 65536)
            if not chunk:
                raise NurseryGoneError(self._last_words())
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        """Return how the process ended, and what it printed."""
        code = self._process.wait()
        how = f"signal {-code} ended it" if code < 0 else f"it ended with exit code {code}"
        return f"{how}\n{_tail(self._output.fileno())}".strip()


def run_fresh(
    item: str, spec: str, seconds: float, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Return the verdict of an item that is run in an interpreter of its own."""
    began = time.monotonic()
    reading, writing = os.pipe()
    path = json.dumps([str(Path.cwd()), *sys.path])
    command = [sys.executable, "-m", f"{_PACKAGE}.fresh", str(writing), spec, item, path]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            env=dict(environment),
            pass_fds=(writing,),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        os.close(writing)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
        os.set_blocking(reading, False)
        received = _drain(reading)
        os.close(reading)
        status = None if code is None else (-code if code < 0 else code << 8)
        verdict = _conclude(received, status)
        if code and verdict["status"] == "pass":
            verdict = {"status": "exit", "evidence": f"it passed, and ended with exit code {code}"}
        verdict["output"] = _tail(output.fileno())
    verdict["seconds"] = round(time.monotonic() - began, 4)
    return verdict


def _drain(reading: int) -> bytes:
    """Return what there is in a pipe."""
    received = b""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(reading, 65536):
            received += chunk
    return received


class Pool:
    """Nurseries of one subject.

    Parameters
    ----------
    spec : str
        The subject.
    jobs : int
        How many items are run at a time, at most.
    environment : mapping, optional
        Of the processes; that of this one when left out.

    Attributes
    ----------
    about : About
        What the subject is.
    """

    def __init__(
        self, spec: str, jobs: int = 1, environment: Mapping[str, str] | None = None
    ) -> None:
        self.spec, self.jobs = spec, max(1, jobs)
        self.environment = dict(os.environ if environment is None else environment)
        self._idle: list[Nursery] = [Nursery(spec, self.environment)]
        self.about = self._idle[0].introduce()

    def run(
        self,
        items: Sequence[str],
        *,
        tell: Callable[[Verdict], bool | None] = bool,
    ) -> list[Verdict]:
        """Run items and return their verdicts, in the order of the items.

        Parameters
        ----------
        items : sequence of str
            As `Check.items` gives them.
        tell : callable, optional
            Called with each verdict as it comes; where it returns True, nothing more is begun.
        """
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for item in items:
            waiting.put(item)
        found: dict[str, Verdict] = {}
        enough = threading.Event()
        lock = threading.Lock()

        def work() -> None:
            while not enough.is_set():
                try:
                    item = waiting.get_nowait()
                except queue.Empty:
                    return
                verdict = self.run_one(item)
                with lock:
                    found[item] = verdict
                    if tell(verdict):
                        enough.set()

        threads = [threading.Thread(target=work) for _ in range(min(self.jobs, len(items)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[item] for item in items if item in found]

    def run_one(self, item: str) -> Verdict:
        """Run one item and return its verdict."""
        check, _ = find_item(item)
        if self.about.broken:
            return Verdict(self.about.name, item, "broken-subject", self.about.broken)
        if check.fresh or not self.about.forks:
            answer = run_fresh(item, self.spec, check.seconds + _IMPORT, self.environment)
            return Verdict(self.about.name, item, **answer)
        nursery = self._take()
        if nursery is None:
            words = f"{self.spec}: its library could be imported once and not again"
            return Verdict(self.about.name, item, "broken-subject", words)
        try:
            answer = nursery.run(item, check.seconds)
        except NurseryGoneError as error:
            nursery.close()
            return Verdict(self.about.name, item, "crash", f"the process that forks ended: {error}")
        self._idle.append(nursery)
        return Verdict(self.about.name, item, **answer)

    def close(self) -> None:
        """End every process."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Nursery | None:
        """Return a nursery that is free, a new one if need be."""
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        nursery = Nursery(self.spec, self.environment)
        if nursery.introduce().broken:
            nursery.close()
            return None
        return nursery


def items_for(about: About, names: Iterable[str] | None = None) -> list[str]:
    """Return the items that a subject can be judged by, of all checks or of those named."""
    from ..registry import load_checks

    wanted = None if names is None else set(names)
    return [
        item
        for check in load_checks().values()
        if check.role in about.roles and (wanted is None or check.name in wanted)
        for item in check.items()
    ]
