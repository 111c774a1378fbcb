"""Mutants and honest counterparts as command line specs: ``mutants.subjects:mutant.name``.

The kit resolves dotted names one attribute at a time, and so are those of
mutants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .model import load_mutants

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@dataclass(frozen=True)
class _Module:
    """The mutants or honest counterparts of a module.

    Attributes
    ----------
    kind : {"mutant", "twin"}
        The kind.
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
    """All mutants or all honest counterparts.

    Attributes
    ----------
    kind : {"mutant", "twin"}
        The kind.
    """

    kind: str

    def __getattr__(self, name: str) -> _Module:
        return _Module(self.kind, name)


mutant: Final = _Kind("mutant")
twin: Final = _Kind("twin")
