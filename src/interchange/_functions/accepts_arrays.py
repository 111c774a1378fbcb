"""`accepts_arrays`: named arguments of a function are converted to Arrays that meet contracts."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from interchange import _core
from interchange._array.contract import CheckedArgument, Contract, are_met, plans_of
from interchange._array.contract_errors import contract_error, name_argument
from interchange._protocols.export_guards import hint_for_call
from interchange._types.errors import ArgumentError, ContractError, InterchangeError, show
from interchange._types.signatures import demanded_of, signature_of

from .borrow import borrow as _borrow
from .importing import asarray, import_any, keep_array, keep_arrays
from .wrapper_codegen import make_wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interchange._array import Array

    from .borrow import Taken

R = TypeVar("R")

_CALL: Final = "accepts_arrays()"
_STARRED: Final = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
_LATE: Final = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)


def accepts_arrays(
    *names: str,
    stream: str | None = None,
    borrow: bool = False,
    writable: Collection[str] = (),
    **contracts: Contract,
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Decorate a function: the named arguments are converted to Arrays; None is passed unchanged.

    Parameters
    ----------
    *names : str
        Parameters of the function to import, passed by position or by keyword.  For a parameter
        declared with a star, all its values are imported.
    stream : str, optional
        The parameter with the stream on which the function will use them.
    borrow : bool, default False
        Order the producers after the function when it returns or raises, as `borrow` does: they
        wait for its work on `stream`.  Arrays are read-only, except those in `writable`, and those
        whose contract says that they are written.
    writable : collection of str, optional
        With `borrow`, the names of parameters that the function writes to.
    **contracts : Contract
        Parameters to import, and their contracts.  Names in shapes have one extent in all arguments
        of a call.  A parameter called ``stream``, ``borrow`` or ``writable`` is named by position,
        and its contract is checked in the body, by `Array.require`.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ArgumentError
        At decoration: nothing is named, a name is not a parameter of the function, a contract is
        not a Contract, `borrow` lacks a stream, or the function is a coroutine or a generator,
        whose body would run after the memory was handed back (IX-ARGUMENT-1, IX-BORROW-1).
    ContractError
        At a call: arguments do not meet their contracts.  One error reports all of them, and the
        calls that would fix them (IX-REQUIRE-1).

    Notes
    -----
    `viewable` is an alias of this function.

    Errors name the argument: those of its import, those of its contract, and those of
    `Array.require` in the function.

    A coroutine function stays one, and a generator function too: arguments are imported when the
    body begins to run.  For an asynchronous generator function they are imported at the call; the
    result is its generator, but ``inspect.isasyncgenfunction`` is false for the function, and
    errors of `Array.require` in its body do not know the name.

    Examples
    --------
    >>> @accepts_arrays("x", "out")
    ... def total(x, *, out=None):
    ...     return x.require(ndim=1).size
    >>> total(b"abc"), total(x=bytearray(4))
    (3, 4)
    >>> @accepts_arrays(
    ...     points=Contract(dtype="uint8", shape=("n", 3)), weights=Contract(shape=("n",))
    ... )
    ... def count(points, weights=None):
    ...     return points.shape[0]
    >>> count(memoryview(bytes(6)).cast("B", (2, 3)), b"ab")
    2
    >>> @accepts_arrays("x", "out", stream="stream", borrow=True, writable=["out"])
    ... def copy(x, out, stream):
    ...     return x.readonly, out.readonly
    >>> copy(b"abc", bytearray(3), stream=7)
    (True, False)
    """
    _check_options(stream=stream, borrow=borrow, writable=writable)
    _check_words(names, stream, contracts)
    if borrow and stream is None:
        raise ArgumentError(_CALL, "borrow=True without stream=", "IX-BORROW-1", "name a parameter")
    named = (*names, *contracts)
    if not _are_names(writable, named) or (writable and not borrow):
        what = f"writable={show(writable)} with names {named} and borrow={borrow}"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "pass names, and borrow=True")
    written = _written(writable, contracts)

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        signature = _checked_signature(function)
        if borrow and any(is_late(function) for is_late in _LATE):
            what = f"{_name_of(function)}() runs its body after it returned"
            hint = "borrow within the body"
            raise ArgumentError(_CALL, f"borrow=True, and {what}", "IX-ARGUMENT-1", hint)
        for name in (*named, *((stream,) if stream else ())):
            _check_name(name, signature, function)
        if stream and signature.parameters[stream].kind in _STARRED:
            what = f"stream={show(stream)} names a parameter with a star"
            hint = "name a parameter that is one stream"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)
        chosen = [one for name, one in signature.parameters.items() if name in named]
        arguments = _Arguments(function, chosen, contracts, written)
        demanded = demanded_of(function, {*named, stream or ""})
        return _decorated(function, demanded, arguments, stream, borrow=borrow)

    return decorate


viewable = accepts_arrays


def _check_options(**options: Any) -> None:
    """Refuse the contract of a parameter with the name of an option."""
    for name, value in options.items():
        if isinstance(value, Contract):
            what = f"{name}= is an option of accepts_arrays(), and no parameter to give a contract"
            contract = show(value, 400).removeprefix("Contract")
            hint = f'write @accepts_arrays("{name}"), and `{name}.require{contract}` in the body'
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)


def _check_words(names: tuple[Any, ...], stream: Any, contracts: dict[str, Any]) -> None:
    """Refuse invalid arguments of the decorator."""
    hint = '@accepts_arrays("x"), or @accepts_arrays(x=Contract(dtype="float64")), of a parameter x'
    for name in names:
        if callable(name) or isinstance(name, (staticmethod, classmethod)):
            what = f"it was given {show(name)} and no names of parameters"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", f"write {hint}")
        if isinstance(name, Collection) and not isinstance(name, str):
            several = '@accepts_arrays("x", "y"): names are passed one by one'
            what = f"{show(name)} is no name of a parameter"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", f"write {several}")
    if not names and not contracts:
        raise ArgumentError(_CALL, "no parameter is named", "IX-ARGUMENT-1", f"write {hint}")
    for name, contract in contracts.items():
        if not isinstance(contract, Contract):
            what = f"{name}={show(contract)} is no contract"
            hint = f"write {name}=Contract(dtype=..., shape=...)"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)
    if stream is not None and (not isinstance(stream, str) or stream in {*names, *contracts}):
        what = f"stream={show(stream)} names no parameter, or that of an array"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", 'write stream="stream"')


def _are_names(writable: Any, named: tuple[str, ...]) -> bool:
    """Whether these are names of parameters that are imported."""
    is_several = isinstance(writable, Collection) and not isinstance(writable, str)
    return is_several and all(isinstance(name, str) and name in named for name in writable)


def _written(writable: Collection[str], contracts: dict[str, Contract]) -> frozenset[str]:
    """Return the names of the parameters that are written."""
    for name in writable:
        if name in contracts and contracts[name]._given.get("writable") is False:
            what = f"writable={show(writable)} and writable=False in the contract of {name!r}"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "leave one of them out")
    return frozenset(writable) | {name for name, one in contracts.items() if one._writable}


def _checked_signature(function: Any) -> inspect.Signature:
    """Return the parameters of the function; refuse other objects, and hidden parameters."""
    kind = type(function).__name__
    if isinstance(function, (staticmethod, classmethod, property)):
        what, hint = f"it was put above @{kind}", f"put @{kind} above @accepts_arrays(...)"
    elif not callable(function):
        what, hint = f"{show(function)} is no function", "decorate a function"
    else:
        try:
            return signature_of(function)
        except (TypeError, ValueError) as error:
            what = f"the signature of {_name_of(function)}() cannot be read: {error}"
            hint = "decorate a function with parameters of its own, which calls it"
    raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)


def _check_name(name: Any, signature: inspect.Signature, function: Callable[..., Any]) -> None:
    """Refuse a name that is not a parameter, and suggest a similar one."""
    if name in signature.parameters:
        return
    what = f"{show(name)} is no parameter of {_name_of(function)}{signature}"
    like = difflib.get_close_matches(name, signature.parameters, 1) if name == str(name) else ()
    hint = f"name one of its parameters: {', '.join(signature.parameters) or 'it has none'}"
    hint = f"did you mean {like[0]!r}?" if like else hint
    raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)


def _name_of(function: Any) -> str:
    """Return the name of a function, or of a callable object."""
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _decorated(
    function: Callable[..., R],
    signature: inspect.Signature,
    arguments: _Arguments,
    stream: str | None,
    *,
    borrow: bool,
) -> Callable[..., R]:
    """Return the function that users call."""
    targets = ", ".join(arguments.names)
    result = "{call}"
    if inspect.iscoroutinefunction(function):
        result = "await {call}"
    elif _is_generator(function):
        result = "(yield from {call})"
    told = [
        "try:",
        f"    return {result}",
        "except {refused}:",
        f"    {{tell}}({targets})",
        "    raise",
    ]
    taken: Callable[..., Any] = arguments.take
    if borrow:
        lines = ["with {stack}() as {local}:"]
        told = [f"{targets} = {{take}}({{local}}, {stream}, {targets})", *told]
        lines += [f"    {line}" for line in told]
    elif stream is not None:
        lines = [f"{targets} = {{take}}(None, {stream}, {targets})", *told]
    else:
        taken = arguments.fast_take()
        lines = [f"{targets} = {{take}}({targets})", *told]
    return make_wrapper(
        function,
        signature,
        lines,
        define="async def" if result.startswith("await") else "def",
        take=taken,
        tell=arguments.tell,
        refused=ContractError,
        stack=contextlib.ExitStack,
    )


def _is_generator(function: Any) -> bool:
    """Whether a generator function can pass on what this one yields."""
    flags: int = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return bool(flags & inspect.CO_GENERATOR and not flags & inspect.CO_ITERABLE_COROUTINE)


class _Use(NamedTuple):
    """The import of a call's arguments: the callbacks at its end, the stream, the Arrays."""

    debts: contextlib.ExitStack | None
    handle: Any
    taken: Taken


class _Arguments:
    """The parameters that are imported.

    Attributes
    ----------
    names : list[str]
        Their names, in the order of the function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: list[inspect.Parameter],
        contracts: dict[str, Contract],
        written: frozenset[str],
    ) -> None:
        self.names = [one.name for one in parameters]
        self._function = function
        self._each = [(one.name, one.kind, contracts.get(one.name)) for one in parameters]
        self._written = written

    @property
    def _call(self) -> str:
        """The name of the function in errors."""
        return f"{_name_of(self._function)}()"

    def fast_take(self) -> Callable[..., Any]:
        """Return the function that imports arrays on no particular stream."""
        contracts = [contract for _, _, contract in self._each]
        starred = any(kind in _STARRED for _, kind, _ in self._each)

        def take_any(*values: Any) -> Any:
            return self.take(None, None, *values)

        def take(*values: Any) -> Any:
            found: list[Any] = []
            try:
                for value in values:
                    found.append(None if value is None else asarray(value))  # noqa: PERF401
            except Exception as error:
                name, taken = self.names[len(found)], list(zip(values, found, strict=False))
                found.clear()  # the traceback keeps this frame
                self._blame(error, name, values, taken)
                raise
            extents: dict[str, int] = {}
            for array, contract in zip(found, contracts, strict=True):
                if contract is None or array is None or contract._is_met(array, extents):
                    continue
                del array  # the traceback keeps this frame
                taken = list(zip(values, found, strict=True))
                self._refuse(self._held(values, found), found, values, taken)
            return found[0] if len(found) == 1 else found

        return _core.fast_checks(take_any if starred else take, plans_of(contracts))

    def _held(self, values: Iterable[Any], arrays: Iterable[Any]) -> list[CheckedArgument]:
        """Return the Arrays of a call that have to meet contracts."""
        given = zip(self._each, values, arrays, strict=True)
        return [
            CheckedArgument(name, array, contract, array is value)
            for (name, _, contract), value, array in given
            if contract is not None and array is not None
        ]

    def _refuse(
        self, held: list[CheckedArgument], arrays: list[Any], values: Iterable[Any], taken: Taken
    ) -> NoReturn:
        """Raise the error of Arrays that do not meet their contracts, and release them."""
        error = contract_error(held, self._call)
        held.clear()
        arrays.clear()
        self._keep(error, values, taken)
        raise error

    def _keep(self, error: InterchangeError, values: Iterable[Any], taken: Taken) -> None:
        """Raise an error that keeps the Arrays of arguments that can be read once, if any."""
        given: dict[str, Any] = {}
        for (name, kind, _), value in zip(self._each, values, strict=True):
            several = _several(name, value) if kind in _STARRED else [(name, name, value)]
            given.update((said, one) for _, said, one in several)
        given = {said: one for said, one in given.items() if one is not None}
        try:
            if len(given) > 1:
                keep_arrays(error, given, taken)
            for value, array in taken:  # of several values, one of which is not None
                keep_array(error, value, array)
        finally:
            taken.clear()  # the traceback keeps this frame

    def take(self, debts: contextlib.ExitStack | None, handle: Any, *values: Any) -> Any:
        """Return an Array of each value that meets its contract; for one value not a tuple."""
        held: list[CheckedArgument] = []
        found: list[Any] = []
        notes: Taken = []
        use = _Use(debts, handle, notes)
        taken: Any = None
        try:
            for (name, kind, contract), value in zip(self._each, values, strict=True):
                if kind in _STARRED:
                    taken = self._take_several(name, value, contract, use, held)
                elif value is None:
                    taken = None
                else:
                    taken = self._take_one(name, value, use, name)
                    if contract is not None:
                        held.append(CheckedArgument(name, taken, contract, taken is value))
                found.append(taken)
        except BaseException as error:
            held.clear()  # the traceback keeps this frame
            found.clear()
            taken = None
            if isinstance(error, InterchangeError):
                self._keep(error, values, notes)
            notes.clear()
            raise
        if held and not are_met(held):
            del taken
            self._refuse(held, found, values, notes)
        return found[0] if len(found) == 1 else found

    def _take_several(
        self,
        name: str,
        values: Any,
        contract: Contract | None,
        use: _Use,
        held: list[CheckedArgument],
    ) -> Any:
        """Return an Array of each value of a starred parameter; record those with a contract."""
        taken: dict[Any, Array | None] = {}
        try:
            for key, said, value in _several(name, values):
                taken[key] = None
                if value is not None:
                    taken[key] = array = self._take_one(said, value, use, name)
                    if contract is not None:
                        held.append(CheckedArgument(said, array, contract, array is value))
        except BaseException:
            taken.clear()  # the traceback keeps this frame
            array = None
            raise
        return taken if isinstance(values, dict) else tuple(taken.values())

    def _take_one(self, said: str, value: Any, use: _Use, name: str) -> Array:
        """Return an Array of a value; on failure the error names the argument."""
        try:
            if use.debts is not None:
                lent = _borrow(value, stream=use.handle, writable=name in self._written)
                return lent._take(value, use.debts, use.taken)
            if use.handle is None:
                array = asarray(value)
            else:
                array = import_any(value, stream=use.handle, call=self._call)
        except Exception as error:
            self._blame(error, said)
            raise
        use.taken.append((value, array))
        return array

    def _blame(
        self, error: Exception, said: str, values: Iterable[Any] = (), taken: Taken | None = None
    ) -> None:
        """Name the argument that could not be imported; a producer's own error is not changed."""
        call = f"{self._call}, argument {said!r}"
        if isinstance(error, InterchangeError):
            from interchange._protocols.conversion_hints import hint_for_argument  # for this only

            hint = self._typed(hint_for_call(error.hint, call), said)
            told = error._but(call, hint_for_argument(hint, said))
            if taken is not None:
                self._keep(told, values, taken)
            raise told from error.__cause__
        if taken:
            taken.clear()
        if sys.version_info >= (3, 11):
            error.add_note(call)

    def _typed(self, hint: str, said: str) -> str:
        """Return a hint whose new array has the element type of the argument's contract."""
        contract = next((one for name, _, one in self._each if name == said), None)
        if contract is None or len(contract._dtypes) != 1:
            return hint
        from interchange._protocols.conversion_hints import NEW  # for an error only

        return hint.replace(f")`, {NEW}", f", dtype='{contract._dtypes[0]}')`, {NEW}")

    def tell(self, *values: Any) -> None:
        """Name the argument in the error of an Array that does not meet a contract in the body."""
        error = sys.exc_info()[1]
        array = getattr(getattr(error, "_checked", None), "array", None)
        if not isinstance(error, ContractError) or array is None:
            return
        found = []
        for (name, kind, _), value in zip(self._each, values, strict=True):
            several = _several(name, value) if kind in _STARRED else [(name, name, value)]
            found += [said for _, said, one in several if one is array]
        if found:
            name_argument(error, " or ".join(found))


def _several(name: str, values: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield each value of a starred parameter, with its key, and its name."""
    if isinstance(values, dict):
        yield from ((key, key, one) for key, one in values.items())
    else:
        yield from ((place, f"{name}[{place}]", one) for place, one in enumerate(values))
