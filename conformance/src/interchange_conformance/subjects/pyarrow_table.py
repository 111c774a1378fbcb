"""Apache Arrow's tables, whose columns are chunked arrays.

Source: https://arrow.apache.org/docs/python/data.html#tables
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.subject import Subject

from ._arrow import of_a_table
from ._pyarrow import PRELOAD, chunked_array

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return a table of one column."""
    import pyarrow as pa

    return pa.table({"x": chunked_array(values, dtype, start, chunks)})


def take_arrow(x: Any) -> Any:
    """Import as a table."""
    import pyarrow as pa

    return pa.table(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements of its column."""
    return of_a_table(y.to_pylist())


subject: Subject = Subject(
    "pyarrow.Table",
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="pyarrow",
    preload=PRELOAD,
)
