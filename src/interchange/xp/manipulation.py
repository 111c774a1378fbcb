"""Functions that change shapes, join, split and cast.

Source: array API standard 2025.12, Manipulation Functions; Data Type Functions (``astype``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import Array
from interchange._array.arguments import check_ints, resolve_shape
from interchange._array.native_arrays import computing_with, wrap
from interchange._array.operands import array_of, foreign, is_foreign
from interchange._protocols.dlpack import check_copy
from interchange._types.errors import ArgumentError, ViewError, show

from ._calls import apply, apply_many, dtype_of, element, natives_of, plain
from ._documentation import document

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPLEX = "complex floating"
_REFUSALS = (ValueError, RuntimeError)
"""Errors of libraries that join arrays of different shapes."""


@document
def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    call = "xp.astype()"
    x, wanted = array_of(x, Array, call), dtype_of(dtype, call)
    if device is not None:
        x = x.to_device(device)
    if x.dtype is wanted:
        return x.copy() if copy else x
    if x.dtype.category == _COMPLEX and wanted.category not in {_COMPLEX, "bool"}:
        what = f"elements are {x.dtype}, wanted {wanted}"
        raise ArgumentError(call, what, "IX-XP-7", "take `xp.real(x)` or `xp.abs(x)` first")
    backend, native = computing_with(x)
    cast = backend.function("astype")(native, element(wanted, backend, "astype"))
    return wrap(cast, backend, Array)


@document
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    return apply_many("broadcast_arrays", arrays) if arrays else ()


@document
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    call = "xp.broadcast_shapes()"
    checked = [check_ints(shape, "shape", call) for shape in shapes]
    ndim = max(map(len, checked), default=0)
    found = [1] * ndim
    for shape in checked:
        for axis, extent in enumerate(shape, ndim - len(shape)):
            if extent < 0:
                raise ViewError(call, f"shape {shape}", "IX-XP-7", "pass extents from 0 on")
            if extent != 1 and found[axis] not in {1, extent}:
                what = f"shapes {', '.join(map(str, shapes))}"
                raise ViewError(call, what, "IX-XP-7", "pass shapes that spread to one")
            found[axis] = found[axis] if extent == 1 else extent
    return tuple(found)


@document
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    return apply("broadcast_to", x, plain(shape))


@document
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    backend, natives = natives_of("concat", arrays)
    try:
        found = backend.function("concat")(natives, axis=plain(axis))
    except _REFUSALS as error:
        from ._refusals import explain_joined  # for an error only

        explain_joined(error, "concat", arrays)
        raise
    return wrap(found, backend, Array)


@document
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    return apply("expand_dims", x, axis=plain(axis))


@document
def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    return apply("flip", x, axis=plain(axis))


@document
def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    return apply("moveaxis", x, plain(source), plain(destination))


@document
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    return apply("permute_dims", x, plain(axes))


@document
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    count = repeats if type(repeats) is Array else plain(repeats)
    if type(count) is not Array and is_foreign(count):
        raise foreign("xp.repeat()", count)
    if type(count) is not Array and type(count) is not int:
        what = f"repeats={show(repeats)}"
        raise ArgumentError("xp.repeat()", what, "IX-XP-7", "pass an int or an Array of ints")
    backend, natives = natives_of("repeat", (array_of(x, Array, "xp.repeat()"), count))
    return wrap(backend.function("repeat")(*natives, axis=plain(axis)), backend, Array)


@document
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    call = "xp.reshape()"
    check_copy(copy, call)
    wanted = resolve_shape(shape, array_of(x, Array, call).size, call)
    return apply("reshape", x, wanted, copy=copy)


@document
def roll(
    x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
) -> Array:
    return apply("roll", x, plain(shift), axis=plain(axis))


@document
def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    return apply("squeeze", x, axis=plain(axis))


@document
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    backend, natives = natives_of("stack", arrays)
    try:
        found = backend.function("stack")(natives, axis=plain(axis))
    except _REFUSALS as error:
        from ._refusals import explain_joined  # for an error only

        explain_joined(error, "stack", arrays)
        raise
    return wrap(found, backend, Array)


@document
def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    return apply("tile", x, plain(repetitions))


@document
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return apply_many("unstack", (x,), axis=plain(axis))
