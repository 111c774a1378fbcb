"""Which items are run: what ``--only`` and ``--role`` mean."""

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
"""Kind of a word -> whether an item of a check is meant by it."""


class UnknownWordError(Exception):
    """A word names nothing that there is; the text says what there is."""


class Selection(NamedTuple):
    """Which items are run.

    Attributes
    ----------
    words : dict
        Kind of words -> words of that kind: an item has to be meant by one of each kind.
    roles : tuple of str
        Roles that are judged; all when empty.
    """

    words: dict[str, list[str]]
    roles: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return not self.words and not self.roles

    def items(self, roles: Iterable[str]) -> list[str]:
        """Return the items of some roles that are run, in the order of the registry.

        Parameters
        ----------
        roles : iterable of str
            What a subject can be judged as.
        """
        wanted = [role for role in roles if not self.roles or role in self.roles]
        return [
            item
            for check in load_checks().values()
            if check.role in wanted
            for item in check.items()
            if self._means(check, item)
        ]

    def _means(self, check: Check, item: str) -> bool:
        """Whether an item is run."""
        return all(
            any(_KINDS[kind](check, item, word) for word in words)
            for kind, words in self.words.items()
        )


def select(only: Sequence[str] = (), roles: Sequence[str] = ()) -> Selection:
    """Return what the words of a command line mean.

    Parameters
    ----------
    only : sequence of str
        Each one word or several with commas between: a severity, an area, a rule or a check, the
        last two with wildcards.
    roles : sequence of str
        What to judge subjects as.

    Raises
    ------
    UnknownWordError
        A word means none of the items that there are.

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
    """Return what kind of thing a word names."""
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
