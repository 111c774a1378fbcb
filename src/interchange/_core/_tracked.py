"""An ndarray whose reference to the owner of its memory the garbage collector sees.

Source: NumPy, Subclassing ndarray; CPython, object life cycle.  This module imports NumPy, and is
itself imported when an ndarray is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    _Base = np.ndarray[Any, Any]
else:
    _Base = np.ndarray


class TrackedArray(_Base):
    """The base of plain ndarrays, whose own reference to their base the collector does not see."""

    __slots__ = ("keep",)

    keep: Any  # keeps the memory alive

    def __array_finalize__(self, source: Any) -> None:
        """Take over `keep` of the ndarray that this one is made from."""
        self.keep = getattr(source, "keep", None)

    @property
    def base(self) -> Any:
        """The owner of the memory, unlike the ndarray below."""
        return None if super().base is None else self.keep


def track(array: Any, keep: object) -> Any:
    """Return a tracked ndarray over the memory of another, which itself keeps nothing alive.

    There are two views, since the base of a plain view is the first plain ndarray below it, which
    must be one that keeps the memory alive.
    """
    found = array.view(TrackedArray).view(TrackedArray)
    found.keep = keep
    return found
