"""The grid: arrays of each subject, imported by each subject.

All libraries are imported into one process, which forks a child for each pair; if they cannot share
a process, each pair has a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.reports.model import Exchange
from interchange_conformance.running.client import IMPORT_SECONDS, ForkServer, ForkServerGoneError

from .judge import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interchange_conformance.reports.model import SubjectReport

    from .judge import Settings

_SECONDS: Final = 10.0
"""Time limit of one exchange [seconds]."""
_STATUSES: Final = {
    "raised": "wrong",
    "broken-subject": "refused",
    "exit": "crash",
    "fail": "wrong",
    "not-applicable": "refused",
}
"""Status of a child -> result of the exchange, if it has another name."""


class _Pair(NamedTuple):
    """Two subjects."""

    producer: SubjectReport
    consumer: SubjectReport


def exchange(
    subjects: Sequence[SubjectReport],
    settings: Settings,
    begin: Callable[[str, int], object] = lambda *_: None,
    tell: Callable[[Exchange], object] = lambda _: None,
) -> list[Exchange]:
    """Return the results of importing an array of each producer in each consumer.

    Parameters
    ----------
    subjects : sequence of SubjectReport
        The subjects that could be judged.
    settings : Settings
        Settings of the run.
    begin : callable, optional
        Called once with a heading and the number of pairs.
    tell : callable, optional
        Called with each exchange.
    """
    pairs = [
        _Pair(producer, consumer)
        for producer in subjects
        if "producer" in producer.roles
        for consumer in subjects
        if "consumer" in consumer.roles
    ]
    begin("the grid", len(pairs))
    found = []
    with _Servers([one.spec for one in subjects], settings) as servers:
        for pair in pairs:
            exchanged = servers.exchange(pair)
            tell(exchanged)
            found.append(exchanged)
    return found


class _Servers:
    """The processes in which arrays are exchanged."""

    def __init__(self, specs: Sequence[str], settings: Settings) -> None:
        self._specs, self._driver, self._patience = specs, settings.driver, settings.patience
        self._python = settings.python
        self._environment = environment(settings.driver, settings.python)
        self._together: ForkServer | None = None
        self._loaded: frozenset[str] = frozenset()
        self._apart: ForkServer | None = None

    def __enter__(self) -> _Servers:
        server = ForkServer(self._environment, self._python)
        try:
            answer = server.begin(self._specs, seconds=self._import_seconds)
        except ForkServerGoneError:  # not all libraries can share one process
            server.close()
            return self
        except BaseException:
            server.close()
            raise
        if not answer["forks"]:
            server.close()
            return self
        said = zip(self._specs, answer["subjects"], strict=True)
        self._loaded = frozenset(spec for spec, about in said if not about.get("broken"))
        self._together = server
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._together, self._apart):
            if server is not None:
                server.close()

    @property
    def _import_seconds(self) -> float:
        """Time limit of importing all libraries [seconds]."""
        return IMPORT_SECONDS * self._patience

    def exchange(self, pair: _Pair) -> Exchange:
        """Exchange one array."""
        specs = {pair.producer.spec, pair.consumer.spec}
        together = self._together is not None and specs <= self._loaded
        request = {
            "kind": "exchange",
            "specs": [pair.producer.spec, pair.consumer.spec],
            "devices": ["cpu"] if self._driver == "none" else ["cpu", "cuda"],
            "seconds": _SECONDS * self._patience,
            "loading": 0.0 if together else self._import_seconds,
        }
        try:
            answer = self._server(together=together).run(request)
        except ForkServerGoneError as error:
            self._forget(together=together)
            answer = {"status": "crash", "evidence": f"the process that forks ended: {error}"}
        status: Any = _STATUSES.get(answer["status"], answer["status"])
        return Exchange(pair.producer.name, pair.consumer.name, status, answer["evidence"])

    def _server(self, *, together: bool) -> ForkServer:
        """Return the process that forks."""
        if together and self._together is not None:
            return self._together
        if self._apart is None:
            self._apart = ForkServer(self._environment, self._python)
            self._apart.begin([])
        return self._apart

    def _forget(self, *, together: bool) -> None:
        """Stop using a process that has ended: pairs are loaded one by one from now on."""
        gone, self._together, self._apart = (
            (self._together, None, self._apart) if together else (self._apart, self._together, None)
        )
        if gone is not None:
            gone.close()
