"""The fork server: a process that imports libraries once, and forks a child for each request.

Requests and answers are lines of JSON on two inherited pipes, so that output of a library does not
mix with answers.  The first request names the subjects to load, and the answer describes them;
without names, the children load the subjects of their requests: this is for work that needs a
separate interpreter, and for libraries that start Python threads when they are imported, whose
process cannot be forked safely.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import BrokenSubjectError, note
from interchange_conformance.probes.pair_exchange import exchange
from interchange_conformance.registry import load_checks

from . import kernel
from .child_process import ParentGoneError
from .children import run_in_child
from .execution import execute, settle
from .loading import load_subject, roles_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.subject import Subject

    Loaded = dict[str, Subject | BrokenSubjectError]

_CHUNK: Final = 65536  # read at a time [bytes]


def main(arguments: list[str]) -> None:
    """Serve requests until there are no more, or no client waits for the answer."""
    coming, going = map(int, arguments)
    kernel.adopt_orphans()
    kernel.leave_no_core()
    requests = _requests(coming)
    start = next(requests, None)
    if start is None:
        return
    subjects = _begin(start, going)
    ours = coming, going
    for request in requests:
        fresh = bool(request.get("ends"))
        try:
            answer = run_in_child(
                _work_of(request, subjects),
                request["seconds"],
                before=_preparation_of(request, subjects),
                seconds_before=request.get("loading", 0.0),
                ends=fresh,
                parent_pipe=coming,
                private=ours,
            )
        except ParentGoneError:
            return
        _answer(going, answer)


def _requests(coming: int) -> Iterator[dict[str, Any]]:
    """Yield requests in order."""
    rest = b""
    while chunk := os.read(coming, _CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from map(json.loads, lines)


def _answer(going: int, answer: dict[str, Any]) -> None:
    """Send one answer."""
    rest = json.dumps(answer).encode() + b"\n"
    while rest:
        rest = rest[os.write(going, rest) :]


def _begin(start: dict[str, Any], going: int) -> Loaded:
    """Load the subjects of the first request, and send their descriptions."""
    sys.path[:] = [*start["path"], *(sys.path if start.get("keeps") else ())]
    load_checks()
    subjects: Loaded = {spec: _loaded(spec) for spec in start["specs"]}
    answers = [_described(spec, found) for spec, found in subjects.items()]
    for module in start.get("preload", ()):
        importlib.import_module(module)
    forks = threading.active_count() == 1
    gc.collect()
    gc.freeze()  # so that children neither traverse nor copy these objects when they collect
    _answer(going, {"subjects": answers, "forks": forks})
    return subjects


def _loaded(spec: str) -> Subject | BrokenSubjectError:
    """Return a subject, or the error that prevents loading it."""
    try:
        return load_subject(spec)
    except BrokenSubjectError as error:
        return error


def _described(spec: str, found: Subject | BrokenSubjectError) -> dict[str, Any]:
    """Return the description of a subject."""
    if isinstance(found, BrokenSubjectError):
        return {"name": spec, "broken": str(found)}
    told = {"name": found.name, "version": found.version, "roles": roles_of(found)}
    return {**told, "python": platform.python_version()}


# ---------------------------------------------------------------- requests, in children


def _preparation_of(request: dict[str, Any], subjects: Loaded) -> Callable[[], object]:
    """Return a function that loads missing subjects before the time limit of the work starts."""

    def load() -> None:
        for spec in request["specs"]:
            if spec not in subjects:
                note(f"importing {spec}")
                subjects[spec] = _loaded(spec)

    return load


def _work_of(request: dict[str, Any], subjects: Loaded) -> Callable[[], tuple[str, str]]:
    """Return the requested work, to be run in a child."""

    def work() -> tuple[str, str]:
        found = [subjects[spec] for spec in request["specs"]]
        sound = [one for one in found if not isinstance(one, BrokenSubjectError)]
        for one in found:
            if isinstance(one, BrokenSubjectError):
                return "broken-subject", str(one)
        return _KINDS[request["kind"]](request, sound)

    return work


def _judge(request: dict[str, Any], subjects: list[Subject]) -> tuple[str, str]:
    """Run one item of one subject."""
    return execute(request["item"], *subjects)


def _judge_many(request: dict[str, Any], _: list[Subject]) -> tuple[str, str]:
    """Run several items in one process, each with a new subject; return the results as JSON."""
    (spec,) = request["specs"]
    return "pass", json.dumps([execute(item, load_subject(spec)) for item in request["items"]])


def _exchange(request: dict[str, Any], subjects: list[Subject]) -> tuple[str, str]:
    """Exchange an array between two subjects."""
    ended = "refused", ""

    def work() -> None:
        nonlocal ended
        producer, consumer = subjects
        ended = exchange(producer, consumer, tuple(request["devices"]))

    failed = settle(work)
    return ended if failed[0] == "pass" else failed


_KINDS: Final = {"item": _judge, "batch": _judge_many, "exchange": _exchange}
"""Kind of a request -> the function that a child calls."""


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # the end of a library's process is tested by checks, which run in children
