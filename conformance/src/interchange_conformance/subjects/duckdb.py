"""DuckDB: results of queries, exported as Arrow streams, and queries on foreign columns.

Source: https://duckdb.org/docs/stable/guides/python/export_arrow
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._arrow import type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES: Final = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOLEAN", "string": "VARCHAR",
    "timestamp_us": "TIMESTAMP", "date32": "DATE",
}  # fmt: skip


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return the result of a query, a table of one column; DuckDB determines offset and chunks."""
    if start or chunks > 1:
        raise CannotMakeError("DuckDB cuts a result as it likes")

    import duckdb

    kind = type_of(dtype, _NAMES, lambda one, size: f"{one}[{size}]", "DuckDB", "{}[]".format)
    query = f"SELECT unnest(CAST(? AS {kind}[])) AS x"
    return duckdb.connect().sql(query, params=[list(values)])


def take_arrow(x: Any) -> Any:
    """Query a column, and keep the result."""
    import duckdb

    return duckdb.connect().from_arrow(x).fetchall()


def read_arrow(y: Any) -> list[Any]:
    """Return the elements of the column, arrays as lists."""
    return [_listed(row[0]) for row in y]


def _listed(value: Any) -> Any:
    """Return arrays, which are tuples, as lists, and structs of one column as its value."""
    if isinstance(value, tuple | list):
        return [_listed(one) for one in value]
    return value


subject: Subject = Subject(
    "DuckDB",
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="duckdb",
    preload=("duckdb",),
)
