"""What the checks of Arrow's functions share: columns that are refused or taken, and tensors.

Source: Arrow canonical extension types, Fixed shape tensor.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import TYPE_CHECKING, Any

from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.findings import NotApplicable
from interchange_conformance.zoo import arrow, compiled

from ._refusals import expect_refusal, granted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interchange_conformance.probes.under_test import FunctionsUnderTest

    from ._refusals import Wrong

    Ints = tuple[int, ...]
    Make = Callable[[], arrow.Source]


def taking(make: Make, *kinds: type[BaseException], **keywords: Any) -> Wrong:
    """Return a call of ``from_arrow()`` that is wrong.

    Parameters
    ----------
    make : callable
        Returns the producer.
    *kinds : type
        The built-in classes that its error is to be of; BufferError when left out.
    **keywords
        Of the call.
    """
    return (lambda ix: ix.from_arrow(make(), **keywords)), kinds or (BufferError,)


def cases_of(rule: str) -> dict[str, Wrong]:
    """Return a wrong call for each producer of the zoo that breaks a rule, or falls under it."""
    return {name: taking(case.make) for name, case in arrow.zoo().items() if case.rule == rule}


def need_columns() -> None:
    """Raise `NotApplicable` where the zoo's callbacks, which are C, cannot be built."""
    try:
        compiled.load("arrow_structs.c")
    except CannotBuildError as error:
        raise NotApplicable(str(error)) from error


def expect_refused(functions: FunctionsUnderTest, rule: str, case: Wrong) -> None:
    """Raise `Found` unless a wrong call of ``from_arrow()`` is refused by its rule."""
    need_columns()
    expect_refusal(functions, rule, case)


def taken(functions: FunctionsUnderTest, source: arrow.Source, **keywords: Any) -> Any:
    """Return what ``from_arrow()`` makes of a producer that it ought to take."""
    said = "".join(f", {name}={value!r}" for name, value in keywords.items())
    return granted(
        lambda: functions.namespace.from_arrow(source, **keywords), f"from_arrow({source}{said})"
    )


def listed(values: Any) -> Any:
    """Return nested tuples as nested lists.

    Examples
    --------
    >>> listed(((1, 2), (3, None)))
    [[1, 2], [3, None]]
    """
    return list(map(listed, values)) if isinstance(values, list | tuple) else values


def tensor_of(flat: Sequence[Any], shape: Ints, permutation: Sequence[int]) -> tuple[Ints, Any]:
    """Return the shape of a tensor, and its elements as nested lists.

    Parameters
    ----------
    flat : sequence
        The elements as they lie in memory.
    shape : tuple[int, ...]
        The extents as they lie in memory [elements].
    permutation : sequence of int
        Of each axis of the tensor, which one it is in memory.

    Examples
    --------
    >>> tensor_of([0, 1, 2, 3, 4, 5], (2, 3), (1, 0))
    ((3, 2), [[0, 3], [1, 4], [2, 5]])
    """
    extents = tuple(shape[axis] for axis in permutation)
    steps = [prod(shape[axis + 1 :]) for axis in permutation]
    places = itertools.product(*map(range, extents))
    found = [flat[sum(map(int.__mul__, place, steps))] for place in places]
    return extents, listed(arrow.columns.nested(found, extents))


def first_address(source: arrow.Source, itemsize: int) -> int:
    """Return where the numbers of a column begin, behind the offsets of all of its levels.

    Parameters
    ----------
    source : Source
        Producer of one chunk of numbers, bytes or lists.
    itemsize : int
        Of a number [bytes].
    """
    place, field, chunk = 0, source.field, source.chunks[0]
    while field.children:
        place = (place + chunk.offset) * _size_of(field)
        field, chunk = field.children[0], chunk.children[0]  # type: ignore[assignment]
    place = (place + chunk.offset) * _size_of(field)
    return (chunk.buffers[1] or 0) + place * itemsize


def _size_of(field: arrow.Field) -> int:
    """Return how many elements one of a level has: 3 for lists of the format ``+w:3``."""
    return int(str(field.format).partition(":")[2] or 1) if "w:" in str(field.format) else 1
