"""`viewable`: named arguments of a function arrive as Arrays.

Source: interchange.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from interchange._array.contract import UNNAMED
from interchange._types.errors import ArgumentError, ContractError, InterchangeError, show
from interchange._types.signatures import signature_of

from .borrow import borrow as _borrow
from .importing import import_any, import_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

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
        function is a coroutine or a generator, whose body would run after the memory was handed
        back (IX-ARGUMENT-1, IX-BORROW-1).

    Notes
    -----
    Errors name the argument: those of its import, and those of `Array.require` in the function.

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
                    take = _taker(debts if borrow else None, handle, name in writable, function)
                    if name in given:
                        kind = signature.parameters[name].kind
                        given[name] = _import(name, given[name], kind, take)
                return _run(function, bound, names)

        return wrapper  # type: ignore[return-value]

    return decorate


def _run(function: Callable[..., Any], bound: inspect.BoundArguments, names: Iterable[str]) -> Any:
    """Call a function; what does not meet its contract is told by the name of the argument."""
    try:
        return function(*bound.args, **bound.kwargs)
    except ContractError as error:
        _name_argument(error, names, bound.arguments)
        raise


def _taker(
    debts: contextlib.ExitStack | None, stream: Any, writable: bool, function: Callable[..., Any]
) -> Callable[[str, Any], Any]:
    """Return what makes an Array of an argument, and names the argument where it cannot."""

    def take(name: str, value: Any) -> Any:
        if value is None:
            return None
        call = f"{function.__name__}(), argument {name!r}"
        try:
            if debts is not None:
                return debts.enter_context(_borrow(value, stream=stream, writable=writable))
            return (
                import_any(value, call=call)
                if stream is None
                else import_ordered(value, stream, call)
            )
        except InterchangeError as error:
            raise error._said_by(call) from error.__cause__
        except Exception as error:  # a producer's own, which arrives as it is
            if sys.version_info >= (3, 11):
                error.add_note(call)
            raise

    return take


def _import(name: str, value: Any, kind: Any, take: Callable[[str, Any], Any]) -> Any:
    """Return a value, or each of a starred parameter's values, as an Array."""
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return tuple(take(f"{name}[{place}]", one) for place, one in enumerate(value))
    if kind is inspect.Parameter.VAR_KEYWORD:
        return {key: take(key, one) for key, one in value.items()}
    return take(name, value)


def _name_argument(error: ContractError, names: Iterable[str], given: dict[str, Any]) -> None:
    """Put the name of an argument into the error of an Array that does not meet its contract."""
    for name in names:
        value = given.get(name)
        if isinstance(value, tuple):
            several = {f"{name}[{place}]": one for place, one in enumerate(value)}
        else:
            several = value if isinstance(value, dict) else {name: value}
        for said, one in several.items():
            if error._array is one and one is not None:
                error._name(UNNAMED, said)
