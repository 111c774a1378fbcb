"""NumPy's warnings of floating-point errors, at the line that called interchange.

Source: NumPy, ``errstate``: in the mode "log" an object receives the messages of the mode "warn",
with the same text.  C code warns in the name of the innermost frame of Python, which is one of
interchange here.  Modes are kept in a context variable, so that other threads and tasks do not see
the modes set here meanwhile; a context of our own shows which variable that is.
"""

from __future__ import annotations

import sys
import warnings
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound="Callable[..., Any]")
    Operation = Callable[[Any, Any], Any]

_PASSED_OVER: Final = frozenset({"interchange", "numpy"})
"""Packages whose frames are between the computation and its caller."""


class _Log:
    """The object that NumPy logs floating-point errors to."""

    def write(self, text: str) -> None:
        """Warn at the line of the first frame that belongs neither to interchange nor to NumPy."""
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and _is_passed_over(frame.f_globals):
            frame, level = frame.f_back, level + 1
        message = text.removeprefix("Warning: ").rstrip("\n")
        warnings.warn(message, RuntimeWarning, stacklevel=level)


def _is_passed_over(names: dict[str, Any]) -> bool:
    """Whether these are the globals of a module of interchange, or of NumPy."""
    return str(names.get("__name__")).partition(".")[0] in _PASSED_OVER


def guards_of(np: Any) -> tuple[Callable[[F], F], Callable[[Operation], Operation]]:
    """Return decorators for functions, and operators, whose warnings name the caller's line.

    `np`: NumPy; if it keeps its modes in another way than expected, functions are not changed.
    """
    log, context = _Log(), Context()
    context.run(_log_what_warns, np, log)
    if len(context) != 1:
        return (lambda function: function), (lambda function: function)
    ((variable, ours),) = context.items()
    usual = Context().run(variable.get)
    find, change, undo = variable.get, variable.set, variable.reset

    def state_like() -> Any:
        """Return the modes of the caller, except those that warn."""
        inner = copy_context()
        inner.run(_log_what_warns, np, log)
        return inner.run(find)

    def guard(function: F) -> F:
        def call(*args: Any, **keywords: Any) -> Any:
            before = change(ours if find() is usual else state_like())
            try:
                return function(*args, **keywords)
            finally:
                undo(before)

        return cast("F", call)

    def guard_operator(function: Operation) -> Operation:
        def call(x: Any, y: Any, /) -> Any:  # no tuple and no dict: each operator would pay
            before = change(ours if find() is usual else state_like())
            try:
                return function(x, y)
            finally:
                undo(before)

        return call

    return guard, guard_operator


def _log_what_warns(np: Any, log: _Log) -> None:
    """Log warnings of this context to `log`, unless the caller has a handler."""
    modes = np.geterr()
    if not {"call", "log"} & set(modes.values()):
        np.seterrcall(log)
        np.seterr(**{kind: "log" for kind, mode in modes.items() if mode == "warn"})
