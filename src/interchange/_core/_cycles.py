"""Who may refer back to an Array: what the collector of cyclic garbage must be able to see.

Source: CPython, ``gc.is_tracked``.  What it does not track it cannot see through, so that nothing
is lost by hiding that, too.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

_LATER: Final = frozenset({dict, tuple})
"""Types of objects that the collector tracks or not by what they hold at the time."""


def may_refer_back(keep: object) -> bool:
    """Whether what keeps memory alive may be in a cycle that the collector can find.

    Examples
    --------
    >>> class Owner:
    ...     pass
    >>> may_refer_back(Owner()), may_refer_back(memoryview(b"abc"))
    (True, False)
    """
    if type(keep) is memoryview:  # tracked itself, and seen through
        keep = keep.obj
    if type(keep) is ctypes.py_object:  # holds a capsule, whose memory nobody sees
        return False
    return type(keep) in _LATER or gc.is_tracked(keep)
