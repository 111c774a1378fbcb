"""Numbers, and lists of them: what has no memory of elements, and the call that gives it one.

Source: array API standard 2025.12, ``asarray``, which takes them; interchange's shares memory.
"""

from __future__ import annotations

from typing import Any

from interchange._types.errors import show
from interchange._types.layout import MOST_AXES


def way_to_array(x: Any) -> str | None:
    """Return the way out for Python's numbers and lists, None for whatever holds no numbers.

    Examples
    --------
    >>> way_to_array([1, 2])
    'write interchange.xp.asarray([1, 2]), which makes a new array'
    >>> way_to_array("text") is None
    True
    """
    if isinstance(x, range):
        return "write interchange.xp.asarray(list(x)), which makes a new array"
    leaf = x
    for _ in range(MOST_AXES):  # a list may hold itself
        if not (isinstance(leaf, (list, tuple)) and leaf):
            break
        leaf = leaf[0]
    else:
        return None
    if not isinstance(leaf, (int, float, complex, list, tuple)):
        return None
    text = show(x)
    shown = "x" if text.endswith("...") else text
    return f"write interchange.xp.asarray({shown}), which makes a new array"
