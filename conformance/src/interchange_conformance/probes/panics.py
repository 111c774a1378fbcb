"""Errors that are no Exception, such as a panic of Rust: they refuse as any other error does.

Source: Python, "Exception hierarchy"; PyO3, ``PanicException``.  What is refused so is refused, in
every role; that callers cannot catch it with ``except Exception`` is for checks of error classes.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.evidence import causes
from interchange_conformance.findings import CannotMakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.subject import Subject

_ENDS: Final = (Exception, KeyboardInterrupt, SystemExit, GeneratorExit)
"""What goes on its way: errors, and what ends a process."""


class Panicked(Exception):  # noqa: N818 - the library's own class follows
    """An error of a class that is no Exception; its own class has the name of that."""


@contextlib.contextmanager
def as_errors() -> Iterator[None]:
    """Raise what is no Exception as one of the same name and words, unless it ends the process."""
    try:
        yield
    except _ENDS:
        raise
    except BaseException as panic:
        raise type(type(panic).__name__, (Panicked,), {})(str(panic)) from panic


def without_panics(subject: Subject) -> Subject:
    """Return a subject whose functions raise Exceptions only, unless they end the process.

    Parameters
    ----------
    subject : Subject
        The library.
    """
    found = {field.name: getattr(subject, field.name) for field in fields(subject)}
    safe: dict[str, Any] = {name: _safe(one) for name, one in found.items() if callable(one)}
    return replace(subject, **safe)


def _safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and whose errors are kept in mind as causes."""

    @functools.wraps(function, updated=())
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            with as_errors():
                return function(*arguments, **keywords)
        except CannotMakeError:
            raise
        except Exception as error:
            causes.see(error)
            raise

    return call
