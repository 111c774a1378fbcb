"""Wrappers with the signature of a function, compiled from text.

Source: Python, "inspect.Signature", "compile".  Wrappers are compiled from text, as the methods of
data classes are: Python itself checks the arguments, and no signature is bound at a call.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STARS: Final[dict[Any, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
_INDENT: Final = "    "


def make_wrapper(
    function: Callable[..., Any],
    signature: inspect.Signature,
    body: Iterable[str],
    define: str = "def",
    **names: Any,
) -> Callable[..., Any]:
    """Return a function with the signature of another, which it calls after other statements.

    `function`: the wrapped function.
    `signature`: its parameters.
    `body`: lines of Python, indented as in a function.  ``{call}`` is the call, with the parameters
        as they are then; ``{name}`` is one of `names`, ``{local}`` an unused variable name.
    `define`: the start of a function with this body.
    `names`: names that the lines use.

    Examples
    --------
    >>> def power(x, *, of=2):
    ...     return x**of
    >>> lines = ["x = {read}(x)", "return {call}"]
    >>> make_wrapper(power, inspect.signature(power), lines, read=int)("3", of=3)
    27
    """
    taken = {*signature.parameters}
    space: dict[str, Any] = {}
    words = {name: _keep(space, taken, name, value) for name, value in names.items()}
    call = _keep(space, taken, "function", function)
    words["local"] = _keep(space, taken, "local", None)
    words["call"] = f"{call}({', '.join(map(_passed, signature.parameters.values()))})"
    parameters = _declared(signature, space, taken)
    lines = [f"{define} wrapper({parameters}):"]
    lines += [_INDENT + line.format(**words) for line in body]
    what = getattr(function, "__qualname__", type(function).__qualname__)
    exec(compile("\n".join(lines), f"<accepts_arrays {what}>", "exec"), space)  # noqa: S102 - see above
    return functools.wraps(function)(space["wrapper"])


def _keep(space: dict[str, Any], taken: set[str], name: str, value: object) -> str:
    """Store an object as a global of the function, under an unused name; return the name."""
    name = f"_{name}"
    while name in taken or name in space:
        name += "_"
    space[name] = value
    return name


def _declared(signature: inspect.Signature, space: dict[str, Any], taken: set[str]) -> str:
    """Return the parameters as they are declared, their defaults by name."""
    parts, kind = [], None
    for one in signature.parameters.values():
        if kind is inspect.Parameter.POSITIONAL_ONLY and one.kind is not kind:
            parts.append("/")
        if one.kind is _KEYWORD and kind not in {_KEYWORD, inspect.Parameter.VAR_POSITIONAL}:
            parts.append("*")
        kind = one.kind
        default = ""
        if one.default is not one.empty:
            default = f"={_keep(space, taken, one.name, one.default)}"
        parts.append(f"{_STARS.get(kind, '')}{one.name}{default}")
    if kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def _passed(one: inspect.Parameter) -> str:
    """Return a parameter as it is passed on."""
    if one.kind is _KEYWORD:
        return f"{one.name}={one.name}"
    return f"{_STARS.get(one.kind, '')}{one.name}"
