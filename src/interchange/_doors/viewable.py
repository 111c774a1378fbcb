"""`viewable`: named arguments of a function arrive as Arrays.

Source: interchange.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from interchange._terms.errors import ArgumentError, show
from interchange._terms.signatures import signature_of

from .borrowing import borrow as _borrow
from .imports import asarray, import_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

F = TypeVar("F", bound="Callable[..., Any]")

_CALL = "viewable()"
_LATE = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def viewable(
    *names: str, stream: str | None = None, borrow: bool = False, writable: Collection[str] = ()
) -> Callable[[F], F]:
    """Decorate a function: the named arguments arrive as Arrays, None stays None.

    Parameters
    ----------
    *names : str
        Parameters of the function to import, passed by position or by keyword.  A parameter
        declared with a star has all its values imported.
    stream : str, optional
        The parameter that names the stream on which the function will use them.
    borrow : bool, default False
        Hand the memory back when the function returns or raises, as `borrow` does: the producers
        wait for what it enqueued on `stream`.  Arrays are read-only, but for those in `writable`.
    writable : collection of str, optional
        With `borrow`, the names of parameters that the function writes to.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ArgumentError
        At decoration: a name is no parameter of the function, `borrow` lacks a stream, or the
        function is a coroutine or a generator, whose body would run after the loan (IX-ARGUMENT-1,
        IX-BORROW-1).

    Examples
    --------
    >>> @viewable("x", "out")
    ... def total(x, *, out=None):
    ...     return x.require(ndim=1).size
    >>> total(b"abc"), total(x=bytearray(4))
    (3, 4)
    >>> @viewable("x", "out", stream="stream", borrow=True, writable=["out"])
    ... def copy(x, out, stream):
    ...     return x.readonly, out.readonly
    >>> copy(b"abc", bytearray(3), stream=7)
    (True, False)
    """
    if borrow and stream is None:
        raise ArgumentError(_CALL, "borrow=True without stream=", "IX-BORROW-1", "name a parameter")
    if isinstance(writable, str) or not (borrow or not writable) or not set(writable) <= {*names}:
        what = f"writable={show(writable)} with names {names} and borrow={borrow}"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass names, and borrow=True")

    def decorate(function: F) -> F:
        if borrow and any(is_late(function) for is_late in _LATE):
            what = f"{function.__name__}() runs its body after it returned"
            way_out = "borrow within the body"
            raise ArgumentError(_CALL, f"borrow=True, and {what}", "IX-ARGUMENT-1", way_out)
        signature = signature_of(function)
        for name in (*names, *((stream,) if stream else ())):
            if name not in signature.parameters:
                what = f"{show(name)} is no parameter of {function.__name__}{signature}"
                raise ArgumentError(_CALL, what, "IX-ARGUMENT-1")

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            handle = given.get(stream) if stream else None
            with contextlib.ExitStack() as debts:
                for name in names:
                    take = _taker(debts if borrow else None, handle, name in writable)
                    if name in given:
                        given[name] = _import(given[name], signature.parameters[name].kind, take)
                return function(*bound.args, **bound.kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def _taker(debts: contextlib.ExitStack | None, stream: Any, writable: bool) -> Callable[[Any], Any]:
    """Return what makes an Array of an argument."""

    def take(value: Any) -> Any:
        if value is None:
            return None
        if debts is not None:
            return debts.enter_context(_borrow(value, stream=stream, writable=writable))
        return asarray(value) if stream is None else import_ordered(value, stream, _CALL)

    return take


def _import(value: Any, kind: Any, take: Callable[[Any], Any]) -> Any:
    """Return a value, or each of a starred parameter's values, as an Array."""
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return tuple(take(one) for one in value)
    if kind is inspect.Parameter.VAR_KEYWORD:
        return {key: take(one) for key, one in value.items()}
    return take(value)
