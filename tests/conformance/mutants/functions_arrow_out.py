"""Variants of interchange that hand arrays out as columns of something else.

Source: the rule book; `checks.functions_arrow_out`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._proxies import citing, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def sending(change: Callable[..., Any]) -> Subject:
    """Return a subject whose to_arrow() is ``change(honest, x, **keywords)``."""

    def to_arrow(x: Any, /, **keywords: Any) -> Any:
        return change(original().to_arrow, x, **keywords)

    return functions_of(to_arrow=to_arrow)


def _each(change: Callable[[Any], Any]) -> Subject:
    """Return a subject that hands out what ``change(array)`` gives, of a table of each column."""

    def send(honest: Any, x: Any, **keywords: Any) -> Any:
        if isinstance(x, dict):
            return honest({name: change(array) for name, array in x.items()}, **keywords)
        return honest(change(x), **keywords)

    return sending(send)


def _reciting(rule: str, other: str) -> Subject:
    """Return a subject that cites another rule than it should."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        try:
            return honest(x, **keywords)
        except original().InterchangeError as error:
            raise (citing(error, other) if error.rule == rule else error) from None

    return sending(change)


# ---------------------------------------------------------------- numbers


@mutant("arrays_that_are_no_columns_are_refused", twin=honest_functions)
def hands_out_bfloat16_as_float16() -> Subject:
    """Hands numbers of 16 bits that Arrow has not out as those that it has."""

    def change(x: Any) -> Any:
        return x.view("float16") if x.dtype.name == "bfloat16" else x

    return _each(change)


@mutant("arrays_that_are_no_columns_are_refused", twin=honest_functions)
def hands_out_numbers_as_columns() -> Subject:
    """Hands an array without axes out as a column of one element."""
    return _each(lambda x: x if x.ndim else x.reshape(1))


@mutant("arrays_that_are_no_columns_are_refused", twin=honest_functions)
def cites_the_rule_of_types() -> Subject:
    """Refuses elements that Arrow has not with the rule of those that arrays have not."""
    return _reciting("ARROW-OUT-1", "ARROW-TYPE-1")


@mutant(
    "numbers_go_out_where_they_are",
    "further_axes_go_out_as_lists",
    "tables_have_their_columns_by_name",
    "tensors_go_out_with_their_permutation",
    twin=honest_functions,
)
def hands_out_copies() -> Subject:
    """Hands copies out."""
    return _each(lambda x: x.copy())


@mutant("numbers_go_out_where_they_are", twin=honest_functions)
def hands_out_bools_as_numbers() -> Subject:
    """Hands bools out as numbers of 8 bits."""
    return _each(lambda x: x.view("int8") if x.dtype.name == "bool" else x)


@mutant("numbers_go_out_where_they_are", twin=honest_functions)
def hands_out_bits() -> Subject:
    """Hands unsigned integers out for all numbers."""
    return _each(lambda x: x.view(f"uint{8 * x.itemsize}"))


# ---------------------------------------------------------------- lists


@mutant("elements_that_lie_apart_are_refused", twin=honest_functions)
def copies_what_lies_apart() -> Subject:
    """Copies elements that do not lie side by side, unasked."""
    return _each(lambda x: x if x.is_contiguous() else x.copy())


@mutant("elements_that_lie_apart_are_refused", twin=honest_functions)
def cites_the_rule_of_columns() -> Subject:
    """Refuses elements that lie apart with the rule of those that Arrow has not."""
    return _reciting("ARROW-OUT-2", "ARROW-OUT-1")


@mutant("further_axes_go_out_as_lists", twin=honest_functions)
def flattens_rows() -> Subject:
    """Hands all elements out along one axis."""
    return _each(lambda x: x.reshape(-1))


@mutant("further_axes_go_out_as_lists", twin=honest_functions)
def flattens_lists_in_lists() -> Subject:
    """Hands all axes after the first out as one list."""
    return _each(lambda x: x.reshape((x.shape[0], -1)) if x.ndim > 2 else x)


# ---------------------------------------------------------------- tables


@mutant("tables_of_uneven_columns_are_refused", twin=honest_functions)
def cuts_columns_to_the_shortest() -> Subject:
    """Hands out as many elements of each column as the shortest has."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if not isinstance(x, dict):
            return honest(x, **keywords)
        length = min(array.shape[0] for array in x.values())
        return honest({name: array[:length] for name, array in x.items()}, **keywords)

    return sending(change)


@mutant("tables_of_uneven_columns_are_refused", twin=honest_functions)
def drops_columns_of_other_devices() -> Subject:
    """Hands out the columns alone that are on the device of the first."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if not isinstance(x, dict):
            return honest(x, **keywords)
        place = next(iter(x.values())).device
        here = {name: array for name, array in x.items() if array.device == place}
        return honest(here, **keywords)

    return sending(change)


def _table(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Subject:
    """Return a subject whose tables are others."""
    return sending(
        lambda honest, x, **keywords: honest(change(x) if isinstance(x, dict) else x, **keywords)
    )


@mutant("tables_have_their_columns_by_name", twin=honest_functions)
def sorts_columns() -> Subject:
    """Puts the columns of a table in the order of their names."""
    return _table(lambda columns: dict(sorted(columns.items())))


@mutant("tables_have_their_columns_by_name", twin=honest_functions)
def numbers_columns() -> Subject:
    """Names the columns of a table by their number."""
    return _table(lambda columns: {str(n): one for n, one in enumerate(columns.values())})


# ---------------------------------------------------------------- tensors


def _order(x: Any) -> list[int]:
    """Return the axes of an array after the first, in the order of memory."""
    return sorted(range(1, x.ndim), key=lambda axis: -x.strides[axis])


@mutant("tensors_go_out_with_their_permutation", twin=honest_functions)
def forgets_the_permutation() -> Subject:
    """Hands tensors out with the axes that lie in memory."""
    return _each(lambda x: x.permute_dims((0, *_order(x))))


@mutant("tensors_go_out_with_their_permutation", twin=honest_functions)
def turns_the_permutation_round() -> Subject:
    """Hands tensors out with the inverse of their permutation."""

    def change(x: Any) -> Any:
        order = _order(x)
        return x.permute_dims((0, *order)).permute_dims((0, *order))

    return _each(change)


@mutant("tensors_go_out_with_their_permutation", twin=honest_functions)
def hands_out_lists_for_tensors() -> Subject:
    """Hands tensors out as lists."""

    def change(honest: Any, x: Any, *, kind: str = "column") -> Any:
        return honest(x.reshape((x.shape[0], -1)) if kind == "tensor" else x)

    return sending(change)


# ---------------------------------------------------------------- the core


def _speechless(*_: object, **__: object) -> Any:
    """Refuse in words of its own."""
    raise NotImplementedError("no callbacks")


@mutant("columns_go_out_by_the_native_core", twin=honest_functions)
def says_nothing_of_cores() -> Subject:
    """Refuses to export without native code by a bare NotImplementedError, without a rule."""
    return sending(_speechless)
