"""Functions that pick elements by arrays of indices.

Source: array API standard 2025.12, Indexing Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interchange._array.halves import wrap

from ._calls import natives_of, plain
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array


@document
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    return _pick("take", x, indices, axis)


@document
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    return _pick("take_along_axis", x, indices, axis)


def _pick(name: str, x: Array, indices: Array, axis: int | None) -> Array:
    """Return the elements at these indices."""
    backend, natives = natives_of(name, (x, indices))
    return wrap(backend.function(name)(*natives, axis=plain(axis)), backend, type(x))
