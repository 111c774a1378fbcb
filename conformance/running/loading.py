"""From the text of a command line to a subject.

Source: interchange.  ``numpy`` is one that ships with the kit, ``mylib.testing:subject`` an object
of a module: a `Subject`, or a function that makes arrays.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from functools import reduce
from typing import Any

from .. import subjects
from ..findings import BrokenSubjectError
from ..subject import Subject, subject_of_function


def shipped() -> dict[str, str]:
    """Return the names of the subjects that ship with the kit, and the module of each."""
    names = sorted(module.name for module in pkgutil.iter_modules(subjects.__path__))
    return {
        name.replace("_", "-"): f"{subjects.__name__}.{name}" for name in names if name[0] != "_"
    }


def load_subject(spec: str) -> Subject:
    """Return the subject that a text names, its library imported.

    Parameters
    ----------
    spec : str
        ``"numpy"`` or ``"module:name"``.

    Raises
    ------
    BrokenSubjectError
        There is none, it does not import, or it is neither a subject nor a function.
    """
    module, colon, name = spec.partition(":")
    if not colon:
        known = shipped()
        if spec.replace("_", "-") not in known:
            words = f"write module:name, or one of {', '.join(known)}"
            raise BrokenSubjectError(f"there is no subject {spec!r}; {words}")
        module, name = known[spec.replace("_", "-")], "subject"
    subject = _as_subject(_found(spec, module, name), spec)
    for variable, value in subject.environment.items():
        os.environ.setdefault(variable, value)
    for library in subject.preload:
        _imported(library, spec)
    return subject


def _imported(module: str, spec: str) -> Any:
    """Return a module."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise BrokenSubjectError(f"{spec}: {module} does not import: {words}") from error


def _found(spec: str, module: str, name: str) -> Any:
    """Return what a module has under a name, which may have dots."""
    try:
        return reduce(getattr, name.split("."), _imported(module, spec))
    except AttributeError as error:
        raise BrokenSubjectError(f"{spec}: {error}") from error


def _as_subject(found: Any, spec: str) -> Subject:
    """Return a subject as it is, and a function as the subject that it makes."""
    if isinstance(found, Subject):
        return found
    if callable(found):
        return subject_of_function(found, spec)
    raise BrokenSubjectError(
        f"{spec} is {type(found).__name__}: name a Subject, or a function that makes arrays"
    )


def roles_of(subject: Subject) -> list[str]:
    """Return what a subject can be judged as."""
    takes = (
        subject.take, subject.take_cai, subject.take_capsule, subject.take_buffer,
        subject.take_array_interface,
    )  # fmt: skip
    return [
        role
        for role, described in (
            ("producer", subject.make is not None),
            ("consumer", any(take is not None for take in takes)),
            ("functions", subject.functions is not None),
        )
        if described
    ]
