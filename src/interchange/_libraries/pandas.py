"""pandas, whose columns may have missing elements.

Source: pandas, ``pandas.Series``, ``pandas.array``, extension types.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Deviation, Library


def _count_nulls(x: Any) -> int:
    """Return how many elements of pandas' own types are missing; NaN of floats is a number."""
    columns = getattr(x, "dtypes", None)
    if getattr(x, "ndim", 1) > 1 and columns is not None:
        return sum(_count_nulls(x.iloc[:, place]) for place in range(len(columns)))
    dtype = getattr(x, "dtype", None)
    if dtype is None or hasattr(dtype, "newbyteorder"):  # NumPy dtypes have no missing elements
        return 0
    return int(x.isna().sum())


def _prefers_array_method(x: Any) -> bool:
    """Whether elements are not Arrow's: pandas converts them for Arrow, NaN to null."""
    return not hasattr(getattr(x, "dtype", None), "pyarrow_dtype")


_DEVIATIONS: Final = (
    Deviation(
        "pandas",
        "2.3; 3 refuses",
        "__array__(copy=False) warns and copies, with NaN in the place of nulls",
        "AI-ARRAY-1",
        "asarray() asks twice, and refuses where the second answer lies elsewhere",
    ),
)

LIBRARY: Final = Library(
    "pandas",
    deviations=_DEVIATIONS,
    count_nulls=_count_nulls,
    array_method_may_copy=True,
    prefers_array_method=_prefers_array_method,
    instead_of_target="use `interchange.convert(x, 'numpy')`, whose result pandas.Series takes",
)
