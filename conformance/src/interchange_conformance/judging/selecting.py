"""Select the items to run, by ``--only`` and ``--role``."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange.abi import RULES
from interchange_conformance.registry import AREAS, SEVERITIES, load_checks

from .expectations import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from interchange_conformance.registry import Check

_KINDS: Final[dict[str, Callable[[Check, str, str], bool]]] = {
    "severity": lambda check, _, word: check.severity == word,
    "area": lambda check, _, word: check.area == word,
    "rule": lambda check, _, word: fnmatch.fnmatchcase(check.rule, word),
    "item": lambda _, item, word: matches(word, item),
}
"""Kind of a word -> whether it matches an item of a check."""


class UnknownWordError(Exception):
    """A word matches nothing; the message lists the valid words."""


class Selection(NamedTuple):
    """The items to run.

    Attributes
    ----------
    words : dict
        Kind of words -> words of that kind: an item must match one word of each kind.
    roles : tuple of str
        Roles that are judged; all if empty.
    """

    words: dict[str, list[str]]
    roles: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all items are selected."""
        return not self.words and not self.roles

    def items(self, roles: Iterable[str]) -> list[str]:
        """Return the selected items of some roles, in the order of the registry."""
        wanted = [role for role in roles if not self.roles or role in self.roles]
        return [
            item
            for check in load_checks().values()
            if check.role in wanted
            for item in check.items()
            if self._means(check, item)
        ]

    def _means(self, check: Check, item: str) -> bool:
        """Return whether an item is selected."""
        return all(
            any(_KINDS[kind](check, item, word) for word in words)
            for kind, words in self.words.items()
        )


def select(only: Sequence[str] = (), roles: Sequence[str] = ()) -> Selection:
    """Return the selection for the words of a command line.

    Parameters
    ----------
    only : sequence of str
        Each one word, or several separated by commas: a severity, an area, a rule or a check, the
        last two with wildcards.
    roles : sequence of str
        Roles in which subjects are judged.

    Raises
    ------
    UnknownWordError
        A word matches no existing item.

    Examples
    --------
    >>> select(["MUST", "DLP-*"]).words
    {'severity': ['MUST'], 'rule': ['DLP-*']}
    """
    words: dict[str, list[str]] = {}
    for given in only:
        for word in (part.strip() for part in given.split(",")):
            words.setdefault(_kind(word), []).append(word)
    return Selection(words, tuple(roles))


def _kind(word: str) -> str:
    """Return the kind of a word."""
    if word in SEVERITIES:
        return "severity"
    if word in AREAS:
        return "area"
    if fnmatch.filter(RULES, word):
        return "rule"
    if any(matches(word, item) for check in load_checks().values() for item in check.items()):
        return "item"
    areas = ", ".join(AREAS)
    raise UnknownWordError(
        f"{word!r} is no severity ({', '.join(SEVERITIES)}), no area ({areas}),"
        " no rule, such as 'DLP-LIFE-*', and no check: --list lists them"
    )
