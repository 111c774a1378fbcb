"""The pool: distribute items to fork servers, and collect the verdicts.

This process never imports the library under test, and survives its failures.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

from interchange_conformance.findings import Verdict
from interchange_conformance.registry import find_item, load_checks

from .client import IMPORT_SECONDS, ForkServer, ForkServerGoneError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import Self


class About(NamedTuple):
    """A fork server's description of its subject.

    Attributes
    ----------
    name : str
        Name of the subject; the spec if it could not be loaded.
    version : str
        Release of the library.
    roles : tuple of str
        Roles in which it can be judged.
    forks : bool
        Whether its process may be forked.
    broken : str
        Why it cannot be judged; empty otherwise.
    python : str
        Version of the Python that loaded it, if it was loaded.
    """

    name: str
    version: str = "unknown"
    roles: tuple[str, ...] = ()
    forks: bool = True
    broken: str = ""
    python: str = ""


class Pool:
    """Fork servers of one subject.

    Parameters
    ----------
    spec : str
        The subject.
    jobs : int
        Maximum number of items that run at the same time.
    environment : mapping, optional
        Environment of the processes; by default that of this process.
    patience : float, default 1.0
        Factor of the time limits: larger for a slow machine.
    python : str, optional
        The interpreter of the processes; by default this one.

    Attributes
    ----------
    about : About
        Description of the subject.
    """

    spec: str
    jobs: int

    def __init__(
        self,
        spec: str,
        jobs: int = 1,
        environment: Mapping[str, str] | None = None,
        *,
        patience: float = 1.0,
        python: str = "",
    ) -> None:
        load_checks()
        self.spec, self.jobs = spec, max(1, jobs)
        self._environment = dict(os.environ if environment is None else environment)
        self._patience, self._python = patience, python
        self._import_seconds = IMPORT_SECONDS * patience
        self._lock = threading.Lock()
        self._free: dict[bool, list[ForkServer]] = {
            False: [],
            True: [],
        }  # for True: servers in which no subject is loaded
        self._alive: set[ForkServer] = set()
        self._abandoned = False
        self.about: About = self._introduce()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _introduce(self) -> About:
        """Return the description of the subject, and keep the fork server that loaded it."""
        server = self._start()
        try:
            answer = server.begin([self.spec], seconds=self._import_seconds)
        except ForkServerGoneError as error:
            self._end(server)
            return About(self.spec, broken=f"{self.spec}: importing it: {error}")
        except BaseException:
            self._end(server)
            raise
        (said,) = answer["subjects"]
        about = About(**{**said, "roles": tuple(said.get("roles", ()))}, forks=answer["forks"])
        if about.broken or not about.forks:
            self._end(server)
        else:
            self._free[False].append(server)
        return about

    # ------------------------------------------------------------ running

    def run(
        self,
        items: Sequence[str],
        *,
        tell: Callable[[Verdict], bool | None] = lambda _: None,
    ) -> list[Verdict]:
        """Run items and return their verdicts, in the order of the items.

        Parameters
        ----------
        items : sequence of str
            As `Check.items` gives them.
        tell : callable, optional
            Called with each verdict, in this thread; if it returns True, no further item is
            started, and those that are running are omitted.
        """
        found: dict[str, Verdict] = {}
        longest_first = sorted(items, key=lambda item: not find_item(item)[0].fresh)
        with ThreadPoolExecutor(self.jobs) as executor:
            try:
                futures = [executor.submit(self.run_one, item) for item in longest_first]
                for future in as_completed(futures):
                    verdict = future.result()
                    found[verdict.item] = verdict
                    if tell(verdict):
                        break
            except BaseException:  # Ctrl-C: waiting callers get no answer
                self._abandon()
                raise
            finally:
                executor.shutdown(cancel_futures=True)
        return [found[item] for item in items if item in found]

    def run_one(self, item: str) -> Verdict:
        """Run one item and return its verdict; an item that hangs is run once more.

        Thus a library that was slow once, for example on a busy machine, does not fail.
        """
        verdict = self._run_once(item)
        return self._run_once(item) if verdict.status == "hang" else verdict

    def _run_once(self, item: str) -> Verdict:
        """Run one item and return its verdict."""
        check, _ = find_item(item)
        alone = check.fresh or not self.about.forks
        request = {
            "kind": "item",
            "item": item,
            "specs": [self.spec],
            "loading": self._import_seconds if alone else 0.0,
            "seconds": check.seconds * self._patience,
            "ends": check.fresh,
        }
        gone = ""
        for _ in range(2):  # a fork server may have been killed from outside
            if self.about.broken:
                return Verdict(self.about.name, item, "broken-subject", self.about.broken)
            server = self._take(empty=alone)
            if server is None:
                continue
            try:
                answer = server.run(request)
            except BaseException as error:
                self._end(server)
                if not isinstance(error, ForkServerGoneError):
                    raise
                gone = str(error)
                continue
            with self._lock:
                self._free[alone].append(server)
            return Verdict(self.about.name, item, **answer)
        return Verdict(self.about.name, item, "crash", f"the process that forks ended: {gone}")

    def close(self) -> None:
        """End every process."""
        with self._lock:
            free = [server for servers in self._free.values() for server in servers]
            self._free = {False: [], True: []}
        for server in free:
            self._end(server)

    # ------------------------------------------------------------ fork servers

    def _take(self, *, empty: bool) -> ForkServer | None:
        """Return a free fork server, or a new one; None if it cannot be started."""
        with self._lock:
            if self._free[empty]:
                return self._free[empty].pop()
        specs = () if empty else (self.spec,)
        server = self._start()
        try:
            answer = server.begin(specs, seconds=self._import_seconds)
        except ForkServerGoneError as error:
            why = str(error)
        else:
            why = "".join(said.get("broken", "") for said in answer["subjects"])
            if not why:
                return server
        self._end(server)
        with self._lock:  # importing it again for each remaining item would take hours
            words = f"{self.spec}: its library could be imported once and not again: {why}"
            self.about = self.about._replace(broken=words)
        return None

    def _start(self) -> ForkServer:
        """Start a fork server."""
        with self._lock:
            if self._abandoned:
                raise ForkServerGoneError("the run was interrupted")
            server = ForkServer(self._environment, self._python)
            self._alive.add(server)
        return server

    def _end(self, server: ForkServer) -> None:
        """End the fork server of the calling thread."""
        with self._lock:
            self._alive.discard(server)
        server.close()

    def _abandon(self) -> None:
        """Kill every fork server, so that no caller waits for an answer."""
        with self._lock:
            self._abandoned = True
            for server in self._alive:
                server.kill()


def items_for(about: About, names: Iterable[str] | None = None) -> list[str]:
    """Return the items that apply to a subject, of all checks or of those named."""
    wanted = None if names is None else set(names)
    return [
        item
        for check in load_checks().values()
        if check.role in about.roles and (wanted is None or check.name in wanted)
        for item in check.items()
    ]
