"""Mutants and twins under names that a command line may have: ``mutants.subjects:mutant.name``.

The kit looks names with dots up one attribute after another; those of mutants
are looked up so, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .model import load_mutants

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@dataclass(frozen=True)
class _Module:
    """Those of a module.

    Attributes
    ----------
    kind : {"mutant", "twin"}
        Which of the two.
    module : str
        Without the package.
    """

    kind: str
    module: str

    def __getattr__(self, name: str) -> Subject:
        mutant = load_mutants().get(f"{self.module}.{name}")
        if mutant is None:
            raise AttributeError(f"there is no mutant '{self.module}.{name}'")
        return mutant.twin() if self.kind == "twin" else mutant.make()


@dataclass(frozen=True)
class _Kind:
    """All of a kind.

    Attributes
    ----------
    kind : {"mutant", "twin"}
        Which.
    """

    kind: str

    def __getattr__(self, name: str) -> _Module:
        return _Module(self.kind, name)


mutant: Final = _Kind("mutant")
twin: Final = _Kind("twin")
