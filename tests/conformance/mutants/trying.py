"""Tries the checks on mutants and their twins, in processes of their own.

Most items are run one after another in one child, which takes a tenth of the
time; what is found there is found again in a child of its own before it counts.
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

_BATCH: Final = 60.0  # for all items of a role, one after another [seconds]
_LOADING: Final = 10.0  # for a mutant to be made [seconds]
_DOUBTFUL: Final = frozenset({"raised", "broken-subject"})
"""Statuses with which no mutant is caught: nobody looked for what happened."""


class Outcome(NamedTuple):
    """How an item ended.

    Attributes
    ----------
    status : str
        One of `findings.STATUSES`.
    evidence : str
        What was found.
    """

    status: str
    evidence: str


def items_of_role(role: str) -> list[str]:
    """Return every item of a role.

    Parameters
    ----------
    role : {"producer", "consumer", "arrow_producer", "arrow_consumer"}
        What is judged.
    """
    checks = load_checks().values()
    return [item for check in checks if check.role == role for item in check.items()]


def items_of(mutant: Mutant) -> list[str]:
    """Return the items of the check that is to catch a mutant."""
    return list(load_checks()[mutant.check].items())


class Trials:
    """A process that tries checks on mutants and twins.

    Parameters
    ----------
    environment : mapping
        Of the process.
    """

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
        """Return how each of some items ends for a mutant or a twin.

        Parameters
        ----------
        spec : str
            ``"mutant:name"``, or ``"twin:name"`` for the twin of a mutant.
        items : sequence of str
            As `Check.items` gives them.
        alone : collection of str, optional
            Checks whose items do not share a process: what a mutant changes in the process, it
            changes once.
        """
        checks = {item: find_item(item)[0] for item in items}
        spec = f"{subjects.__name__}:{spec.replace(':', '.', 1)}"
        together = [one for one in items if not (checks[one].fresh or checks[one].name in alone)]
        found = self._batch(spec, together)
        return {item: self._confirmed(spec, item, found.get(item)) for item in items}

    def _confirmed(self, spec: str, item: str, seen: Outcome | None) -> Outcome:
        """Return what was seen, or what comes when the item is run alone."""
        if seen is not None and seen.status not in BAD:
            return seen
        check, _ = find_item(item)
        answer = self._ask(
            {
                "kind": "item",
                "specs": [spec],
                "item": item,
                "seconds": check.seconds,
                "loading": _LOADING,
                "ends": check.fresh,
            }
        )
        return Outcome(answer["status"], answer["evidence"])

    def _batch(self, spec: str, items: Sequence[str]) -> dict[str, Outcome]:
        """Return how items end that are run in one process; nothing where that did not survive."""
        if not items:
            return {}
        answer = self._ask(
            {
                "kind": "batch",
                "specs": [spec],
                "items": items,
                "seconds": _BATCH,
                "loading": _LOADING,
            }
        )
        if answer["status"] != "pass":
            return {}
        told = json.loads(answer["evidence"])
        return {item: Outcome(*outcome) for item, outcome in zip(items, told, strict=True)}

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; of a process that ended over it, a crash."""
        if self._server is None:
            self._server = ForkServer(self._environment)
            modules = [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders)]
            preload = [module for module in modules if not module.endswith("__main__")]
            self._server.begin([], preload=[*preload, "numpy"])
        try:
            return self._server.run(request)
        except ForkServerGoneError as error:
            self.close()
            return {"status": "crash", "evidence": f"the process that forks ended: {error}"}


# ---------------------------------------------------------------- what is wrong with a mutant


def caught(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the items that found something."""
    return {item: outcome for item, outcome in outcomes.items() if outcome.status in BAD}


def complaints(mutant: Mutant, trials: Trials) -> list[str]:
    """Return what is wrong with a mutant and the check that is to catch it; nothing where all is.

    Parameters
    ----------
    mutant : Mutant
        What is tried.
    trials : Trials
        Where.
    """
    items = items_of(mutant)
    found = caught(trials.of(f"mutant:{mutant.name}", items, alone={mutant.check}))
    if not found:
        return [f"{mutant.check} does not catch it"]
    words = [
        f"{item} ended as {outcome.status}: {outcome.evidence}"
        for item, outcome in found.items()
        if outcome.status in doubtful(mutant.check)
    ]
    honest = trials.of(f"twin:{mutant.name}", list(found))
    if not any(outcome.status == "pass" for outcome in honest.values()):
        words += [
            f"its twin passes none of what catches it; {item}: {outcome.status}: {outcome.evidence}"
            for item, outcome in honest.items()
        ]
    return words


def doubtful(check: str) -> frozenset[str]:
    """Return the statuses with which a check catches nothing.

    Parameters
    ----------
    check : str
        Name of a check.
    """
    lies = load_checks()[check].area == "subject"  # what it looks for is a broken subject
    return _DOUBTFUL - {"broken-subject"} if lies else _DOUBTFUL


def complaints_of_twin(name: str, role: str, trials: Trials) -> list[str]:
    """Return what checks have against the twin of a mutant: it is honest, and they ought not.

    Parameters
    ----------
    name : str
        Of the mutant.
    role : {"producer", "consumer", "arrow_producer", "arrow_consumer"}
        What it is judged as.
    trials : Trials
        Where.
    """
    found = caught(trials.of(f"twin:{name}", items_of_role(role)))
    return [f"{item}: {outcome.status}: {outcome.evidence}" for item, outcome in found.items()]


def twins(mutants: Iterable[Mutant]) -> dict[tuple[str, str], str]:
    """Return the twins of mutants, each once for each role.

    Returns
    -------
    dict
        Module-qualified name of a twin and role -> name of a mutant that has it.
    """
    checks = load_checks()
    found: dict[tuple[str, str], str] = {}
    for mutant in mutants:
        twin = f"{mutant.twin.__module__.rpartition('.')[2]}.{mutant.twin.__qualname__}"
        found.setdefault((twin, checks[mutant.check].role), mutant.name)
    return found
