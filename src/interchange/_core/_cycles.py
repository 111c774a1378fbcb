"""Objects that may be part of a reference cycle with an Array.

Source: CPython, ``gc.is_tracked``.
"""

from __future__ import annotations

import gc
from typing import Final

_LATER: Final = frozenset({dict, tuple})
"""Types whose objects the collector tracks depending on their items."""


def may_refer_back(keep: object) -> bool:
    """Whether an object that keeps memory alive may be in a cycle that the collector can find.

    Examples
    --------
    >>> class Owner:
    ...     pass
    >>> may_refer_back(Owner()), may_refer_back(memoryview(b"abc"))
    (True, False)
    """
    if type(keep) is memoryview:  # its own references are visited
        keep = keep.obj
    return type(keep) in _LATER or gc.is_tracked(keep)
