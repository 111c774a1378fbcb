"""Variants of interchange that hand arrays out wrongly.

Source: the rule book; `checks.functions_out`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._proxies import citing, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _converting(change: Callable[..., Any]) -> Subject:
    """Return a subject whose convert() is another: ``change(x, library, keywords)``."""

    def convert(x: Any, library: Any, /, **keywords: Any) -> Any:
        return change(x, library, keywords)

    return functions_of(convert=convert)


def _recited(rule: str, other: str) -> Subject:
    """Return a subject whose convert() cites another rule than it should."""

    def change(x: Any, library: Any, keywords: Any) -> Any:
        try:
            return original().convert(x, library, **keywords)
        except original().InterchangeError as error:
            raise (citing(error, other) if error.rule == rule else error) from None

    return _converting(change)


@mutant("unknown_libraries_are_refused", twin=honest_functions)
def converts_to_what_it_knows() -> Subject:
    """Returns a memoryview for a library that is not known."""

    def change(x: Any, library: Any, keywords: Any) -> Any:
        known = not isinstance(library, str) or library in original().TARGETS
        return original().convert(x, library if known else "memoryview", **keywords)

    return _converting(change)


@mutant("arrays_that_a_library_cannot_have_are_refused", twin=honest_functions)
def says_that_a_library_is_missing() -> Subject:
    """Says that a library is not installed where it refused an array."""
    return _recited("IX-CONVERT-2", "IX-CONVERT-1")


@mutant("copies_that_nobody_asked_for_are_refused", twin=honest_functions)
def lets_libraries_copy() -> Subject:
    """Allows a library to copy although nobody did."""

    def change(x: Any, library: Any, keywords: Any) -> Any:
        if library in {"mlx", "jax"}:
            keywords = {**keywords, "copy": True}
        return original().convert(x, library, **keywords)

    return _converting(change)


@mutant("conversions_share_the_memory", twin=honest_functions)
def copies_every_time() -> Subject:
    """Copies although nobody asked for it."""

    def change(x: Any, library: Any, keywords: Any) -> Any:
        copy = True if library == "memoryview" else keywords.pop("copy", None)
        return original().convert(x, library, **{**keywords, "copy": copy})

    return _converting(change)


@mutant("conversions_share_the_memory", twin=honest_functions)
def never_copies() -> Subject:
    """Shares the memory although a copy was asked for."""

    def change(x: Any, library: Any, keywords: Any) -> Any:
        return original().convert(x, library, **{**keywords, "copy": None})

    return _converting(change)
