"""Short representations of foreign values for messages; they never raise another error.

Long values are formatted piece by piece, up to the length shown: the repr of a list of millions
takes seconds, and that of an int of more than 4,300 digits raises.
"""

from __future__ import annotations

from array import array
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO_ROOM: Final = (RecursionError, MemoryError)
"""Errors that have nothing to do with the value."""

_MOST_BITS: Final = 4096  # of an int that is written out: well below the limit of CPython
_AROUND: Final[dict[Callable[..., str], tuple[str, str, str]]] = {
    list.__repr__: ("[", "]", "[]"),
    tuple.__repr__: ("(", ")", "()"),
    set.__repr__: ("{", "}", "set()"),
    frozenset.__repr__: ("frozenset({", "})", "frozenset()"),
    deque.__repr__: ("deque([", "])", "deque([])"),
}
"""The repr of a container -> its brackets, and its repr when empty."""
_CUT: Final[frozenset[Callable[..., str]]] = frozenset(
    {str.__repr__, bytes.__repr__, bytearray.__repr__, array.__repr__}
)
"""The repr functions of types that are cut before they are formatted."""


def show(value: Any, most: int = 60) -> str:
    """Return a short repr of a foreign value; its type if that fails."""
    text = ""
    try:
        for piece in _pieces(value, most):
            text += piece
            if len(text) > most:
                return f"{text[: most - 3]}..."
    except Exception:  # noqa: BLE001 - a foreign repr may raise anything
        return f"a {type(value).__name__}"
    return text


def clip(text: str, most: int = 60) -> str:
    """Return foreign text for a message, without quotes: printable, and not longer than `most`.

    Examples
    --------
    >>> clip("arrow.uuid"), clip("abc" * 40, 12)
    ('arrow.uuid', 'abcabcabc...')
    """
    found = repr(text[: most + 1])[1:-1]
    return found if len(found) <= most else f"{found[: most - 3]}..."


def module_of(cls: type) -> str:
    """Return the module of a class; "" for a class without one."""
    module = getattr(cls, "__module__", None)
    return module if isinstance(module, str) else ""


def name_of(cls: type) -> str:
    """Return the name of a class, with its module unless that is builtins.

    Examples
    --------
    >>> import fractions
    >>> name_of(int), name_of(fractions.Fraction)
    ('int', 'fractions.Fraction')
    """
    module = module_of(cls)
    return cls.__qualname__ if module in {"", "builtins"} else f"{module}.{cls.__qualname__}"


def _pieces(value: Any, most: int) -> Iterator[str]:
    """Yield the repr of a value in pieces; of text and bytes at least `most` characters."""
    how: Callable[..., str] = type(value).__repr__
    if how is int.__repr__ and value.bit_length() > _MOST_BITS:
        yield f"an int of {value.bit_length()} bits"
    elif how in _CUT:
        yield repr(value[:most] if len(value) > most else value)
    elif how is dict.__repr__:
        yield from _pairs(value, most)
    elif how in _AROUND:
        first, last, empty = _AROUND[how]
        yield from _items(value, first, last, most) if value else (empty,)
    else:
        yield " ".join(repr(value).split())  # arrays and tensors have several lines


def _items(values: Any, first: str, last: str, most: int) -> Iterator[str]:
    """Yield the repr of a container that is not empty."""
    between = first
    for value in islice(values, most):  # each takes at least a comma and a space
        yield between
        yield from _pieces(value, most)
        between = ", "
    yield ",)" if first == "(" and len(values) == 1 else last


def _pairs(values: dict[Any, Any], most: int) -> Iterator[str]:
    """Yield the repr of a dict."""
    between = "{"
    for key, value in islice(values.items(), most):
        yield between
        yield from _pieces(key, most)
        yield ": "
        yield from _pieces(value, most)
        between = ", "
    yield "}" if values else "{}"
