"""Runs the checks on mutants and their honest counterparts, in separate processes.

Most items are run in sequence in one child, which takes a tenth of the
time; a finding is confirmed in a separate child before it counts.
"""

from __future__ import annotations

import json
import pkgutil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import BAD
from interchange_conformance.registry import find_item, load_checks
from interchange_conformance.running.client import ForkServer, ForkServerGoneError

from . import __name__ as package, __path__ as folders, subjects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from typing_extensions import Self

    from .model import Mutant

_BATCH: Final = 60.0  # for all items of a role in sequence [seconds]
_LOADING: Final = 10.0  # for the creation of a mutant [seconds]
_DOUBTFUL: Final = frozenset({"raised", "broken-subject"})
"""Statuses that catch no mutant, since the error was not checked for."""


class Outcome(NamedTuple):
    """The result of an item: one of `findings.STATUSES`, and the evidence."""

    status: str
    evidence: str


def items_of_role(role: str) -> list[str]:
    """Return every item of the role in which subjects are judged."""
    checks = load_checks().values()
    return [item for check in checks if check.role == role for item in check.items()]


def items_of(mutant: Mutant) -> list[str]:
    """Return the items of the check that should catch a mutant."""
    return list(load_checks()[mutant.check].items())


class Trials:
    """A process with an environment that runs checks on mutants and honest counterparts."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._server: ForkServer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def of(
        self, spec: str, items: Sequence[str], *, alone: Collection[str] = ()
    ) -> dict[str, Outcome]:
        """Return the results of items for ``"mutant:name"``, or for its ``"counterpart:name"``.

        The items of checks in `alone` do not share a process, since a mutant's change of the
        process is only visible once.
        """
        checks = {item: find_item(item)[0] for item in items}
        spec = f"{subjects.__name__}:{spec.replace(':', '.', 1)}"
        together = [one for one in items if not (checks[one].fresh or checks[one].name in alone)]
        found = self._batch(spec, together)
        return {item: self._confirmed(spec, item, found.get(item)) for item in items}

    def _confirmed(self, spec: str, item: str, seen: Outcome | None) -> Outcome:
        """Return the result, or that of the item in a separate process."""
        if seen is not None and seen.status not in BAD:
            return seen
        check, _ = find_item(item)
        answer = self._ask("item", spec, seconds=check.seconds, item=item, ends=check.fresh)
        return Outcome(answer["status"], answer["evidence"])

    def _batch(self, spec: str, items: Sequence[str]) -> dict[str, Outcome]:
        """Return the results of items in one process; no results if it crashed."""
        if not items:
            return {}
        answer = self._ask("batch", spec, seconds=_BATCH, items=items)
        if answer["status"] != "pass":
            return {}
        told = json.loads(answer["evidence"])
        return {item: Outcome(*outcome) for item, outcome in zip(items, told, strict=True)}

    def _ask(self, kind: str, spec: str, **more: Any) -> dict[str, Any]:
        """Return the response to a request, or a crash if the process ended."""
        if self._server is None:
            self._server = ForkServer(self._environment)
            modules = [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders)]
            preload = [module for module in modules if not module.endswith("__main__")]
            self._server.begin([], preload=[*preload, "numpy"])
        try:
            return self._server.run({"kind": kind, "specs": [spec], "loading": _LOADING, **more})
        except ForkServerGoneError as error:
            self.close()
            return {"status": "crash", "evidence": f"the process that forks ended: {error}"}


# ---------------------------------------------------------------- errors in mutants


def caught(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the items with findings."""
    return {item: outcome for item, outcome in outcomes.items() if outcome.status in BAD}


def failures(mutant: Mutant, trials: Trials) -> list[str]:
    """Return the errors in a mutant and the check that should catch it."""
    items = items_of(mutant)
    found = caught(trials.of(f"mutant:{mutant.name}", items, alone={mutant.check}))
    if not found:
        return [f"{mutant.check} does not catch it"]
    words = [
        f"{item} ended as {outcome.status}: {outcome.evidence}"
        for item, outcome in found.items()
        if outcome.status in doubtful(mutant.check)
    ]
    honest = trials.of(f"counterpart:{mutant.name}", list(found))
    if not any(outcome.status == "pass" for outcome in honest.values()):
        words += [
            f"its counterpart passes none of what catches it; {item}: {outcome.status}:"
            f" {outcome.evidence}"
            for item, outcome in honest.items()
        ]
    return words


def doubtful(check: str) -> frozenset[str]:
    """Return the statuses that do not count as caught by a check."""
    lies = load_checks()[check].area == "subject"  # it looks for a broken subject
    return _DOUBTFUL - {"broken-subject"} if lies else _DOUBTFUL


def failures_of_counterpart(name: str, role: str, trials: Trials) -> list[str]:
    """Return the findings of a role's checks in the counterpart of a mutant: there must be none."""
    found = caught(trials.of(f"counterpart:{name}", items_of_role(role)))
    return [f"{item}: {outcome.status}: {outcome.evidence}" for item, outcome in found.items()]


def counterparts(mutants: Iterable[Mutant]) -> dict[tuple[str, str], str]:
    """Return the name of a counterpart, and role -> the name of a mutant that has it."""
    checks = load_checks()
    found: dict[tuple[str, str], str] = {}
    for mutant in mutants:
        honest = mutant.counterpart
        name = f"{honest.__module__.rpartition('.')[2]}.{honest.__qualname__}"
        found.setdefault((name, checks[mutant.check].role), mutant.name)
    return found
