"""Views that most array libraries can make, and their expected elements.

Source: array API standard 2025.12, Indexing; `expand` is PyTorch's method for repeating elements
with strides of 0.
"""

from __future__ import annotations

import contextlib
import math
from operator import le
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import OWN, NotApplicable, note
from interchange_conformance.probes.forms import NUMERIC, forms_of

from ._exports import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.under_test import ProducerUnderTest

    Shape = tuple[int, ...]
    Rows = list[list[bytes]]

TABLE: Final = (4, 6)
"""Shape of the arrays from which two-dimensional views are made."""
LINE: Final = 12
"""Shape of the arrays from which one-dimensional views are made."""
_MOST: Final = 2**14  # limit of elements that are compared one by one


class Elements(NamedTuple):
    """The expected shape and elements of a view."""

    shape: Shape
    elements: list[bytes]


class View(NamedTuple):
    """An operation that makes a view.

    Attributes
    ----------
    axes : int
        Number of axes of the base.
    make : callable
        ``make(x)`` -> the view of an array.
    plain : callable
        The same for a list of rows, or of elements if the base has one axis.
    """

    axes: int
    make: Callable[[Any], Any]
    plain: Callable[[Any], Any]

    def bases(self, producer: ProducerUnderTest) -> Iterator[Shape]:
        """Yield shapes of arrays of which to make the view: the usual one and the plain array's."""
        yield TABLE if self.axes == 2 else (LINE,)
        shape = producer.plain.shape
        is_large = len(shape) == self.axes and all(map(le, (TABLE, (LINE,))[self.axes == 1], shape))
        if is_large and math.prod(shape) <= _MOST:
            yield shape

    def rehearse(self, producer: ProducerUnderTest) -> None:
        """Make the view of an array that was never exported, and drop it.

        If this ends the process, a separate check reports it, and not those of exports.
        """
        x, _ = producer.first_of(forms_of(self.bases(producer), NUMERIC))
        note(f"{OWN}making a view")
        with contextlib.suppress(Exception):  # it is tested when the view is made again
            self.make(x)
        note("handing arrays out")

    def due(self, elements: list[bytes], shape: Shape) -> Elements:
        """Return the expected view of a base with these elements."""
        if self.axes == 1:
            line = self.plain(elements)
            return Elements((len(line),), line)
        rows, columns = shape
        base = [elements[row * columns : (row + 1) * columns] for row in range(rows)]
        table = [list(row) for row in self.plain(base)]
        return Elements((len(table), len(table[0])), [one for row in table for one in row])


def spread(x: Any, shape: Shape) -> Any:
    """Return an array that repeats the elements of `x` with strides of 0."""
    if hasattr(x, "expand"):
        return x.expand(shape)
    return x.__array_namespace__().broadcast_to(x, shape)


VIEWS: Final = {
    "tail": View(1, lambda x: x[3:], lambda line: line[3:]),
    "every-third": View(1, lambda x: x[1::3], lambda line: line[1::3]),
    "backwards": View(1, lambda x: x[::-1], lambda line: line[::-1]),
    "backwards-by-2": View(1, lambda x: x[9:2:-2], lambda line: line[9:2:-2]),
    "rows": View(2, lambda x: x[1:, :], lambda rows: rows[1:]),
    "columns": View(2, lambda x: x[:, 2:5], lambda rows: [row[2:5] for row in rows]),
    "inner": View(2, lambda x: x[1:3, 1::2], lambda rows: [row[1::2] for row in rows[1:3]]),
    "upside-down": View(2, lambda x: x[::-1, :], lambda rows: rows[::-1]),
    "mirrored": View(2, lambda x: x[:, ::-1], lambda rows: [row[::-1] for row in rows]),
    "transposed": View(2, lambda x: x.T, lambda rows: zip(*rows, strict=True)),
    "transposed-inner": View(
        2, lambda x: x[1:, ::2].T, lambda rows: zip(*(row[::2] for row in rows[1:]), strict=True)
    ),
    "spread": View(
        2,
        lambda x: spread(x[2:3, :], (5, (extents_of(x) or TABLE)[1])),
        lambda rows: [rows[2]] * 5,
    ),
}


def view_of(x: Any, make: Callable[[Any], Any], shape: Shape | None = None) -> Any:
    """Return the result of an operation on an array, if the array supports it.

    Parameters
    ----------
    x : object
        The array.
    make : callable
        The operation.
    shape : tuple of int, optional
        Shape of the result, to detect an operation with another meaning.

    Raises
    ------
    NotApplicable
        The array does not support it, or the result has another shape.
    """
    try:
        y = make(x)
    except Exception as error:
        raise NotApplicable(f"{type(x).__name__}: {words(error)}") from error
    said = extents_of(y)
    if None not in (shape, said) and said != shape:
        raise NotApplicable(f"{type(x).__name__} makes an array of shape {said} of it")
    return y


def extents_of(y: Any) -> Shape | None:
    """Return the shape that an array reports; None if it reports none."""
    try:
        return tuple(map(int, y.shape))
    except Exception:  # noqa: BLE001 - not all arrays have one
        return None
