"""Elements, rows and slices of arrays: a view is a pointer, lengths and strides.

Source: CUDA Python Specification 0.2, "Array Operations"; NumPy, "Indexing on ndarrays".  Lengths
and strides of a view are computed where it is created, which copies nothing.
"""

from __future__ import annotations

import ast
import operator
from math import gcd
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import ir
from .context import Object, Values
from .memory import ALIGNMENT, dtype_of, folded
from .records import RecordType
from .types import ArrayType, bool_, intp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Context


class ViewMethod(NamedTuple):
    """The method ``view`` of an array."""

    array: ir.ArrayValue


class _Slice(NamedTuple):
    """A slice of an axis: its first and last index, None where they are left out; its step."""

    start: ir.Expression | None
    stop: ir.Expression | None
    step: int


_ALL: Final = _Slice(None, None, 1)
_ATTRIBUTES: Final = ("ndim", "shape", "strides", "size")
"""Attributes of arrays of records, whatever the names of their fields."""


def subscript(reader: Context, node: ast.Subscript, array: ir.ArrayValue) -> Any:
    """Return an element, or a view of a row or a slice."""
    name = field_name(node)
    if name is not None:
        return read(reader, node, field(reader, node, array, name))
    place, axes = _read_axes(reader, node, array)
    is_record = array.type.element.kind == "record"
    if not is_record and not any(isinstance(axis, _Slice) for axis in axes):
        if array.argument is not None:
            reader.program.reads.add(array.argument)
        return ir.Element(array, tuple(axes), place)  # type: ignore[arg-type]
    return _view(reader, array, axes, place)


def element(reader: Context, node: ast.Subscript, array: ir.ArrayValue) -> ir.Element:
    """Return an element that is stored to: an int for every axis, or a field of a record."""
    name = field_name(node)
    if name is not None:
        return whole(reader, node, field(reader, node, array, name))
    if array.type.element.kind == "record":
        reader.refuse(node, "a record is stored to", "CPY-RECORD-1", "store to each of its fields")
    place, axes = _read_axes(reader, node, array)
    if any(isinstance(axis, _Slice) for axis in axes):
        what = "several elements are stored at once"
        reader.refuse(node, what, "CPY-INDEX-1", "write a loop over its elements")
    return ir.Element(array, tuple(axes), place)  # type: ignore[arg-type]


# ---------------------------------------------------------------- records


def field_name(node: ast.Subscript) -> str | None:
    """Return the name of a field, as in ``x["name"]``, None for any other subscript."""
    found = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return found if isinstance(found, str) else None


def named(record: Values, name: str | None) -> Any:
    """Return a field of a record that is an argument."""
    return record.items[record.names.index(name or "")]


def field(reader: Context, node: ast.AST, array: ir.ArrayValue, name: str) -> ir.View:
    """Return one field of all records of an array."""
    type_ = array.type.element
    found = type_.fields.get(name) if isinstance(type_, RecordType) else None
    if found is None:
        reader.refuse(node, f"{type_} has no field {name}", "CPY-RECORD-1")
    axes = range(array.type.ndim)
    inner = ir.ArrayValue("", ArrayType(found.type, len(found.shape)), None, found.shape)
    first = array.first if isinstance(array, ir.View) else ir.Constant(intp, 0)
    of_records = [
        (reader.extent(array, axis), reader.extent(array, axis, is_stride=True)) for axis in axes
    ]
    of_field = [
        (ir.Constant(intp, length), ir.Constant(intp, step))
        for length, step in zip(inner.shape, inner.strides, strict=True)
    ]
    lengths, steps = (
        zip(*of_records, *of_field, strict=True) if of_records or of_field else ((), ())
    )
    return ir.View(
        array.name, ArrayType(found.type, len(lengths)), array.argument, space=array.space,
        base=array.base if isinstance(array, ir.View) else array,
        first=_kept(reader, of_ints("+", first, ir.Constant(intp, found.offset))),
        lengths=lengths, steps=steps, known_alignment=gcd(array.alignment, found.alignment),
    )  # fmt: skip


def is_field(array: ir.ArrayValue, name: str) -> bool:
    """Whether an attribute of an array is a field of its records, or no attribute of any array."""
    type_ = array.type.element
    is_own = name in _ATTRIBUTES or (name == "dtype" and name not in getattr(type_, "fields", ()))
    return is_record(array) and not is_own


def read(reader: Context, node: ast.AST, view: ir.View) -> Any:
    """Return the number in a field of one record; other views as they are."""
    return view if view.type.ndim or is_record(view) else whole(reader, node, view, is_read=True)


def is_record(array: ir.ArrayValue) -> bool:
    """Whether the elements of an array are records."""
    return array.type.element.kind == "record"


def whole(reader: Context, node: ast.AST, view: ir.View, *, is_read: bool = False) -> ir.Element:
    """Return the only element of an array without axes."""
    if view.type.ndim or is_record(view):
        what = "several numbers are stored to at once"
        reader.refuse(node, what, "CPY-INDEX-1", "store to each of them")
    if is_read and view.argument is not None:
        reader.program.reads.add(view.argument)
    return ir.Element(view, (), reader.place(node))


# ---------------------------------------------------------------- indices and slices


def _read_axes(
    reader: Context, node: ast.Subscript, array: ir.ArrayValue
) -> tuple[int, list[ir.Expression | _Slice]]:
    """Return the number of the position, and the index or the slice of each axis."""
    items = _items(reader, node, array)
    parts = [part for item in items for part in _parts(item)]
    numbers = iter(reader.numbers([part for part in parts if isinstance(part, ast.expr)]))
    found: list[ir.Expression | _Slice] = []
    for axis, item in enumerate(items):
        if isinstance(item, ast.Slice):
            start, stop = (
                None if part is None else _integer(reader, part, next(numbers))
                for part in (item.lower, item.upper)
            )
            found.append(_Slice(start, stop, _step(reader, item)))
            continue
        number = next(numbers) if isinstance(item, ast.expr) else item
        at = item if isinstance(item, ast.expr) else node.slice
        found.append(_from_end(reader, at, _integer(reader, at, number), array, axis))
    return reader.place(node), found


def _items(reader: Context, node: ast.Subscript, array: ir.ArrayValue) -> list[Any]:
    """Return what is written for each axis: an expression, a slice, or a number of a tuple."""
    key, ndim = node.slice, array.type.ndim
    items: list[Any] = list(key.elts) if isinstance(key, ast.Tuple) else [key]
    if isinstance(key, (ast.Name, ast.Attribute)):
        value = reader.value(key)
        if isinstance(value, Values):
            items = list(value.items)
        elif isinstance(value, Object) and isinstance(value.value, tuple):
            items = [reader.constant(key, each) for each in value.value]
    dots = [place for place, item in enumerate(items) if _is_ellipsis(item)]
    given = len(items) - len(dots)
    if len(dots) > 1 or given > ndim:
        what = f"{given} indices for an array of {ndim} axes"
        reader.refuse(node.slice, what, "CPY-INDEX-1")
    rest = [ast.Slice()] * (ndim - given)
    if dots:
        return [*items[: dots[0]], *rest, *items[dots[0] + 1 :]]
    return [*items, *rest]


def _is_ellipsis(item: Any) -> bool:
    """Whether ``...`` is written."""
    return isinstance(item, ast.Constant) and item.value is Ellipsis


def _parts(item: Any) -> list[Any]:
    """Return the numbers of an index or a slice."""
    if isinstance(item, ast.Slice):
        return [part for part in (item.lower, item.upper) if part is not None]
    return [item]


def _integer(reader: Context, node: ast.AST, number: ir.Expression) -> ir.Expression:
    """Return an index, which must be an int."""
    if not number.type.is_integer:
        reader.refuse(node, f"an index of {number.type}", "CPY-INDEX-2")
    if isinstance(number, ir.Constant):
        return ir.Constant(intp, number.value)
    negated = number.value if isinstance(number, ir.Unary) and number.operator == "-" else None
    if isinstance(negated, ir.Constant):
        return ir.Constant(intp, -negated.value)
    return reader.cast(number, intp)


def _step(reader: Context, item: ast.Slice) -> int:
    """Return the step of a slice, which is constant."""
    step = 1 if item.step is None else folded(reader, item.step)
    if type(step) is not int or not step:
        reader.refuse(item.step or item, "the step of a slice is not a constant", "CPY-INDEX-1")
    return step


def _from_end(
    reader: Context,
    node: ast.AST,
    index: ir.Expression,
    array: ir.ArrayValue,
    axis: int,
) -> ir.Expression:
    """Return an index; one that is written as a negative literal counts from the end."""
    if not isinstance(index, ir.Constant) or index.value >= 0:
        return index
    found = of_ints("+", reader.extent(array, axis), index)
    if isinstance(found, ir.Constant) and found.value < 0:
        what = f"the index {index.value} of an axis of length {found.value - index.value}"
        reader.refuse(node, what, "CPY-INDEX-3")
    return found


def _view(reader: Context, array: ir.ArrayValue, axes: Sequence[Any], place: int) -> ir.View:
    """Return a view of the elements that indices and slices select."""
    first: ir.Expression = array.first if isinstance(array, ir.View) else ir.Constant(intp, 0)
    lengths: list[ir.Expression] = []
    steps: list[ir.Expression] = []
    for axis, item in enumerate(axes):
        length, stride = reader.extent(array, axis), reader.extent(array, axis, is_stride=True)
        if isinstance(item, _Slice):
            start, count = _bounds(reader, item, length)
            lengths.append(count)
            steps.append(_kept(reader, of_ints("*", stride, ir.Constant(intp, item.step))))
        else:
            start = _kept(reader, item)
            reader.out.append(ir.Check(start, length, place))
        first = of_ints("+", first, of_ints("*", start, stride))
    is_row = _is_in_c_order(array, axes)
    return ir.View(
        array.name, ArrayType(array.type.element, len(lengths), in_c_order=is_row), array.argument,
        space=array.space, base=array.base if isinstance(array, ir.View) else array,
        first=_kept(reader, first), lengths=tuple(lengths), steps=tuple(steps),
        known_alignment=array.alignment,
    )  # fmt: skip


def _is_in_c_order(array: ir.ArrayValue, axes: Sequence[Any]) -> bool:
    """Whether the elements of a view are in C order: indices, then a slice, then whole axes."""
    rest = list(axes)
    while rest and not isinstance(rest[0], _Slice):
        rest.pop(0)
    is_one = not rest or rest[0].step == 1
    return array.type.in_c_order and is_one and all(item == _ALL for item in rest[1:])


def _bounds(
    reader: Context, item: _Slice, length: ir.Expression
) -> tuple[ir.Expression, ir.Expression]:
    """Return the first index of a slice, and its number of elements, as Python's `slice`."""
    if item == _ALL:
        return ir.Constant(intp, 0), length
    is_up = item.step > 0
    one, zero = ir.Constant(intp, 1), ir.Constant(intp, 0)
    lowest = zero if is_up else ir.Constant(intp, -1)
    highest = length if is_up else of_ints("-", length, one)
    start = _clamped(reader, item.start, length, lowest, highest, zero if is_up else highest)
    stop = _clamped(reader, item.stop, length, lowest, highest, highest if is_up else lowest)
    low, high = (start, stop) if is_up else (stop, start)
    size = ir.Constant(intp, abs(item.step))
    span = of_ints("+", of_ints("-", high, low), of_ints("-", size, one))
    return start, _kept(reader, _chosen(reader, ">", of_ints("//", span, size), zero))


def _clamped(
    reader: Context,
    bound: ir.Expression | None,
    length: ir.Expression,
    lowest: ir.Expression,
    highest: ir.Expression,
    default: ir.Expression,
) -> ir.Expression:
    """Return a bound of a slice, counted from the end if it is negative, and at most the length."""
    if bound is None:
        return _kept(reader, default)
    if not isinstance(bound, ir.Constant):
        bound = _kept(reader, bound)
        is_below = ir.Cast(intp, ir.Binary(bool_, "<", bound, ir.Constant(intp, 0)))
        bound = of_ints("+", bound, ir.Binary(intp, "*", is_below, length))
    elif bound.value < 0:
        bound = of_ints("+", bound, length)
    else:
        return _chosen(reader, "<", bound, highest)
    return _chosen(reader, "<", _chosen(reader, ">", bound, lowest), highest)


def _chosen(reader: Context, compare: str, a: ir.Expression, b: ir.Expression) -> ir.Expression:
    """Return the first of two ints if it compares so with the second, else the second."""
    if isinstance(a, ir.Constant) and isinstance(b, ir.Constant):
        return a if (a.value < b.value) == (compare == "<") else b
    a, b = _kept(reader, a), _kept(reader, b)
    is_first = ir.Cast(intp, ir.Binary(bool_, compare, a, b))
    difference = ir.Binary(intp, "*", is_first, ir.Binary(intp, "-", a, b))
    return _kept(reader, ir.Binary(intp, "+", b, difference))


def _kept(reader: Context, value: ir.Expression) -> ir.Expression:
    """Return a value that no later statement changes."""
    return value if isinstance(value, (ir.Constant, ir.Extent)) else reader.put(value)


def of_ints(name: str, a: ir.Expression, b: ir.Expression) -> ir.Expression:
    """Return an operation of two ints as wide as an address, computed here if possible."""
    if isinstance(a, ir.Constant) and isinstance(b, ir.Constant):
        act = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}
        return ir.Constant(intp, act[name](a.value, b.value))
    is_neutral = isinstance(b, ir.Constant) and b.value == (name in {"*", "//"})
    if is_neutral:
        return a
    if isinstance(a, ir.Constant) and a.value == 0 and name in {"+", "*"}:
        return b if name == "+" else a
    return ir.Binary(intp, name, a, b)


# ---------------------------------------------------------------- another element type


def viewed(reader: Context, node: ast.Call, array: ir.ArrayValue) -> ir.View:
    """Return an array whose bytes are read as another type."""
    target: Any = (
        dtype_of(reader, node.args[0]) if len(node.args) == 1 and not node.keywords else None
    )
    if target is None:
        reader.refuse(node, "view() takes a dtype", "CPY-CALL-1", "write x.view(cuda.int32)")
    last, size = array.type.ndim - 1, array.type.element.itemsize
    step = reader.extent(array, last, is_stride=True) if last >= 0 else None
    is_dense = array.type.in_c_order or (isinstance(step, ir.Constant) and step.value == size)
    if last < 0 or not is_dense:
        what = "view() of an array whose last axis has gaps"
        reader.refuse(node, what, "CPY-CALL-1", "view an array in C order")
    size_of = ir.Constant(intp, target.itemsize)
    count = of_ints("*", reader.extent(array, last), ir.Constant(intp, size))
    axes = range(last)
    first = array.first if isinstance(array, ir.View) else ir.Constant(intp, 0)
    known = gcd(ALIGNMENT, first.value) if isinstance(first, ir.Constant) else size
    known = known if array.argument is None else size
    return ir.View(
        array.name, ArrayType(target, last + 1, in_c_order=array.type.in_c_order), array.argument,
        space=array.space, base=array.base if isinstance(array, ir.View) else array, first=first,
        lengths=(*(reader.extent(array, axis) for axis in axes),
                 _kept(reader, of_ints("//", count, size_of))),
        steps=(*(reader.extent(array, axis, is_stride=True) for axis in axes), size_of),
        known_alignment=gcd(known, target.alignment),
    )  # fmt: skip
