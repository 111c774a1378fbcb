"""Docstrings of the namespace, generated from one table of its functions.

Source: array API standard 2025.12; the texts are ours.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ._table import KINDS, TABLE, UNTYPED, words

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_PACKAGE: Final = __name__.rpartition(".")[0]
EXTENSIONS: Final = ("fft", "linalg")
_WIDTH: Final = 88  # of a line [characters]


def document(function: F) -> F:
    """Give a function its public name, and its docstring from the table.

    A name that is also a built-in is written with an underscore at its end.
    """
    module = function.__module__.rpartition(".")[2]
    if module == "_calls":  # in that module, for an extension
        module = ""
    extension = module if module in EXTENSIONS else ""
    name = function.__name__.removesuffix("_")
    full = f"{extension}.{name}" if extension else name
    function.__name__ = function.__qualname__ = name
    function.__module__ = f"{_PACKAGE}.{extension}" if extension else _PACKAGE
    function.__doc__ = docstring(full, inspect.signature(function))
    return function


def docstring(name: str, signature: inspect.Signature) -> str:
    """Return the docstring of a function.

    Parameters
    ----------
    name : str
        A key of the table, such as ``"linalg.qr"``.
    signature : inspect.Signature
        Its parameters.
    """
    row = TABLE[name]
    lines = [row.summary, "", "Parameters", "----------"]
    for parameter in signature.parameters.values():
        stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL)
        lines += [f"{stars}{parameter.name} : {_kind(name, parameter)}"]
        lines += _lines(words(name, row, parameter.name), "    ")
    if len(signature.parameters) == 0:
        del lines[-2:]
    source = f"Source: array API standard 2025.12, ``{name}``, which names the element types; the"
    lines += ["", "Notes", "-----", *_lines(f"{source} library that computes may take others.")]
    if row.example:
        lines += ["", "Examples", "--------", ">>> from interchange import xp"]
        lines += [f">>> {row.example}", row.result]
    return "\n".join(lines) + "\n"


def _lines(text: str, indent: str = "") -> list[str]:
    """Return a text as lines of a docstring."""
    lines, text = [], f"{indent}{text}"
    while len(text) > _WIDTH:
        end = text.rindex(" ", 0, _WIDTH + 1)
        lines.append(text[:end])
        text = indent + text[end + 1 :]
    return [*lines, text]


def _kind(name: str, parameter: inspect.Parameter) -> str:
    """Return the accepted types of a parameter, and its default."""
    annotation, default = parameter.annotation, parameter.default
    if annotation in {"Any", "str"}:
        own = f"{name.rpartition('.')[2]}.{parameter.name}"
        kinds = [UNTYPED.get(own) or UNTYPED[parameter.name]]
    else:
        kinds = [KINDS.get(one, one) for one in KINDS.get(annotation, annotation).split(" | ")]
    *most, last = [one for one in kinds if one != "None" or default is not None]
    kind = f"{', '.join(most)} or {last}" if most else last
    if default is parameter.empty:
        return kind
    return f"{kind}, optional" if default is None else f"{kind}, default {default!r}"
