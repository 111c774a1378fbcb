"""The subjects that ship with the kit: one module per library, each with an object ``subject``.

Source: each library's documentation.  The name of a module is that of its subject on a command
line, with ``_`` for ``-``.  No module imports its library before an array is requested.

A new library is described in some ten lines.  This example describes NumPy as ``mylib``:

>>> import numpy as mylib
>>> from interchange_conformance.findings import CannotMakeError
>>> from interchange_conformance.subject import Subject
>>> def make(shape, dtype, device, readonly):
...     if device != "cpu" or readonly:
...         raise CannotMakeError("mylib has writable memory of the host, and no other")
...     return mylib.zeros(shape, dtype)
>>> def read(y):
...     return y.ravel().tolist()
>>> subject = Subject(
...     "mylib", make=make, take=mylib.from_dlpack, read=read,
...     distribution="numpy", preload=("numpy",),
... )

A description can be tried interactively:

>>> subject.read(subject.take(subject.make((2, 1), "float32", "cpu", False)))
[0.0, 0.0]

Functions that are left out are not judged: a library without ``take`` is only a producer.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

HOOKS: Final = (
    "make", "make_from", "take", "take_with", "read", "write", "take_cai", "use_cai",
    "take_capsule", "take_buffer", "take_array_interface", "make_on", "take_on",
    "make_arrow", "take_arrow", "read_arrow", "release",
)  # fmt: skip
"""Fields of a description, in the order of the documentation."""


def described() -> dict[str, Subject]:
    """Return every description that ships with the kit, by its name on a command line.

    Examples
    --------
    >>> "numpy" in described()
    True
    """
    modules = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return {
        name.replace("_", "-"): importlib.import_module(f"{__name__}.{name}").subject
        for name in modules
        if not name.startswith("_")
    }


def hooks_of(subject: Subject) -> tuple[str, ...]:
    """Return the functions of a description, in the order of `HOOKS`.

    Parameters
    ----------
    subject : Subject
        The description.

    Examples
    --------
    >>> hooks_of(described()["numpy"])[:3]
    ('make', 'take', 'take_with')
    """
    left_out = {field.name: field.default for field in fields(subject)}
    return tuple(name for name in HOOKS if getattr(subject, name) is not left_out[name])
