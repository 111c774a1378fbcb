"""Polars: series, exported as Arrow streams.

Source: https://docs.pola.rs/user-guide/misc/arrow/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

from ._arrow import of_a_table, parts_of, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES: Final = {
    "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "uint8": "UInt8",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Float16",
    "float32": "Float32", "float64": "Float64", "bool": "Boolean", "string": "String",
}  # fmt: skip


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return a series."""
    import polars as pl

    names: dict[str, Any] = {
        name: getattr(pl, there) for name, there in _NAMES.items() if hasattr(pl, there)
    }
    names |= {"timestamp_us": pl.Datetime("us"), "timestamp_us_utc": pl.Datetime("us", "UTC")}
    names |= {"date32": pl.Date(), "duration_us": pl.Duration("us")}
    kind = type_of(dtype, names, pl.Array, "polars", pl.List)
    parts = [pl.Series("x", part, kind) for part in parts_of(values, chunks)]
    found = pl.concat(parts, rechunk=False) if len(parts) > 1 else parts[0]
    if found.n_chunks() != len(parts):
        raise CannotMakeError(f"polars put {len(parts)} chunks into {found.n_chunks()}")
    return found[start:]


def take_arrow(x: Any) -> Any:
    """Import as a series; a table becomes a series of structs."""
    import polars as pl

    return pl.Series(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements."""
    return of_a_table(y.to_list())


subject: Subject = Subject(
    "polars",
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="polars",
    preload=("polars",),
)
