"""Variants of interchange that drop nulls, invent masks, or join chunks unasked.

Source: the rule book; `checks.functions_arrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._proxies import citing, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def reading(change: Callable[..., Any]) -> Subject:
    """Return a subject whose from_arrow() is ``change(honest, x, **keywords)``."""

    def from_arrow(x: Any, /, **keywords: Any) -> Any:
        return change(original().from_arrow, x, **keywords)

    return functions_of(from_arrow=from_arrow)


def instead(rule: str, act: Callable[..., Any]) -> Subject:
    """Return a subject that does ``act(honest, x, **keywords)`` where it should cite a rule."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().InterchangeError as error:
            if error.rule != rule:
                raise
        return act(honest, x, **keywords)

    return reading(change)


def reciting(rule: str, other: str) -> Subject:
    """Return a subject that cites another rule than it should."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().InterchangeError as error:
            raise (citing(error, other) if error.rule == rule else error) from None

    return reading(change)


# ---------------------------------------------------------------- nulls


@mutant("columns_with_nulls_are_refused", twin=honest_functions)
def hands_out_what_lies_under_nulls() -> Subject:
    """Takes what lies in the places of nulls for numbers."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "nulls": "separate"})[0]

    return instead("ARROW-NULL-2", act)


@mutant("columns_with_nulls_are_refused", twin=honest_functions)
def believes_that_nobody_counted_nothing() -> Subject:
    """Takes a column whose nulls the producer has not counted for one without."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        counts = {chunk.null_count for chunk in x.chunks}
        if counts != {-1}:
            return honest(x, **keywords)
        return honest(x, **{**keywords, "nulls": "separate"})[0]

    return reading(change)


@mutant("columns_with_nulls_are_refused", twin=honest_functions)
def cites_the_rule_of_counts() -> Subject:
    """Refuses nulls with the rule of producers that count them wrongly."""
    return reciting("ARROW-NULL-2", "ARROW-NULL-1")


@mutant("nulls_that_are_refused_are_counted", twin=honest_functions)
def says_that_there_are_nulls() -> Subject:
    """Refuses nulls, and does not say how many there are."""

    def act(_: Any, __: Any, **___: Any) -> Any:
        raise original().ExchangeError("from_arrow()", "there are nulls", "ARROW-NULL-2")

    return instead("ARROW-NULL-2", act)


@mutant("null_counts_that_lie_are_refused", twin=honest_functions)
def believes_null_counts() -> Subject:
    """Takes a column whose producer counts fewer nulls, or more, than there are."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x.but(null_count=-1), **{**keywords, "nulls": "separate"})[0]

    return instead("ARROW-NULL-1", act)


def _masking(change: Callable[[Any, Any], Any]) -> Subject:
    """Return a subject whose masks are others: ``change(data, mask)``, what of nested lists."""

    def read(honest: Any, x: Any, **keywords: Any) -> Any:
        found = honest(x, **keywords)
        if keywords.get("nulls") != "separate":
            return found
        return found[0], change(*found)

    return reading(read)


@mutant("masks_say_where_values_are", twin=honest_functions)
def masks_what_is_there() -> Subject:
    """Gives masks that are True where there is no value."""

    def change(_: Any, mask: Any) -> Any:
        turned = bytes(1 - one for one in mask.reshape(-1).view("uint8").tolist())
        return original().from_buffer(turned, dtype="bool", shape=mask.shape)

    return _masking(change)


@mutant("masks_say_where_values_are", twin=honest_functions)
def masks_one_for_each_list() -> Subject:
    """Gives masks of lists that have one bool for each list."""
    return _masking(lambda _, mask: mask[:, 0] if mask.ndim > 1 else mask)


@mutant("masks_say_where_values_are", twin=honest_functions)
def masks_by_bytes() -> Subject:
    """Gives masks of uint8."""
    return _masking(lambda _, mask: mask.view("uint8"))


@mutant("masks_say_where_values_are", twin=honest_functions)
def gives_the_data_alone() -> Subject:
    """Gives the data without a mask."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        found = honest(x, **keywords)
        return found[0] if isinstance(found, tuple) else found

    return reading(change)


# ---------------------------------------------------------------- chunks


@mutant("several_chunks_are_refused", twin=honest_functions)
def joins_chunks_unasked() -> Subject:
    """Copies several chunks into one array although nobody asked for it."""

    def act(honest: Any, x: Any, **keywords: Any) -> Any:
        return honest(x, **{**keywords, "copy": True})

    return instead("ARROW-CHUNK-1", act)


def _first_of(x: Any) -> Any:
    """Return a producer of the first chunk alone."""
    found = x.but()
    found.chunks = x.chunks[:1]
    return found


@mutant("several_chunks_are_refused", "chunks_are_joined_on_request", twin=honest_functions)
def takes_the_first_chunk() -> Subject:
    """Takes the first chunk for all."""
    return reading(lambda honest, x, **keywords: honest(_first_of(x), **keywords))


@mutant("chunks_are_joined_on_request", twin=honest_functions)
def joins_the_other_way_round() -> Subject:
    """Joins chunks from the last to the first."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        turned = x.but()
        turned.chunks = x.chunks[::-1]
        return honest(turned, **keywords)

    return reading(change)


_kept: Final[list[Any]] = []


@mutant("chunks_are_joined_on_request", twin=honest_functions)
def keeps_a_stream() -> Subject:
    """Asks for a stream that it never releases."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        _kept.append(x.__arrow_c_stream__())
        return honest(x, **keywords)

    return reading(change)


@mutant("chunks_are_joined_on_request", twin=honest_functions)
def never_joins() -> Subject:
    """Refuses several chunks although a copy was asked for."""

    def change(honest: Any, x: Any, *, copy: bool | None = None, **keywords: Any) -> Any:
        return honest(x, copy=copy if len(x.chunks) < 2 else None, **keywords)

    return reading(change)
