"""pandas: series with Arrow memory, exported as Arrow streams.

Source: https://pandas.pydata.org/docs/user_guide/pyarrow.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import NotApplicable
from interchange_conformance.subject import Subject

from ._arrow import of_a_table
from ._pyarrow import chunked_array

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_arrow(values: Sequence[Any], dtype: str, start: int, chunks: int) -> Any:
    """Return a series."""
    import pandas as pd

    array = chunked_array(values, dtype, start, chunks)
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


def take_arrow(x: Any) -> Any:
    """Import as a series."""
    import pandas as pd

    if not hasattr(pd.Series, "from_arrow"):
        raise NotApplicable("this release of pandas takes nothing by Arrow's methods")
    return pd.Series.from_arrow(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements."""
    return of_a_table([_plain(one) for one in y.to_list()])


def _plain(value: Any) -> Any:
    """Return nulls as None, and arrays as lists."""
    import pandas as pd

    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if pd.isna(value) else value


subject: Subject = Subject(
    "pandas",
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="pandas",
    preload=("pandas", "pyarrow"),
)
