"""Products of matrices and vectors; the extension ``linalg`` has the rest.

Source: array API standard 2025.12, Linear Algebra Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._calls import apply, apply_all, fast, plain
from ._documentation import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._array import Array


@fast(2)
@document
def matmul(x1: Array, x2: Array, /) -> Array:
    return apply_all("matmul", (x1, x2))


@document
def matrix_transpose(x: Array, /) -> Array:
    return apply("matrix_transpose", x)


@document
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    return apply_all("tensordot", (x1, x2), axes=plain(axes))


@fast(2)
@document
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return apply_all("vecdot", (x1, x2), axis=plain(axis))
