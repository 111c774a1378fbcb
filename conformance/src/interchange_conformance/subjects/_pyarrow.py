"""Types and chunks of pyarrow, for the descriptions of libraries that use it.

Source: https://arrow.apache.org/docs/python/data.html
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ._arrow import parts_of, type_of
from ._common import REAL

if TYPE_CHECKING:
    from collections.abc import Sequence

PRELOAD: Final = ("pyarrow", "numpy.ma", *(["pandas"] if find_spec("pandas") else []))
"""Modules that pyarrow would otherwise import in each child."""


def pyarrow_type(dtype: str) -> Any:
    """Return a pyarrow type."""
    import pyarrow as pa

    names: dict[str, Any] = {name: getattr(pa, name)() for name in REAL}
    names |= {"bool": pa.bool_(), "string": pa.string(), "date32": pa.date32()}
    names |= {"timestamp_us": pa.timestamp("us"), "timestamp_us_utc": pa.timestamp("us", "UTC")}
    names |= {"duration_us": pa.duration("us")}
    return type_of(dtype, names, pa.list_, "pyarrow", pa.list_)


def chunked_array(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return a chunked array of pyarrow, from a given element on."""
    import pyarrow as pa

    kind = pyarrow_type(dtype)
    parts = [pa.array(part, kind) for part in parts_of(values, chunks)]
    return pa.chunked_array(parts, kind)[start:]
