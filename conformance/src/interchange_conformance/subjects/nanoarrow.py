"""nanoarrow: arrays that expose the C structs.

Source: https://arrow.apache.org/nanoarrow/latest/getting-started/python.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._arrow import of_a_table, parts_of, type_of
from ._common import REAL

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return an array of numbers or strings; nanoarrow does not make lists from Python objects."""
    import nanoarrow as na

    if "[" in dtype:
        raise CannotMakeError("nanoarrow makes no lists of Python's lists")
    names = {name: getattr(na, name)() for name in REAL}
    kind = type_of(dtype, {**names, "bool": na.bool_(), "string": na.string()}, min, "nanoarrow")
    parts = [na.c_array(list(part), kind) for part in parts_of(values, chunks)]
    parts[0] = parts[0][start:]
    return na.Array.from_chunks(parts)


def take_arrow(x: Any) -> Any:
    """Import as an array."""
    import nanoarrow as na

    return na.Array(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements."""
    return of_a_table(y.to_pylist())


subject: Subject = Subject(
    "nanoarrow",
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="nanoarrow",
    preload=("nanoarrow",),
)
