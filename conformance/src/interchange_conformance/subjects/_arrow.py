"""Common code of the descriptions of Arrow libraries: element types with lists, and chunks.

Source: `Subject.make_arrow`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SIZED: Final = re.compile(r"\[([0-9]+)\]")


def type_of(
    dtype: str,
    names: Mapping[str, Any],
    list_of: Callable[[Any, int], Any],
    library: str,
    any_list_of: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a library's type for a text such as ``"int16[2][4]"``.

    Parameters
    ----------
    dtype : str
        As `Subject.make_arrow` takes it.
    names : mapping
        Name without lists -> type of the library.
    list_of : callable
        ``list_of(type, size)`` -> the type of lists of that size.
    library : str
        Name of the library, for errors.
    any_list_of : callable, optional
        ``any_list_of(type)`` -> the type of lists of any length.

    Examples
    --------
    >>> type_of("int8[2][3]", {"int8": "i1"}, lambda one, size: f"{size} x {one}", "mylib")
    '2 x 3 x i1'
    """
    name = dtype.partition("[")[0]
    if name.startswith("list(") and any_list_of is not None:
        names = {name: any_list_of(type_of(name[5:-1], names, list_of, library))}
    if name not in names:
        raise CannotMakeError(f"{library} has no {name}")
    found = names[name]
    for size in reversed(_SIZED.findall(dtype)):
        found = list_of(found, int(size))
    return found


def parts_of(values: Sequence[Any], chunks: int) -> list[Sequence[Any]]:
    """Return values, divided into a number of parts.

    Examples
    --------
    >>> parts_of([1, 2, 3], 2)
    [[1, 2], [3]]
    """
    step = max(1, -(-len(values) // chunks))
    return [values[place : place + step] for place in range(0, len(values), step)] or [values]


def of_a_table(rows: list[Any]) -> list[Any]:
    """Return elements; for a table of one column, those of the column.

    Examples
    --------
    >>> of_a_table([{"x": 1}, {"x": 2}])
    [1, 2]
    """
    if any(isinstance(row, dict) for row in rows):
        return [None if row is None else next(iter(row.values())) for row in rows]
    return rows
