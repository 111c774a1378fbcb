"""The extension ``linalg``.

Source: array API standard 2025.12, Linear Algebra Extension.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from interchange._array import Array
from interchange._array.native_arrays import backend_of_array
from interchange._array.operands import array_of, operand
from interchange._types.errors import ViewError

from ._calls import apply, apply_all, apply_many, plain, typed
from ._documentation import document
from .linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


@document
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    return apply("linalg.cholesky", x, upper=upper)


@document
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    if any(type(x) is Array and not x.ndim for x in (x1, x2)):
        what = "an array of 0 axes"
        raise ViewError("xp.linalg.cross()", what, "IX-XP-7", "pass arrays of vectors")
    return apply_all("linalg.cross", (x1, x2), axis=plain(axis))


@document
def det(x: Array, /) -> Array:
    return apply("linalg.det", x)


@document
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    return apply("linalg.diagonal", x, offset=plain(offset))


@document
def eig(x: Array, /) -> EigResult:
    return EigResult(*apply_many("linalg.eig", (x,)))


@document
def eigh(x: Array, /) -> EighResult:
    return EighResult(*apply_many("linalg.eigh", (x,)))


@document
def eigvals(x: Array, /) -> Array:
    return apply("linalg.eigvals", x)


@document
def eigvalsh(x: Array, /) -> Array:
    return apply("linalg.eigvalsh", x)


@document
def inv(x: Array, /) -> Array:
    return apply("linalg.inv", x)


@document
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:  # noqa: A002 - the standard's word
    return apply("linalg.matrix_norm", x, keepdims=keepdims, ord=ord)


@document
def matrix_power(x: Array, n: int, /) -> Array:
    return apply("linalg.matrix_power", x, plain(n))


@document
def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    return apply("linalg.matrix_rank", x, rtol=_tolerance(rtol, x))


def _tolerance(rtol: Any, x: Array) -> Any:
    """Return a tolerance for the library: a number, or an array of them."""
    call = "xp.linalg"
    backend = backend_of_array(array_of(x, Array, call))
    return None if rtol is None else operand(rtol, backend, Array, call)


@document
def outer(x1: Array, x2: Array, /) -> Array:
    return apply_all("linalg.outer", (x1, x2))


@document
def pinv(x: Array, /, *, rtol: Any = None) -> Array:
    return apply("linalg.pinv", x, rtol=_tolerance(rtol, x))


@document
def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    return QRResult(*apply_many("linalg.qr", (x,), mode=mode))


@document
def slogdet(x: Array, /) -> SlogdetResult:
    return SlogdetResult(*apply_many("linalg.slogdet", (x,)))


@document
def solve(x1: Array, x2: Array, /) -> Array:
    return apply_all("linalg.solve", (x1, x2))


@document
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    return SVDResult(*apply_many("linalg.svd", (x,), full_matrices=full_matrices))


@document
def svdvals(x: Array, /) -> Array:
    return apply("linalg.svdvals", x)


@document
def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    wanted = typed(dtype, x, "linalg.trace")
    return apply("linalg.trace", x, offset=plain(offset), dtype=wanted)


@document
def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002 - the standard's word
) -> Array:
    return apply("linalg.vector_norm", x, axis=plain(axis), keepdims=keepdims, ord=ord)
