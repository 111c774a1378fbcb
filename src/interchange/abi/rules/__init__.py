"""The rule book: every rule of every protocol, under the id that errors, checks and docs cite.

Source: named per rule.  Abbreviations: *header* is dlpack.h 1.3, *spec* the Python specification of
DLPack, *standard* the array API standard 2025.12, *CAI* the CUDA Array Interface version 3, *PEP
3118* the buffer protocol.  ``interchange`` marks rules of interchange, derived from the others
where these specify nothing.  The texts are imported on first use: most programs never see an error.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ._book import ALL, RULES
    from ._rule import Rule, Severity

__all__ = ["ALL", "RULES", "BrokenRule", "Rule", "Severity"]

_THIS: Final = sys.modules[__name__]
_HOMES: Final = {"ALL": "_book", "RULES": "_book", "Rule": "_rule", "Severity": "_rule"}
"""Name that is imported on first access -> its module."""

if not TYPE_CHECKING:  # type checkers see the imports above

    def __getattr__(name: str) -> Any:
        """Import a rarely used name on first access."""
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        setattr(_THIS, name, getattr(import_module(f".{_HOMES[name]}", __name__), name))
        return vars(_THIS)[name]


def __dir__() -> list[str]:
    """Return the names of the module, with those not imported yet."""
    return sorted({*globals(), *_HOMES})


class BrokenRule(ValueError):  # noqa: N818 - the name says what happened
    """The error of layer 0: a rule id and what was found.  Higher layers turn it into their errors.

    Parameters
    ----------
    rule : str
        Id of a row in `RULES`.
    what : str
        What was found, as the subject of a message.
    """

    def __init__(self, rule: str, what: str) -> None:
        from ._book import RULES

        super().__init__(f"{what}; {RULES[rule].text} [{rule}]")
        self.rule = rule
        self.what = what
