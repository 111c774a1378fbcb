"""The class of mutants, and the table of all mutants."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interchange_conformance.subject import Subject


class Mutant(NamedTuple):
    """A subject that breaks a rule.

    Attributes
    ----------
    name : str
        The names of its module and its function, such as ``"copies.copies_without_flag"``; if
        several checks should catch it, followed by a slash and the check.
    check : str
        Name of the check that should catch it, in at least one of its cases.
    breaks : str
        The error of the mutant: the first line of the docstring.
    make : callable
        Returns the subject.
    counterpart : callable
        Returns the honest subject from which it was derived; every check passes for it.
    """

    name: str
    check: str
    breaks: str
    make: Callable[[], Subject]
    counterpart: Callable[[], Subject]


_Function = TypeVar("_Function", bound="Callable[..., Any]")

MUTANTS: Final[dict[str, Mutant]] = {}
"""Name -> mutant, in the order of their modules."""


def mutant(
    *checks: str,
    counterpart: Callable[[], Subject],
    build: Callable[..., Subject] | None = None,
    **options: Any,
) -> Callable[[_Function], _Function]:
    """Return the decorator of functions that return a mutant, or that `build` makes one of.

    Each check that should catch it has one entry; ``build(function, **options)`` is the mutant.
    """

    def register(function: _Function) -> _Function:
        make: Any = partial(build, function, **options) if build else function
        breaks = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
        for check in checks:
            name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
            name += "" if len(checks) == 1 else f"/{check}"
            if name in MUTANTS or not breaks:
                raise ValueError(f"{name}: a mutant has a name of its own, and a docstring")
            MUTANTS[name] = Mutant(name, check, breaks, make, counterpart)
        return function

    return register


def replacing(
    change: Callable[..., Subject], derive: Callable[..., Subject] | None = None
) -> Callable[..., Subject]:
    """Return the builder of ``change(step=function)``, or for a class of ``derive(cls)``."""

    def build(error: Any, *, step: str = "", **steps: Any) -> Subject:
        return change(**{step: error}, **steps) if step or not derive else derive(error, **steps)

    return build


def load_mutants() -> Mapping[str, Mutant]:
    """Import every module of mutants, and return the table."""
    package = importlib.import_module(__package__ or "mutants")
    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        if module != "__main__":
            importlib.import_module(f"{package.__name__}.{module}")
    return MUTANTS
