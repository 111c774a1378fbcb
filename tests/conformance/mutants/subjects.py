"""Mutants and honest counterparts as specs: ``mutants.subjects:mutant.module.name``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from .model import load_mutants

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


class _Module(NamedTuple):
    """The mutants or the honest counterparts of a module, named without its package."""

    kind: Literal["mutant", "counterpart"]
    module: str

    def __getattr__(self, name: str) -> Subject:
        mutant = load_mutants().get(f"{self.module}.{name}")
        if mutant is None:
            raise AttributeError(f"there is no mutant '{self.module}.{name}'")
        return mutant.counterpart() if self.kind == "counterpart" else mutant.make()


class _Kind(NamedTuple):
    """All mutants or all honest counterparts."""

    kind: Literal["mutant", "counterpart"]

    def __getattr__(self, name: str) -> _Module:
        return _Module(self.kind, name)


mutant: Final = _Kind("mutant")
counterpart: Final = _Kind("counterpart")
