"""Conversion of a column's type to dtype, axes of each element, and storage.

Source: Arrow columnar format, Fixed-Size List Layout; canonical extension types.
"""

from __future__ import annotations

import json
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._types.dtype_table import BY_NAME, FAMILIES
from interchange._types.dtypes import DType
from interchange._types.errors import UnsupportedDTypeError, show
from interchange._types.layout import MOST_AXES
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple
from interchange.abi.arrow_formats import ArrowFormat

from .types import LISTS, read_type

if TYPE_CHECKING:
    from .types import ColumnType

TENSOR: Final = "arrow.fixed_shape_tensor"
BOOL8: Final = "arrow.bool8"
FLOAT_PREFIX: Final = "interchange."
FLOATS: Final = frozenset(
    name
    for name, (code, bits) in BY_NAME.items()
    if bits in {8, 16} and FAMILIES[code].category == "real floating" and FAMILIES[code].ml_dtypes
)
"""Dtypes that are stored as fixed-size binary, in an extension type of the prefix and the name."""

VARIABLE_TENSOR: Final = "arrow.variable_shape_tensor"
_UNION: Final = "pass one of its children, since the elements have several types"
_FIXES: Final = {
    "null": "pass a column with elements: all of these are null",
    "dense_union": _UNION,
    "sparse_union": _UNION,
    "map": "pass its keys or its values, which are two columns",
    "run_end_encoded": "decode the runs first",
}
"""Name of a type without a fixed width -> the fix."""
_BINARY: Final = frozenset({"binary", "binary_view"})
RAGGED_KINDS: Final = LISTS | _BINARY
"""Kinds of columns that are values and offsets."""
_NO_TYPE: Final = "convert the elements to numbers first"
RAGGED: Final = "pass `ragged=True` for values and offsets"
"""The fix for lists of different lengths, and for text."""
_NESTED: Final = LISTS | {"fixed_size_list"}


class Elements(NamedTuple):
    """The element type of a column."""

    dtype: DType  # the dtype of the values
    # The lists around the values, and last the type of the values; before them a table of one
    # column.
    levels: tuple[ColumnType, ...]
    # Extents of the axes of one element, in memory order; -1 for those of lists [elements].
    shape: tuple[int, ...]
    order: tuple[int, ...]  # the position in memory of the first axis of the array, the second
    is_bits: bool  # whether the values are bools, eight in a byte

    def with_steps(self, steps: tuple[int, ...]) -> Elements:
        """Return the type with the lengths of its lists, which are read from a chunk."""
        if not steps:
            return self
        known = iter(steps)
        shape = tuple(next(known) if extent < 0 else extent for extent in self.shape)
        return self._replace(shape=shape)


def read_elements(column: ColumnType, *, storage: bool, tables: bool = True, call: str) -> Elements:
    """Return the element type of a column.

    `column`: the levels of the column's type.
    `storage`: whether integers with another meaning are accepted, and the storage of extensions.
    `tables`: whether a table of one column is accepted as that column, or refused.

    Raises UnsupportedDTypeError: the elements have no fixed width (ARROW-TYPE-1), or have another
        meaning (ARROW-TYPE-2).
    Raises BrokenRule: as `read_type`; or the metadata of a tensor are invalid (ARROW-TENSOR-1), or
        there are too many axes (DLP-SHAPE-1).
    """
    levels: list[ColumnType] = []
    shape: list[int] = []
    order: list[int] = []
    level = column
    while True:
        level = level if storage else _as_float(level)
        levels.append(level)
        axes, places = _axes_of(level, storage=storage, call=call)
        order += [len(shape) + place for place in places]
        shape += axes
        if len(shape) >= MOST_AXES:
            raise BrokenRule("DLP-SHAPE-1", f"lists have {len(shape)} levels and more")
        is_table = tables and level is column and level.format.kind == "struct"
        is_table = is_table and len(level.children) == 1
        if level.format.kind not in _NESTED and not is_table:
            break
        level = read_type(level.children[0])
    dtype = _dtype_of(level, storage=storage, call=call)
    is_bits = level.format.kind == "bool"
    return Elements(dtype, tuple(levels), tuple(shape), tuple(order), is_bits)


def _as_float(level: ColumnType) -> ColumnType:
    """Return the level of numbers for one of floats that are stored as fixed-size binary."""
    name = (level.extension or "").removeprefix(FLOAT_PREFIX)
    is_float = name in FLOATS and level.extension != name and level.format.kind == "bytes"
    if not is_float or level.format.size != _dtype_named(name).itemsize:
        return level
    return level._replace(format=ArrowFormat(name, "number", name), extension=None)


def _axes_of(level: ColumnType, *, storage: bool, call: str) -> tuple[list[int], list[int]]:
    """Return the axes that a level adds: their extents in memory, and their order in the array."""
    form = level.format
    if level.extension == TENSOR:
        return _tensor_axes(level)
    check_storage(level, storage=storage, call=call)
    if form.kind in LISTS:
        return [-1], [0]
    return ([form.size], [0]) if form.has_axis else ([], [])


def check_storage(level: ColumnType, *, storage: bool, call: str, ragged: bool = False) -> None:
    """Refuse integers with another meaning, unless the storage was requested.

    `ragged`: whether bytes of any length are storage, too.
    """
    stands = level.has_dictionary or level.format.kind in {"time", "decimal"}
    if level.extension == BOOL8:
        if level.format.stored != "int8":
            raise BrokenRule("ARROW-BOOL-1", f"{BOOL8} is stored as {level.format.name}")
    elif level.extension is not None:
        stands = True
    is_storage = level.format.stored is not None or len(level.children) == 1
    is_storage = is_storage or (ragged and level.format.kind in _BINARY)
    if stands and not storage and is_storage and level.format.kind not in {"other", "null"}:
        raise UnsupportedDTypeError(call, f"the elements are {level.title}", "ARROW-TYPE-2")


def _dtype_of(level: ColumnType, *, storage: bool, call: str) -> DType:
    """Return the dtype of a level of values."""
    form = level.format
    if form.stored is None:
        hint = _hint_for(level)
        raise UnsupportedDTypeError(call, f"the elements are {level.title}", "ARROW-TYPE-1", hint)
    return _dtype_named("bool" if level.extension == BOOL8 and not storage else form.stored)


@cache
def _dtype_named(name: str) -> DType:
    """Return the dtype with a name in a table of this project."""
    return DType.of(name)


def _hint_for(level: ColumnType) -> str:
    """Return the fix for elements without a fixed width."""
    if level.extension == VARIABLE_TENSOR:
        return "pass the tensors as a column, and not in lists of a fixed size"
    if level.format.kind == "struct":
        names = [read_type(child).name for child in level.children[:1]]
        return f"pass one field of it, such as {show(names[0])}" if names else _NO_TYPE
    found = _FIXES.get(level.format.name)
    return found or (RAGGED if level.format.kind in _BINARY else _NO_TYPE)


# ---------------------------------------------------------------- arrow.fixed_shape_tensor


def _tensor_axes(level: ColumnType) -> tuple[list[int], list[int]]:
    """Return the axes that a level of tensors adds, as `tensor_axes`."""
    if level.format.kind != "fixed_size_list":
        raise _no_tensor(level.parameters, level.format.name)
    return tensor_axes(level.parameters, level.format.size)


def tensor_axes(parameters: bytes, size: int) -> tuple[list[int], list[int]]:
    """Return the extents of a tensor in memory, and the order of its axes in the array.

    `parameters`: the parameters of the extension type.
    `size`: the number of elements of a list.

    Raises BrokenRule: they do not match (ARROW-TENSOR-1).
    """
    try:
        said = json.loads(parameters)
        shape = said["shape"]
        order = said.get("permutation")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _no_tensor(parameters, f"fixed_size_list[{size}]") from error
    order = list(range(len(shape))) if order is None and isinstance(shape, list) else order
    if not (_are_ints(shape) and _are_ints(order) and sorted(order) == list(range(len(shape)))):
        raise _no_tensor(parameters, f"fixed_size_list[{size}]")
    if prod(shape) != size:
        raise _no_tensor(parameters, f"fixed_size_list[{size}]")
    return shape, order


def _are_ints(found: Any) -> bool:
    """Whether a value is a list of non-negative ints."""
    if not isinstance(found, list):
        return False
    return all(type(one) is int and one >= 0 for one in found)


def _no_tensor(parameters: bytes, form: str) -> BrokenRule:
    """Return the error for invalid metadata of a tensor."""
    what = f"the metadata are {show(parameters)} for {form}"
    return BrokenRule("ARROW-TENSOR-1", what)
