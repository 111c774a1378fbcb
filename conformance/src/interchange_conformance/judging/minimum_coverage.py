"""The least number of rules that must apply to a library before a pass means anything.

Features that a library lacks are not failures, so a library with almost no features would pass
regardless of its behaviour.  Such a run is reported as hardly judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.registry import find_item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from interchange_conformance.findings import Verdict

MINIMUM_RULES: Final = 5
"""How many MUST rules must apply in each role of a library."""
_DESCRIPTION: Final = "subject"  # the area of checks of the description, which always apply
_ROLES: Final[Mapping[str, str]] = {
    "producer": "a producer",
    "consumer": "a consumer",
    "arrow_producer": "a producer of Arrow",
    "arrow_consumer": "a consumer of Arrow",
}


def counted_items(items: Iterable[str], role: str) -> dict[str, str]:
    """Return the items of a role that count, and the rule of each: MUST checks of the library."""
    checks = {item: find_item(item)[0] for item in items}
    return {
        item: check.rule
        for item, check in checks.items()
        if check.role == role and check.severity == "MUST" and check.area != _DESCRIPTION
    }


def missing_coverage(verdicts: Sequence[Verdict], roles: Iterable[str]) -> str:
    """Return the roles in which too few rules applied in a whole run; an empty text if none."""
    ended = {one.item: one.status for one in verdicts}
    told = []
    for role in roles:
        rules = counted_items(ended, role)
        judged = {rule for item, rule in rules.items() if ended[item] != "not-applicable"}
        if len(judged) < MINIMUM_RULES:
            every = len(set(rules.values()))
            told.append(
                f"as {_ROLES[role]} by {len(judged)} of {every} rules that are a MUST;"
                f" {MINIMUM_RULES} are needed"
            )
    return ", and ".join(told)


def run_for_coverage(
    items: Sequence[str], roles: Iterable[str], run: Callable[[str], Verdict]
) -> str:
    """Run items until enough rules have applied, and return what `missing_coverage` does."""
    told = []
    for role in roles:
        verdicts: list[Verdict] = []
        judged: set[str] = set()
        for item, rule in counted_items(items, role).items():
            if rule not in judged and len(judged) < MINIMUM_RULES:
                verdicts.append(run(item))
                judged |= {rule} if verdicts[-1].status != "not-applicable" else set()
        told.append(missing_coverage(verdicts, [role]))
    return ", and ".join(filter(None, told))
