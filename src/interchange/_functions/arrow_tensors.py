"""Tensors of ``arrow.variable_shape_tensor``: one array of one shape, or values and shapes.

Source: canonical extension types, Variable shape tensor.
"""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.arrow.buffers import child_of
from interchange._protocols.arrow.elements import read_elements
from interchange._protocols.arrow.types import LISTS, read_type
from interchange._types.errors import UnsupportedDTypeError, show
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple

from .arrow_columns import Column, finish, import_column, packed
from .arrow_ragged import Ragged, bounds_of, import_ragged, level_of, on_host, unpacked

if TYPE_CHECKING:
    from interchange._array import Array
    from interchange._protocols.arrow.buffers import Node
    from interchange._protocols.arrow.elements import Elements
    from interchange._protocols.arrow.types import ColumnType

    from .arrow_columns import Import

_SHAPES_RULE: Final = "ARROW-TENSOR-2"
_FIX: Final = "pass `ragged=True` for values, shapes and offsets, or `ragged='arrays'`"


class Tensors(NamedTuple):
    """The plan for tensors of different shapes."""

    levels: tuple[ColumnType, ...]  # a table of one column, and last the struct of data and shape
    places: tuple[int, int]  # of the fields with the elements and with the shapes
    data: Ragged  # lists of elements
    elements: Elements  # the same as one axis, if all lists have one length
    shape: Elements  # the shape of a tensor in memory
    order: tuple[int, ...]  # the position in memory of the first axis of a tensor, the second
    uniform: tuple[int | None, ...]  # extents that all tensors have, in memory order


def plan_tensors(levels: tuple[ColumnType, ...], *, storage: bool, call: str) -> Tensors:
    """Return the plan for tensors, whose struct is the last level.

    Raises BrokenRule: the fields or the metadata are not those of tensors (ARROW-TENSOR-2).
    Raises UnsupportedDTypeError: as `read_elements`.
    """
    struct = levels[-1]
    fields = {read_type(child).name: place for place, child in enumerate(struct.children)}
    if struct.format.kind != "struct" or set(fields) != {"data", "shape"} or len(fields) != 2:
        what = f"the storage is {struct.format.name} with the fields {show(sorted(fields))}"
        raise BrokenRule(_SHAPES_RULE, what)
    places = fields["data"], fields["shape"]
    data, shape = (read_type(struct.children[place]) for place in places)
    if data.format.kind not in LISTS or shape.format.kind != "fixed_size_list":
        what = f"data is {data.format.name}, and shape {shape.format.name}"
        raise BrokenRule(_SHAPES_RULE, what)
    elements = read_elements(data, storage=storage, call=call)
    extents = read_elements(shape, storage=False, call=call)
    if elements.shape != (-1,) or extents.dtype.name != "int32" or len(extents.shape) != 1:
        what = f"data has elements of shape {elements.shape[1:]}, and shape is {extents.dtype}"
        raise BrokenRule(_SHAPES_RULE, what)
    items = read_elements(read_type(data.children[0]), storage=storage, call=call)
    order, uniform = _parameters(struct, extents.shape[0])
    return Tensors(levels, places, Ragged((data,), items), elements, extents, order, uniform)


def _parameters(struct: ColumnType, axes: int) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Return the order of axes and the uniform extents of tensors with so many axes."""
    try:
        said = json.loads(struct.parameters) if struct.parameters.strip() else {}
        order = said.get("permutation")
        uniform = said.get("uniform_shape")
    except (ValueError, AttributeError, RecursionError) as error:
        raise BrokenRule(_SHAPES_RULE, f"the metadata are {show(struct.parameters)}") from error
    order = list(range(axes)) if order is None else order
    uniform = [None] * axes if uniform is None else uniform
    is_order = isinstance(order, list) and all(type(one) is int for one in order)
    is_uniform = isinstance(uniform, list) and len(uniform) == axes
    known = [one for one in uniform if one is not None] if is_uniform else []
    is_uniform = is_uniform and all(type(one) is int and one >= 0 for one in known)
    if not (is_order and is_uniform and sorted(order) == list(range(axes))):
        raise BrokenRule(
            _SHAPES_RULE, f"the metadata are {show(struct.parameters)} for {axes} axes"
        )
    return tuple(order), tuple(uniform)


# ---------------------------------------------------------------- import


def import_tensors(job: Import, plan: Tensors, nodes: list[Node]) -> Any:
    """Return an Array of tensors of one shape; with `ragged` values, shapes, offsets, or Arrays.

    `nodes`: the outermost struct in each chunk.
    """
    request = job.request
    levels = [level_of(node, plan.levels) for node in nodes]
    data = [child_of(level, plan.places[0]) for level in levels]
    plain = job.but(
        request._replace(separate=False, meaning=False, fill=None, ragged=False, out=None)
    )
    below = (child_of(level, plan.places[1]) for level in levels)
    shapes = import_column(plain, plan.shape, [node._replace(validities=()) for node in below])
    if not request.ragged:
        return _uniform(job, plan, data, on_host(shapes, job.call))
    listed = job.but(request._replace(ragged=True))
    found, mask, meaning = unpacked(import_ragged(listed, plan.data, data, import_column), request)
    values, offsets, *sizes = found
    own = None if mask is None else mask[1]
    rows = _checked(job, plan, shapes, (offsets, *sizes), own)
    if request.ragged is True:
        found = (values, shapes, offsets, *sizes)
    else:
        found = _tensors(values, plan, rows)
        mask = None if mask is None else _tensors(mask[0], plan, rows)
    return packed(found, mask, meaning, request)


def _uniform(job: Import, plan: Tensors, nodes: list[Node], shapes: list[list[int]]) -> Any:
    """Return one Array of tensors, which must have one shape."""
    found = {tuple(shape) for shape in shapes}
    if len(found) > 1:
        first, second = sorted(found)[:2]
        what = f"the tensors have different shapes, such as {first} and {second}"
        raise UnsupportedDTypeError(job.call, what, "ARROW-TYPE-1", _FIX)
    shape = found.pop() if found else tuple(extent or 0 for extent in plan.uniform)
    column = Column(job, plan.elements, nodes)
    if shapes:
        _check_shape(plan, shape, column.elements.shape[0], 0)
    column.elements = column.elements._replace(shape=shape, order=plan.order)
    return finish(column, column, len(nodes))


def _checked(
    job: Import, plan: Tensors, shapes: Array, ends: tuple[Array, ...], valid: Array | None
) -> list[tuple[int, int, list[int]] | None]:
    """Return start, stop and shape of each tensor, after they are checked; None for a null."""
    rows = zip(bounds_of(ends, valid, job.call), on_host(shapes, job.call), strict=False)
    found: list[tuple[int, int, list[int]] | None] = []
    for place, ((start, stop, is_valid), shape) in enumerate(rows):
        if is_valid:
            _check_shape(plan, tuple(shape), stop - start, place)
        found.append((start, stop, shape) if is_valid else None)
    return found


def _check_shape(plan: Tensors, shape: tuple[int, ...], count: int, place: int) -> None:
    """Refuse a shape that is not that of so many elements, or has another uniform extent."""
    is_uniform = all(one in {None, extent} for one, extent in zip(plan.uniform, shape, strict=True))
    if min(shape, default=0) < 0 or prod(shape) != count or not is_uniform:
        what = f"tensor {place} of {count} elements has the shape {shape}"
        if not is_uniform:
            what += f", and the uniform shape is {plan.uniform}"
        raise BrokenRule(_SHAPES_RULE, what)


def _tensors(values: Array, plan: Tensors, rows: list[Any]) -> list[Array | None]:
    """Return views of the elements of each tensor; None for a null one."""
    found: list[Array | None] = []
    for row in rows:
        if row is None:
            found.append(None)
            continue
        start, stop, shape = row
        found.append(values[start:stop].reshape(tuple(shape)).permute_dims(plan.order))
    return found
