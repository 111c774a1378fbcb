"""Errors of a computing library about the shape of an Array, as errors of the namespace.

Source: array API standard 2025.12, the functions' parameters.  The errors of libraries name neither
the shape nor a fix; others than these are raised as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import AxesError, CopyNeededError, ViewError, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._array import Array

_WITHOUT_IDENTITY: Final = frozenset({"max", "min", "argmax", "argmin"})
_TWO_AXES: Final = 2
_MADE_COLUMN: Final = "make a column first, `x[:, None]`"
_MADE_AXIS: Final = "give it an axis first, `x[None]`"


def explain(error: Exception, name: str, x: Array, keywords: dict[str, Any]) -> None:
    """Raise a clearer error for one that the library raised for `x`, if there is one."""
    call, shape, axis = f"xp.{name}()", x.shape, keywords.get("axis")
    if name in _WITHOUT_IDENTITY and _is_empty(shape, axis):
        what = f"axis={show(axis)} of an array of shape {shape}, which has no elements there"
        raise ViewError(call, what, "IX-XP-7", _with_elements(shape)) from error
    if name == "matrix_transpose" and len(shape) < _TWO_AXES:
        hint = _MADE_COLUMN if shape else "leave it out: one element has no transpose"
        raise AxesError(call, f"an array of shape {shape}", "IX-AXES-1", hint) from error
    if name == "unstack" and not shape:
        raise ViewError(call, f"an array of shape {shape}", "IX-XP-7", _MADE_AXIS) from error
    if name == "squeeze" and "one" in str(error):
        ones = tuple(place for place, extent in enumerate(shape) if extent == 1)
        what = f"axis={show(axis)} of an array of shape {shape}"
        raise ViewError(
            call, what, "IX-XP-7", f"name axes of length 1 only, `axis={ones}`"
        ) from error
    if name == "reshape" and keywords.get("copy") is False:
        what = f"shape {shape} with strides {x.strides} needs a copy for another shape"
        raise CopyNeededError(call, what, "DLP-COPY-1") from error


def _is_empty(shape: tuple[int, ...], axis: Any) -> bool:
    """Whether an array has no elements along these axes, all of which it has."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    exist = all(-len(shape) <= one < len(shape) for one in axes)
    return exist and any(not shape[one] for one in axes)


def _with_elements(shape: tuple[int, ...]) -> str:
    """Return the fix for a reduction over an axis without elements."""
    filled = [place for place, extent in enumerate(shape) if extent]
    if filled and len(filled) == len(shape) - 1:
        return f"check `x.size` first, or reduce over axes with elements, `axis={tuple(filled)}`"
    return "check `x.size` first"


def explain_joined(error: Exception, name: str, arrays: Sequence[Array]) -> None:
    """Raise a clearer error for one of joining arrays, if there is one."""
    shapes = [x.shape for x in arrays]
    if isinstance(error, IndexError) or len({*shapes}) == 1:
        return  # of the axis, or of the element types
    if name == "stack":
        raise ViewError(
            "xp.stack()", _shapes(shapes), "IX-XP-7", "pass arrays of one shape"
        ) from error
    hint = "pass arrays of one shape, but for the joined axis"
    raise ViewError("xp.concat()", _shapes(shapes), "IX-XP-7", hint) from error


def explain_ragged(error: Exception, obj: Any) -> None:
    """Raise a clearer error for nested sequences that make no array, if there is one."""
    shapes = [getattr(x, "shape", None) for x in obj] if isinstance(obj, (list, tuple)) else []
    if None not in shapes and len({*shapes}) > 1:
        hint = "pass arrays of one shape, or join them, `xp.concat(x)`"
        raise ViewError("xp.asarray()", _shapes(shapes), "IX-XP-7", hint) from error
    if "inhomogeneous" in str(error):
        what = f"{show(obj)} has rows of different lengths"
        raise ViewError("xp.asarray()", what, "IX-XP-7", "pass rows of one length") from error


def _shapes(shapes: list[Any]) -> str:
    """Return shapes as a phrase."""
    return f"arrays of the shapes {', '.join(map(str, shapes))}"
