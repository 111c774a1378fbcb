"""Errors that do not derive from Exception, such as a panic of Rust, count as refusals.

Source: Python, "Exception hierarchy"; PyO3, ``PanicException``.  An import that raises such an
error is refused, in every role; that callers cannot catch it with ``except Exception`` is reported
by the checks of error classes.
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
"""Exceptions that pass unchanged: errors, and those that end a process."""


class Panicked(Exception):  # noqa: N818 - the library's own class follows
    """An error whose class does not derive from Exception; a subclass has that name."""


@contextlib.contextmanager
def as_errors() -> Iterator[None]:
    """Raise errors that do not derive from Exception as `Panicked`, unless they end the process."""
    try:
        yield
    except _ENDS:
        raise
    except BaseException as panic:
        raise type(type(panic).__name__, (Panicked,), {})(str(panic)) from panic


def without_panics(subject: Subject) -> Subject:
    """Return a subject whose functions raise Exceptions or exceptions that end the process only."""
    found = {field.name: getattr(subject, field.name) for field in fields(subject)}
    safe: dict[str, Any] = {name: _safe(one) for name, one in found.items() if callable(one)}
    return replace(subject, **safe)


def _safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same behaviour, whose original errors are kept as causes."""

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
