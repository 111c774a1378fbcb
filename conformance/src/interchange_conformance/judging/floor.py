"""The floor: by how many rules a library has to be judged before it means something that all pass.

What a library lacks is not held against it, so that one which lacks nearly
everything passes whatever it does; that is said, and is not taken for a run in which all is well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.registry import find_item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from interchange_conformance.findings import Verdict

FLOOR: Final = 5
"""Rules that are a MUST of which some item has to apply, in each role of a library."""
_ABOUT_IT: Final = "subject"  # the area of checks of the description, which apply to all
_ROLES: Final[Mapping[str, str]] = {
    "producer": "a producer",
    "consumer": "a consumer",
    "arrow_producer": "a producer of Arrow",
    "arrow_consumer": "a consumer of Arrow",
}


def counting(items: Iterable[str], role: str) -> dict[str, str]:
    """Return the items of a role that count for the floor, and the rule of each.

    Parameters
    ----------
    items : iterable of str
        As `Check.items` gives them.
    role : {"producer", "consumer", "arrow_producer", "arrow_consumer"}
        As what the library is judged.
    """
    checks = {item: find_item(item)[0] for item in items}
    return {
        item: check.rule
        for item, check in checks.items()
        if check.role == role and check.severity == "MUST" and check.area != _ABOUT_IT
    }


def hardly(verdicts: Sequence[Verdict], roles: Iterable[str]) -> str:
    """Return in which roles a library was hardly judged by a whole run; nothing where in none.

    Parameters
    ----------
    verdicts : sequence of Verdict
        How every item ended.
    roles : iterable of str
        As what the library was judged.
    """
    ended = {one.item: one.status for one in verdicts}
    told = []
    for role in roles:
        rules = counting(ended, role)
        judged = {rule for item, rule in rules.items() if ended[item] != "not-applicable"}
        if len(judged) < FLOOR:
            every = len(set(rules.values()))
            told.append(
                f"as {_ROLES[role]} by {len(judged)} of {every} rules that are a MUST; {FLOOR} are"
                " needed"
            )
    return ", and ".join(told)


def tried(items: Sequence[str], roles: Iterable[str], run: Callable[[str], Verdict]) -> str:
    """Run as few items as it takes, and return what `hardly` does.

    Parameters
    ----------
    items : sequence of str
        All by which the library is judged.
    roles : iterable of str
        As what it is judged.
    run : callable
        ``run(item)`` -> how it ended.
    """
    told = []
    for role in roles:
        verdicts: list[Verdict] = []
        judged: set[str] = set()
        for item, rule in counting(items, role).items():
            if rule not in judged and len(judged) < FLOOR:
                verdicts.append(run(item))
                judged |= {rule} if verdicts[-1].status != "not-applicable" else set()
        told.append(hardly(verdicts, [role]))
    return ", and ".join(filter(None, told))
