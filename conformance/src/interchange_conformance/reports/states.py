"""States of results: symbol, word, and order of severity.

A symbol is never shown without its word, or a colour without both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from interchange_conformance.findings import BAD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Judged

Group = Literal["unexpected", "known", "quirk", "pass", "not-applicable"]


class State(NamedTuple):
    """The content of a cell."""

    key: str
    symbol: str
    word: str
    group: Group
    meaning: str


STATES: Final[tuple[State, ...]] = (
    State("crash", "✗", "crash", "unexpected", "a signal ended the process"),
    State("hang", "✗", "hang", "unexpected", "it was cut after its time"),
    State("exit", "✗", "exit", "unexpected", "the library ended the process"),
    State("raised", "✗", "raised", "unexpected", "an unexpected error"),
    State("fail", "✗", "fail", "unexpected", "the rule is broken"),
    State("broken-subject", "✗", "broken", "unexpected", "the subject is described wrongly"),
    State("now-passes", "▲", "now passes", "unexpected", "a known failure is one no longer"),
    State("known", "◆", "known", "known", "a failure that is known, with its reason"),
    State("quirk", "≠", "quirk", "quirk", "the standards allow it, and libraries differ"),
    State("pass", "✓", "pass", "pass", "the rule is kept"),
    State("not-applicable", "—", "n/a", "not-applicable", "the rule does not apply"),
)
"""From the worst to the best; of several results, the worst is shown."""
BY_KEY: Final = {state.key: state for state in STATES}
GROUPS: Final[dict[Group, str]] = {
    "unexpected": "unexpected",
    "known": "known failure",
    "quirk": "quirk",
    "pass": "pass",
    "not-applicable": "not applicable",
}
"""Names of the groups in filters and counts, the worst first."""
_COUNTED: Final = frozenset({"known", "quirk"})  # countable nouns
_ORDER: Final = {state: place for place, state in enumerate(STATES)}


def state_of(judged: Judged) -> State:
    """Return the state of a judged item."""
    status = judged.verdict.status
    if judged.standing == "unexpected-pass":
        return BY_KEY["now-passes"]
    if judged.standing == "allowed":
        return BY_KEY["quirk" if status in BAD else "pass"]
    if judged.standing == "as-expected" and status in BAD:
        return BY_KEY["known"]
    return BY_KEY[status]


def worst(states: Iterable[State]) -> State | None:
    """Return the worst of some states; None if there are none."""
    return min(states, key=_ORDER.__getitem__, default=None)


def badness(judged: Judged) -> int:
    """Return the position of an item's state, for sorting the worst first."""
    return _ORDER[state_of(judged)]


def count(judged: Iterable[Judged]) -> dict[Group, int]:
    """Return the number of items of each group, the worst group first."""
    counts: dict[Group, int] = dict.fromkeys(GROUPS, 0)
    for one in judged:
        counts[state_of(one).group] += 1
    return counts


def total(many: Iterable[Iterable[Judged]]) -> dict[Group, int]:
    """Return the number of items of each group, for several subjects together."""
    return count(one for judged in many for one in judged)


def in_words(counts: dict[Group, int]) -> list[str]:
    """Return counts as text, without zeros.

    Examples
    --------
    >>> in_words({"unexpected": 0, "known": 2, "quirk": 1, "pass": 1, "not-applicable": 0})
    ['2 known failures', '1 quirk', '1 pass']
    """
    return [
        f"{number} {GROUPS[group]}{'s' if group in _COUNTED and number > 1 else ''}"
        for group, number in counts.items()
        if number
    ]
