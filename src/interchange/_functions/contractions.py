"""Contractions of Arrays for opt_einsum and einops, which find libraries in tables of their own.

Source: opt_einsum, "Backends & GPU Support"; einops, ``einops._backends``; NumPy,
``numpy.einsum``.  The array API standard has no ``einsum``: that of the backend computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array
from interchange._array.native_arrays import computing_with, finish, wrap
from interchange._array.operands import backend_for, operand

from .importing import asarray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CALL: Final = "einsum()"


def einsum(pattern: str, *operands: Any) -> Array:
    """Return the contraction of arrays; an array of another library is imported first."""
    arrays = [asarray(x) for x in operands]
    if len(arrays) == 1:
        backend, native = computing_with(arrays[0])
        result = backend.function("einsum")(pattern, native)
        return finish("permute_dims", result, backend, arrays[0])  # it may be a view, too
    backend = backend_for(arrays, Array, _CALL)
    natives = [operand(x, backend, Array, _CALL) for x in arrays]
    return wrap(backend.function("einsum")(pattern, *natives), backend, Array)


def tensordot(x: Any, y: Any, axes: Any = 2) -> Array:
    """Return the contraction of two arrays, as ``interchange.xp.tensordot`` does."""
    one, other = asarray(x), asarray(y)
    found: Array = one.__array_namespace__().tensordot(one, other, axes=axes)
    return found


def transpose(x: Array, axes: Sequence[int]) -> Array:
    """Return a view with the axes in another order."""
    return x.permute_dims(tuple(axes))


# ---------------------------------------------------------------- tables of the libraries


class _Functions:
    """The functions of einops for Arrays: methods of its backend."""

    framework_name = __name__.partition(".")[0]

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether einops is to call this backend."""
        return type(tensor) is Array

    def from_numpy(self, x: Any) -> Array:
        """Return an Array over an ndarray."""
        return asarray(x)

    def to_numpy(self, x: Array) -> Any:
        """Return an ndarray over an Array."""
        return x.__array__()

    def reshape(self, x: Array, shape: Sequence[int]) -> Any:
        """Return the elements under another shape."""
        return x.__array_namespace__().reshape(x, tuple(shape))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        """Return a view with the axes in another order."""
        return transpose(x, axes)

    def reduce(self, x: Array, operation: str, axes: Sequence[int]) -> Any:
        """Return the reduction of some axes."""
        return getattr(x.__array_namespace__(), operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: Sequence[Array]) -> Any:
        """Return Arrays joined along a new first axis."""
        return tensors[0].__array_namespace__().stack(tensors)

    def add_axis(self, x: Array, new_position: int) -> Any:
        """Return an Array with an axis of one element."""
        return x.__array_namespace__().expand_dims(x, axis=new_position)

    def tile(self, x: Array, repeats: Sequence[int]) -> Any:
        """Return an Array repeated along its axes."""
        return x.__array_namespace__().tile(x, tuple(repeats))

    def concat(self, tensors: Sequence[Array], axis: int) -> Any:
        """Return Arrays joined along an axis."""
        return tensors[0].__array_namespace__().concat(tensors, axis=axis)

    def is_float_type(self, x: Array) -> bool:
        """Whether a mean of the elements is defined."""
        return x.dtype.category in {"real floating", "complex floating"}

    def einsum(self, pattern: str, *x: Any) -> Array:
        """Return the contraction of arrays."""
        return einsum(pattern, *x)


def _tell_einops(module: Any) -> None:
    """Define a backend, which einops finds among the subclasses of its base class."""
    bases = (_Functions, module.AbstractBackend)
    module.ArrayBackend = type("ArrayBackend", bases, {})  # einops keeps no reference


def _tell_opt_einsum(module: Any) -> None:
    """Let opt_einsum look its functions up here, and not in the package that types name."""
    module._aliases[_Functions.framework_name] = __name__


TELL: Final[dict[str, Callable[[Any], None]]] = {
    "opt_einsum.backends.dispatch": _tell_opt_einsum,
    "einops._backends": _tell_einops,
}
"""Module of a library -> the function that registers Array with it."""
