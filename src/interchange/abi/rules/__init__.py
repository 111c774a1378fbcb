"""The rule book: every rule of every protocol, under the id that errors, checks and docs cite.

Source: named per rule.  Abbreviations: *header* is dlpack.h 1.3, *spec* the Python specification of
DLPack, *standard* the array API standard 2025.12, *CAI* the CUDA Array Interface version 3, *PEP
3118* the buffer protocol.  ``interchange`` marks rules of our own, drawn from the others where they
are silent.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from ._dlpack import DLPACK
from ._interfaces import INTERFACES
from ._ours import OURS
from ._rule import Rule, Severity

__all__ = ["ALL", "RULES", "BrokenRule", "Rule", "Severity"]

ALL: Final = DLPACK + INTERFACES + OURS
"""Every row."""
RULES: Final = MappingProxyType({rule.id: rule for rule in ALL})
"""Rule id -> row."""


class BrokenRule(ValueError):  # noqa: N818 - it names what happened
    """What floor 0 raises: a rule id and what was found.  Higher floors turn it into their errors.

    Parameters
    ----------
    rule : str
        Id of a row in `RULES`.
    what : str
        What was found, as the subject of a message.
    """

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{what}; {RULES[rule].text} [{rule}]")
        self.rule = rule
        self.what = what
