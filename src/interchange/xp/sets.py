"""Functions about sets of elements.

Source: array API standard 2025.12, Set Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from interchange._array import Array  # noqa: TC001 - fields of named tuples

from ._calls import apply, apply_all, apply_many
from ._documentation import document

if TYPE_CHECKING:
    from collections.abc import Sequence


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`: the elements, first indices, inverse indices, and counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`: the elements, and their counts."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`: the elements, and the inverse indices."""

    values: Array
    inverse_indices: Array


@document
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    return apply_all("isin", (x1, x2), invert=invert)


@document
def unique_all(x: Array, /) -> UniqueAllResult:
    return UniqueAllResult(*_found("unique_all", x))


@document
def unique_counts(x: Array, /) -> UniqueCountsResult:
    return UniqueCountsResult(*_found("unique_counts", x))


@document
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    return UniqueInverseResult(*_found("unique_inverse", x))


@document
def unique_values(x: Array, /) -> Array:
    return apply("unique_values", x)


def _found(name: str, x: Array) -> Sequence[Array]:
    """Return the arrays of one of these functions."""
    return apply_many(name, (x,))
