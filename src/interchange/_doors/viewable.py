"""`viewable`: named arguments of a function arrive as Arrays.

Source: interchange.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from interchange._terms.errors import ArgumentError, show

from .imports import asarray, import_ordered

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def viewable(*names: str, stream: str | None = None) -> Callable[[F], F]:
    """Decorate a function: the named arguments arrive as Arrays, None stays None.

    Parameters
    ----------
    *names : str
        Parameters of the function to import, passed by position or by keyword.  A parameter
        declared with a star has all its values imported.
    stream : str, optional
        The parameter that names the stream on which the function will use them.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ArgumentError
        A name is no parameter of the function (IX-ARGUMENT-1), at decoration.

    Examples
    --------
    >>> @viewable("x", "out")
    ... def total(x, *, out=None):
    ...     return x.require(ndim=1).size
    >>> total(b"abc"), total(x=bytearray(4))
    (3, 4)
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        for name in (*names, *((stream,) if stream else ())):
            if name not in signature.parameters:
                what = f"{show(name)} is no parameter of {function.__name__}{signature}"
                raise ArgumentError("viewable()", what, "IX-ARGUMENT-1")

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            handle = given.get(stream) if stream else None
            for name in names:
                if name in given:
                    given[name] = _import(given[name], signature.parameters[name].kind, handle)
            return function(*bound.args, **bound.kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def _import(value: Any, kind: Any, stream: Any) -> Any:
    """Return a value, or each of a starred parameter's values, as an Array."""
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return tuple(_as_array(one, stream) for one in value)
    if kind is inspect.Parameter.VAR_KEYWORD:
        return {key: _as_array(one, stream) for key, one in value.items()}
    return _as_array(value, stream)


def _as_array(value: Any, stream: Any) -> Any:
    """Return a value as an Array that `stream` may use; None stays None."""
    if value is None:
        return None
    return asarray(value) if stream is None else import_ordered(value, stream)
