"""The behaviour of nanoarrow 0.9.0, without the checks.

Source: https://arrow.apache.org/nanoarrow/latest/reference/python/
"""

from __future__ import annotations

from typing import Final

import nanoarrow as na

ENDS: Final[dict[str, str]] = {}


def null_counts_are_right() -> None:
    """A slice reports the null count of the whole array."""
    whole = na.c_array([None, 1, None, 3], na.int32())
    part = whole[1:]
    values = na.Array(part).to_pylist()
    assert values == [1, None, 3]
    assert (part.null_count, values.count(None)) == (2, 1)
