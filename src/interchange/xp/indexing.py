"""Functions that select elements by arrays of indices.

Source: array API standard 2025.12, Indexing Functions.
"""

from __future__ import annotations

from interchange._array import Array
from interchange._array.native_arrays import wrap
from interchange._array.operands import array_of
from interchange._types.errors import ViewError

from ._calls import natives_of, plain
from ._documentation import document


@document
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    if axis is None and array_of(x, Array, "xp.take()").ndim > 1:
        what = f"an array of {x.ndim} axes and none is named"
        raise ViewError("xp.take()", what, "IX-XP-7", "pass `axis=0` or another")
    return _pick("take", x, indices, axis)


@document
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    return _pick("take_along_axis", x, indices, axis)


def _pick(name: str, x: Array, indices: Array, axis: int | None) -> Array:
    """Return the elements at these indices."""
    backend, natives = natives_of(name, (x, indices))
    return wrap(backend.function(name)(*natives, axis=plain(axis)), backend, type(x))
