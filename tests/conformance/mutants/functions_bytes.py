"""Variants of interchange that read bytes which are not there, or other ones than were meant.

Source: the rule book; `checks.functions_bytes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._proxies import citing, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _reading(change: Callable[..., Any]) -> Subject:
    """Return a subject whose from_buffer() is ``change(honest, x, **keywords)``."""

    def from_buffer(x: Any, /, **keywords: Any) -> Any:
        return change(original().from_buffer, x, **keywords)

    return functions_of(from_buffer=from_buffer)


@mutant("elements_beyond_the_buffer_are_refused", twin=honest_functions)
def reads_what_is_there() -> Subject:
    """Reads the whole elements that there are, where more are asked for."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().ViewError:
            return honest(x)

    return _reading(change)


@mutant("elements_beyond_the_buffer_are_refused", twin=honest_functions)
def cites_views_for_buffers() -> Subject:
    """Refuses what leaves the buffer with the rule of views."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().ViewError as error:
            raise citing(error, "IX-VIEW-1") from None

    return _reading(change)


@mutant("bytes_are_read_where_they_are", twin=honest_functions)
def counts_offsets_in_elements() -> Subject:
    """Takes the offset for a number of elements."""

    def change(honest: Any, x: Any, *, offset: int = 0, **keywords: Any) -> Any:
        size = honest(x, **{**keywords, "shape": None}).itemsize if offset else 1
        return honest(x, offset=min(offset * size, len(x) - size), **keywords)

    return _reading(change)


@mutant("bytes_are_read_where_they_are", twin=honest_functions)
def copies_the_buffer() -> Subject:
    """Copies what it reads."""
    return _reading(lambda honest, x, **keywords: honest(bytes(x), **keywords))


@mutant("bytes_that_lie_apart_are_refused", twin=honest_functions)
def reads_a_copy_of_what_lies_apart() -> Subject:
    """Reads a copy where bytes do not lie side by side."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except BufferError:
            return honest(bytes(x), **keywords)

    return _reading(change)
