"""An ndarray that the collector tracks: it sees what keeps the memory alive.

Source: NumPy, Subclassing ndarray; CPython, object life cycle.  NumPy is imported here, and so this
module only when an ndarray is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    _Base = np.ndarray[Any, Any]
else:
    _Base = np.ndarray


class TrackedArray(_Base):
    """Stands between memory and the plain ndarrays that are made over it, which hide their base.

    Attributes
    ----------
    keep : object
        What keeps the memory alive.
    """

    __slots__ = ("keep",)

    keep: Any

    def __array_finalize__(self, source: Any) -> None:
        """Keep alive what the ndarray does that this one is made from."""
        self.keep = getattr(source, "keep", None)

    @property
    def base(self) -> Any:
        """What keeps the memory alive: the ndarray below, NumPy's own answer, does not."""
        return None if super().base is None else self.keep


def track(array: Any, keep: object) -> Any:
    """Return a tracked ndarray over the memory of another, which keeps nothing alive itself.

    Twice, since NumPy takes for the base of a plain view the first plain ndarray below it: that
    must not be one which keeps nothing.
    """
    found = array.view(TrackedArray).view(TrackedArray)
    found.keep = keep
    return found
