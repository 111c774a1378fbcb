"""Load the subject that a command line names.

``numpy`` is a subject that ships with the kit, ``mylib.testing:subject`` an object of a module: a
`Subject`, or a function that makes arrays.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from functools import reduce
from typing import Any, Final

from interchange_conformance import subjects
from interchange_conformance.evidence.printable import words_of
from interchange_conformance.findings import BrokenSubjectError
from interchange_conformance.signatures import signature_of
from interchange_conformance.subject import Subject, subject_of_function

PARAMETERS: Final = ("shape", "dtype", "device", "readonly")
"""Parameters of a plain function that makes arrays."""
_FUNCTIONS: Final = (
    "make", "make_from", "take", "take_with", "read", "write", "take_cai", "take_capsule",
    "take_buffer", "take_array_interface", "make_on", "take_on", "make_arrow", "take_arrow",
    "read_arrow", "release",
)  # fmt: skip


def shipped() -> dict[str, str]:
    """Return the names of the subjects that ship with the kit, and the module of each."""
    names = sorted(module.name for module in pkgutil.iter_modules(subjects.__path__))
    return {
        name.replace("_", "-"): f"{subjects.__name__}.{name}" for name in names if name[0] != "_"
    }


def load_subject(spec: str) -> Subject:
    """Return the subject with a name, its library imported.

    Raises `BrokenSubjectError`: the subject does not exist, cannot be imported, or is neither a
    `Subject` nor a function.
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
    except BaseException as error:
        raise BrokenSubjectError(f"{spec}: {module} does not import: {_text_of(error)}") from error


def _found(spec: str, module: str, name: str) -> Any:
    """Return an attribute of a module; the name may have dots."""
    holder = _imported(module, spec)
    try:
        return reduce(getattr, name.split("."), holder)
    except BaseException as error:
        raise BrokenSubjectError(f"{spec}: {_text_of(error)}") from error


def _text_of(error: BaseException) -> str:
    """Return an error's class and text; exceptions that end a process are reported as well."""
    return f"{type(error).__name__}: {words_of(error)}"


# ---------------------------------------------------------------- validation


def _as_subject(found: Any, spec: str) -> Subject:
    """Return a subject unchanged, and a function as the subject that it describes."""
    if isinstance(found, Subject):
        return _checked(found, spec)
    if callable(found):
        _check_parameters(found, spec)
        return subject_of_function(found, spec)
    raise BrokenSubjectError(
        f"{spec} is {type(found).__name__}: name a Subject, or a function that makes arrays"
    )


def _checked(subject: Subject, spec: str) -> Subject:
    """Return a subject after validation of its attributes."""
    if type(subject.name) is not str or not subject.name:
        raise BrokenSubjectError(f"{spec}: its name is {subject.name!r:.100}, and no text")
    for name in _FUNCTIONS:
        function = getattr(subject, name)
        if not (function is None or callable(function)):
            words = f"{name} is {type(function).__name__}, and no function"
            raise BrokenSubjectError(f"{spec}: {words}")
    for name in ("take", "take_cai", "take_capsule", "take_buffer", "take_array_interface"):
        if getattr(subject, name) is not None and subject.read is None:
            raise BrokenSubjectError(
                f"{spec}: it has {name}(), and no read() to look at the result"
            )
    if subject.take_arrow is not None and subject.read_arrow is None:
        words = "it has take_arrow(), and no read_arrow() to look at the result"
        raise BrokenSubjectError(f"{spec}: {words}")
    if not roles_of(subject):
        raise BrokenSubjectError(f"{spec}: it has no make() and no take()")
    return subject


def _check_parameters(function: Any, spec: str) -> None:
    """Refuse a function with required parameters that the kit does not pass."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError) as error:
        words = "its parameters cannot be seen: describe it as a Subject"
        raise BrokenSubjectError(f"{spec}: {words}") from error
    for parameter in parameters:
        given = parameter.name in PARAMETERS and parameter.kind is not parameter.POSITIONAL_ONLY
        is_any = parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        if not (given or is_any or parameter.default is not parameter.empty):
            words = f"it needs {parameter.name!r}; given are {', '.join(PARAMETERS)}, by name"
            raise BrokenSubjectError(f"{spec}: {words}: describe it as a Subject")


def roles_of(subject: Subject) -> list[str]:
    """Return the roles in which a subject can be judged."""
    takes = (
        subject.take, subject.take_cai, subject.take_capsule, subject.take_buffer,
        subject.take_array_interface,
    )  # fmt: skip
    return [
        role
        for role, described in (
            ("producer", subject.make is not None),
            ("consumer", any(take is not None for take in takes)),
            ("arrow_producer", subject.make_arrow is not None),
            ("arrow_consumer", subject.take_arrow is not None),
        )
        if described
    ]
