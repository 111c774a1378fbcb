"""The class of mutants, and the table of all mutants."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interchange_conformance.subject import Subject


class Mutant(NamedTuple):
    """A subject that breaks a rule.

    Attributes
    ----------
    name : str
        The names of its module and its function, such as ``"copies.always_copies"``; if several
        checks should catch it, followed by a slash and the check.
    check : str
        Name of the check that should catch it, in at least one of its cases.
    breaks : str
        The error of the mutant: the first line of the docstring.
    make : callable
        Returns the subject.
    twin : callable
        Returns the honest subject from which it was derived; every check passes for it.
    """

    name: str
    check: str
    breaks: str
    make: Callable[[], Subject]
    twin: Callable[[], Subject]


MUTANTS: Final[dict[str, Mutant]] = {}
"""Name -> mutant, in the order of their modules."""


def mutant(
    *checks: str, twin: Callable[[], Subject]
) -> Callable[[Callable[[], Subject]], Callable[[], Subject]]:
    """Return the decorator of functions that return a mutant.

    Parameters
    ----------
    *checks : str
        Names of the checks that should catch it; each has one entry.
    twin : callable
        Returns the honest subject.
    """

    def register(make: Callable[[], Subject]) -> Callable[[], Subject]:
        breaks = inspect.cleandoc(make.__doc__ or "").partition("\n")[0]
        for check in checks:
            name = f"{make.__module__.rpartition('.')[2]}.{make.__name__}"
            name += "" if len(checks) == 1 else f"/{check}"
            if name in MUTANTS or not breaks:
                raise ValueError(f"{name}: a mutant has a name of its own, and a docstring")
            MUTANTS[name] = Mutant(name, check, breaks, make, twin)
        return make

    return register


def load_mutants() -> Mapping[str, Mutant]:
    """Import every module of mutants, and return the table."""
    package = importlib.import_module(__package__ or "mutants")
    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        if module != "__main__":
            importlib.import_module(f"{package.__name__}.{module}")
    return MUTANTS
