"""``python -m mutants`` in ``tests/conformance``: which mutant is caught by which check.

Exit codes: 0, every mutant is caught by its check, and no honest counterpart by any; 1,
otherwise; 2, the request cannot be fulfilled.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.cli.progress import progress
from interchange_conformance.driver import cuda
from interchange_conformance.registry import AREAS, load_checks
from interchange_conformance.reports import files

from .model import load_mutants
from .trying import Trials, caught, counterparts, failures_of_counterpart, items_of_role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from interchange_conformance.cli.progress import Silent

    from .model import Mutant

_BAD_INPUT: Final = 2
_HEAD: Final = "<!-- Written by: python -m mutants --markdown FILE -->"


class Caught(NamedTuple):
    """A mutant, once for each check that should catch it, and the checks that caught it.

    `own` are those that should, `others` all others of the role: check -> the result of its first
    item with a finding.
    """

    mutants: list[Mutant]
    own: dict[str, str]
    others: dict[str, str]

    @property
    def missed(self) -> list[str]:
        """Checks that should catch the mutant, and do not."""
        return [mutant.check for mutant in self.mutants if mutant.check not in self.own]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check on every mutant of its role and every counterpart; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mutants",
        description="Tries every check on subjects that break a rule on purpose, and on honest"
        " ones.",
    )
    parser.add_argument("--markdown", metavar="FILE", help="write a table ('-': to stdout)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    options = parser.parse_args(arguments)
    try:
        if options.markdown:
            files.check_writable(options.markdown)
        found, failures = try_all(max(1, options.jobs))
        if options.markdown:
            files.write(options.markdown, as_markdown(found))
    except files.ReportError as error:
        sys.stderr.write(f"mutants: {error}\n")
        return _BAD_INPUT
    for one in found:
        failures += [f"{one.mutants[0].name} is not caught by {c}" for c in one.missed]
    for complaint in failures:
        sys.stderr.write(f"{complaint}\n")
    return 1 if failures else 0


def try_all(jobs: int) -> tuple[list[Caught], list[str]]:
    """Run all mutants in the order of the checks, and list the findings in honest subjects."""
    alike: dict[object, list[Mutant]] = {}
    for mutant in load_mutants().values():
        alike.setdefault(mutant.make, []).append(mutant)
    honest = counterparts(load_mutants().values())
    environment = {**os.environ, **cuda.environment()}
    with progress() as shown, ExitStack() as stack, ThreadPoolExecutor(jobs) as executor:
        shown.begin("mutants and counterparts", len(alike) + len(honest))
        free = [stack.enter_context(Trials(environment)) for _ in range(jobs)]
        found = list(executor.map(partial(_try, free, shown), alike.values()))
        against = list(executor.map(partial(_try_counterpart, free, shown), honest.items()))
    order = {name: place for place, name in enumerate(load_checks())}
    found.sort(key=lambda one: order[one.mutants[0].check])
    return found, [words for many in against for words in many]


@contextmanager
def _one_of(free: list[Trials]) -> Iterator[Trials]:
    """Take a process out of the list of free ones while the block runs."""
    trials = free.pop()
    try:
        yield trials
    finally:
        free.append(trials)


def _try(free: list[Trials], shown: Silent, mutants: list[Mutant]) -> Caught:
    """Run all checks of its role on a mutant."""
    items = items_of_role(load_checks()[mutants[0].check].role)
    made_for = {mutant.check for mutant in mutants}
    with _one_of(free) as trials:
        outcomes = caught(trials.of(f"mutant:{mutants[0].name}", items, alone=made_for))
    own: dict[str, str] = {}
    others: dict[str, str] = {}
    for item, outcome in outcomes.items():
        check = item.partition("[")[0]
        side = own if check in made_for else others
        side.setdefault(check, outcome.status)
    shown.step(mutants[0].name, is_bad=not own)
    return Caught(mutants, own, others)


def _try_counterpart(
    free: list[Trials], shown: Silent, counterpart: tuple[tuple[str, str], str]
) -> list[str]:
    """Run all checks of a role on the honest counterpart of a mutant."""
    (name, role), mutant = counterpart
    with _one_of(free) as trials:
        words = [f"{name}: {one}" for one in failures_of_counterpart(mutant, role, trials)]
    shown.step(name, is_bad=bool(words))
    return words


# ---------------------------------------------------------------- the table


def as_markdown(found: Sequence[Caught]) -> str:
    """Return the results as Markdown, with a table for each area."""
    checks = load_checks()
    by_area: dict[str, list[Caught]] = {}
    for one in found:
        by_area.setdefault(checks[one.mutants[0].check].area, []).append(one)
    alone = sum(not one.others for one in found)
    made_for = f"{alone} of them are caught by no check but those that are made for them."
    parts = [_HEAD, f"{len(found)} mutants; {made_for}"]
    for area, heading in AREAS.items():
        if area in by_area:
            parts += [f"## {heading}", _table(by_area[area])]
    return "\n\n".join(parts) + "\n"


def _table(found: Sequence[Caught]) -> str:
    """Return the table of an area."""
    rows = [("Rule", "What the mutant does", "Caught by", "And by"), ("---",) * 4]
    checks = load_checks()
    for one in found:
        rules = sorted({checks[mutant.check].rule for mutant in one.mutants})
        rows.append((", ".join(rules), one.mutants[0].breaks, _words(one.own), _words(one.others)))
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _words(checks: Mapping[str, str]) -> str:
    """Return names of checks, with their results if these are not failures."""
    return ", ".join(
        f"`{check}`" if status == "fail" else f"`{check}` ({status})"
        for check, status in checks.items()
    )


def _cell(text: str) -> str:
    """Return text with escaped bars."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
