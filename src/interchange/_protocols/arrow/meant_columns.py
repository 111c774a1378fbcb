"""Arrays as columns of the type that a `Meaning` states.

Source: Arrow columnar format; The Arrow C data interface, Dictionary-encoded arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._types.errors import UnsupportedDTypeError, ViewError
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ArrowColumn
from interchange.abi.arrow_formats import parse_format

from .elements import BOOL8
from .exporting import check_memory, is_dense, not_contiguous_error
from .representations import KeptField

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange._core import Tensor
    from interchange.abi.arrow import ArrowField

    from .meaning import Meaning

_BYTES: Final = frozenset({"bool", "int8"})  # dtypes whose elements are the same bytes in bool8
_VIEWS: Final = {"+vl": "+l", "+vL": "+L"}
"""Format of views of lists -> that of lists, as which they are exported."""


class MeantColumn(NamedTuple):
    """The column of an array with a meaning."""

    field: ArrowField  # the type of the memory as it is: bytes for bits, lists of one length
    target: ArrowField  # the type of the meaning
    memory: ArrowColumn
    shape: tuple[int, ...]  # the shape of the array, without an axis of words or bytes
    order: tuple[int, ...]  # the axes after the first in the order of memory


def meant_column(tensor: Tensor, meaning: Meaning, call: str) -> MeantColumn:
    """Return the column of an array as the type of a meaning.

    Raises UnsupportedDTypeError: the dtype is not that of the storage (ARROW-OUT-10).
    Raises ViewError: nor are the axes, or categories are missing or elsewhere (ARROW-OUT-10).
    Raises CopyNeededError, UnsupportedDeviceError: as `field_of`.
    """
    check_memory(tensor, call)
    _check_fit(tensor, meaning, call)
    elements, layout = meaning._elements, tensor._spec.layout
    order = [elements.order.index(place) for place in range(len(elements.shape))]
    if not is_dense(layout, order):
        raise not_contiguous_error(layout, call)
    in_memory = [layout.shape[1 + axis] for axis in order]
    steps = (found for due, found in zip(elements.shape, in_memory, strict=True) if due < 0)
    rows = layout.shape[0]
    field, memory = _as_stored(tensor.ptr, meaning._field, rows, steps, meaning)
    has_axis = parse_format(meaning._values.format).has_axis
    shape = layout.shape[:-1] if has_axis else layout.shape
    axes = tuple(axis + 1 for axis in order if axis + 1 < len(shape))
    return MeantColumn(field, _target(meaning._field, meaning), memory, shape, axes)


def _check_fit(tensor: Tensor, meaning: Meaning, call: str) -> None:
    """Refuse an array that is not the storage of a type."""
    elements, spec = meaning._elements, tensor._spec
    given, due = str(spec.dtype), str(elements.dtype)
    if given != due and not (meaning.extension == BOOL8 and given in _BYTES):
        what = f"the array is {given}, and {meaning.type} is stored as {due}"
        raise UnsupportedDTypeError(call, what, "ARROW-OUT-10")
    wanted = tuple(elements.shape[place] for place in elements.order)
    fits = len(spec.shape) == len(wanted) + 1 and all(
        extent in {-1, found} for extent, found in zip(wanted, spec.shape[1:], strict=True)
    )
    if not fits:
        axes = "".join(", any" if extent < 0 else f", {extent}" for extent in wanted)
        what = f"the array has shape {spec.shape}, and {meaning.type} needs (n{axes or ','})"
        raise ViewError(call, what, "ARROW-OUT-10")
    if meaning._values.dictionary is None:
        return
    if meaning.categories is None:
        raise ViewError(call, "the meaning of a dictionary type has no categories", "ARROW-OUT-10")
    if meaning.categories._device is not spec.device:
        what = f"indices are on {spec.device}, and their categories on {meaning.categories._device}"
        raise ViewError(call, what, "ARROW-OUT-10")


def _as_stored(
    ptr: int, field: ArrowField, length: int, steps: Iterator[int], meaning: Meaning
) -> tuple[ArrowField, ArrowColumn]:
    """Return type and memory of one level and of those below, as they are in the array.

    `steps`: the lengths of the lists whose type does not state it.
    """
    form = parse_format(field.format)
    if not field.children:
        categories = meaning.categories
        values = None if categories is None else categories._column
        bools = field._replace(format="c") if form.kind == "bool" else field
        return bools, ArrowColumn(length, buffers=(0, ptr), dictionary=values)
    size = form.size if form.kind == "fixed_size_list" else next(steps)
    child, below = _as_stored(ptr, field.children[0], length * size, steps, meaning)
    column = ArrowColumn(length, buffers=(0,), children=(below,))
    return field._replace(format=f"+w:{size}", children=(child,)), column


def _target(field: ArrowField, meaning: Meaning) -> ArrowField:
    """Return the type of a meaning, with lists in place of views, and bytes of bools kept."""
    if not field.children:
        return KeptField(*field) if meaning.extension == BOOL8 else field
    children = (_target(field.children[0], meaning),)
    return field._replace(format=_VIEWS.get(field.format, field.format), children=children)
