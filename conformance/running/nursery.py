"""The nursery: a process that imports a library once, and forks a child for each check of it.

Source: interchange.  Requests and answers are lines of JSON on two inherited pipes, so that what a
library prints gets in nobody's way.  A library that starts Python threads when it is imported
cannot be forked safely: the first answer says so, and its checks are each run in a new interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TextIO

from ..findings import BrokenSubjectError, on_note
from ..registry import load_checks
from .execution import execute
from .loading import load_subject, roles_of

if TYPE_CHECKING:
    from ..subject import Subject

_OUTPUT: Final = 4000  # kept of what is printed [bytes]
_GRACE: Final = 2.0  # from an answer to the end of the process [seconds]
_TICK: Final = 0.02  # [seconds]


def main(arguments: list[str]) -> None:
    """Serve requests until there are no more.

    Parameters
    ----------
    arguments : list of str
        Where requests come from and answers go to (file descriptors), and the subject's spec.
    """
    requests = os.fdopen(int(arguments[0]), encoding="utf-8")
    answers = os.fdopen(int(arguments[1]), "w", encoding="utf-8")
    for line in requests:
        request = json.loads(line)
        sys.path[:] = request["path"]
        break
    load_checks()
    subject = _introduce(arguments[2], answers)
    if subject is None:
        return
    for line in requests:
        request = json.loads(line)
        _say(answers, _run(request["item"], subject, request["seconds"]))


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    """Send one answer."""
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _introduce(spec: str, answers: TextIO) -> Subject | None:
    """Load the subject and send what it is, or why there is none."""
    try:
        subject = load_subject(spec)
    except BrokenSubjectError as error:
        _say(answers, {"broken": str(error)})
        return None
    _say(
        answers,
        {
            "name": subject.name,
            "version": subject.version,
            "roles": roles_of(subject),
            "forks": threading.active_count() == 1,
        },
    )
    return subject


# ---------------------------------------------------------------- one child


def _run(item: str, subject: Subject, seconds: float) -> dict[str, Any]:
    """Run an item in a child of this process, and return the verdict."""
    began = time.monotonic()
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            os.close(reading)
            run_here(item, subject, writing, output.fileno())
            os._exit(0)
        os.close(writing)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)  # both sides do, so that neither needs to wait
        verdict = _follow(child, reading, began + seconds)
        os.close(reading)
        verdict["output"] = _tail(output.fileno())
    verdict["seconds"] = round(time.monotonic() - began, 4)
    return verdict


def run_here(item: str, subject: Subject, writing: int, output: int) -> None:
    """Run an item in this process, which is its own, and write notes and verdict to a pipe."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable(2)

    def tell(line: dict[str, str]) -> None:
        os.write(writing, json.dumps(line).encode() + b"\n")

    on_note(lambda doing: tell({"note": doing}))
    status, evidence = execute(item, subject)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    tell({"status": status, "evidence": evidence})


def _follow(child: int, reading: int, deadline: float) -> dict[str, Any]:
    """Wait for a child's verdict and its end; cut it at the deadline."""
    received, ended = b"", None  # `ended` is 0 after a good end
    while time.monotonic() < deadline:
        ready, _, _ = select.select([reading], [], [], _TICK)
        if ready:
            chunk = os.read(reading, 65536)
            received += chunk
            if not chunk:
                break
        if _verdict_in(received):
            deadline = min(deadline, time.monotonic() + _GRACE)
            break
        ended = _ended(child) if ended is None else ended
        if ended is not None and not ready:
            break
    status = _wait(child, deadline) if ended is None else ended
    return _conclude(received, status)


def _wait(child: int, deadline: float) -> int | None:
    """Return the exit status of a child, or None if it had to be killed."""
    while time.monotonic() < deadline:
        if (status := _ended(child)) is not None:
            return status
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _ended(child: int) -> int | None:
    """Return the wait status of a child that has ended, else None."""
    found, status = os.waitpid(child, os.WNOHANG)
    return status if found else None


def _verdict_in(received: bytes) -> bool:
    """Whether the verdict is among complete lines."""
    return b'{"status"' in received and received.endswith(b"\n")


def _conclude(received: bytes, status: int | None) -> dict[str, Any]:
    """Return the verdict that a child sent, or that its end amounts to."""
    lines = [json.loads(line) for line in received.split(b"\n")[:-1] if line]
    verdicts = [line for line in lines if "status" in line]
    notes = [line["note"] for line in lines if "note" in line]
    doing = f" while {notes[-1]}" if notes else ""
    if verdicts and (status is None or not os.WIFSIGNALED(status)):
        return dict(verdicts[0])
    if status is None:
        return {"status": "hang", "evidence": f"it was still running after its time{doing}"}
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {"status": "crash", "evidence": f"{name} ended the process{doing}"}
    code = os.waitstatus_to_exitcode(status)
    return {"status": "exit", "evidence": f"the process was ended with exit code {code}{doing}"}


def _tail(output: int) -> str:
    """Return the end of what was printed."""
    size = os.lseek(output, 0, os.SEEK_END)
    os.lseek(output, max(0, size - _OUTPUT), os.SEEK_SET)
    return os.read(output, _OUTPUT).decode("utf-8", "replace")


if __name__ == "__main__":
    main(sys.argv[1:])
