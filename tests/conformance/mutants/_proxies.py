"""Modules that stand for interchange, with some of its functions changed.

A check finds the functions by the name of a module: each variant is one, put
where Python finds modules.  What is not changed is interchange's own.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import sys
import types
from typing import Any, Final

from interchange_conformance.subject import Subject

_NAME: Final = "interchange"
_numbers: Final = itertools.count()


def original() -> Any:
    """Return interchange."""
    return importlib.import_module(_NAME)


def honest_functions() -> Subject:
    """Return the twin: interchange itself."""
    return Subject(_NAME, functions=_NAME)


class _Proxy(types.ModuleType):
    """A module that has what interchange has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(original(), name)


def functions_of(**changes: Any) -> Subject:
    """Return a subject whose module has other functions under some names.

    Parameters
    ----------
    **changes
        By name: what the module has there.  A function is given the signature of interchange's,
        unless it has one of its own as an attribute.
    """
    name = f"{__name__}.variant_{next(_numbers)}"
    module = _Proxy(name)
    for word, change in changes.items():
        if inspect.isfunction(change) and not hasattr(change, "__signature__"):
            vars(change).update(__signature__=inspect.signature(getattr(original(), word)))
    vars(module).update(changes)
    sys.modules[name] = module
    return Subject("a variant of interchange", functions=name)


MAKERS: Final = ("from_dlpack", "from_buffer", "from_pointer", "asarray")
"""Functions that give Arrays."""


def arrays_of(**methods: Any) -> Subject:
    """Return a subject whose functions give Arrays with other methods.

    Parameters
    ----------
    **methods
        By name: the method or property.
    """
    kind = type("Array", (original().Array,), {"__slots__": (), **methods})

    def changed(name: str) -> Any:
        def make(*arguments: Any, **keywords: Any) -> Any:
            array = getattr(original(), name)(*arguments, **keywords)
            array.__class__ = kind
            return array

        return make

    return functions_of(**{name: changed(name) for name in MAKERS})


def array_method(name: str) -> Any:
    """Return a method of interchange's Array."""
    return getattr(original().Array, name)


def citing(error: BaseException, rule: str) -> Any:
    """Return an error of the same class that cites another rule."""
    parts: Any = error
    return type(error)(parts.call, parts.what, rule)
