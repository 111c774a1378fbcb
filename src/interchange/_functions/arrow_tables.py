"""Tables and struct columns: fields selected by name, as a dict of values or as one array.

Source: Arrow columnar format, Struct Layout; The Arrow C data interface, Record batches.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, cast

from interchange._array import Array, transfers
from interchange._array.copy_into import copy_into_part
from interchange._array.empty_arrays import empty_array
from interchange._protocols import host
from interchange._protocols.arrow.buffers import child_of, read_level
from interchange._protocols.arrow.elements import (
    RAGGED_KINDS,
    VARIABLE_TENSOR,
    Elements,
    check_storage,
    read_elements,
)
from interchange._protocols.arrow.types import LISTS, read_type
from interchange._streams.ordering import wait_on_host
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    UnsupportedDTypeError,
    show,
)
from interchange._types.layout import MOST_AXES, Layout
from interchange._types.unknown_names import name_nearest
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple

from .arrow_columns import IF_NEEDED, import_column
from .arrow_copies import check_out
from .arrow_ragged import Ragged, import_ragged
from .arrow_tensors import Tensors, import_tensors, plan_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interchange._protocols.arrow.buffers import Node
    from interchange._protocols.arrow.types import ColumnType
    from interchange._types.dtypes import DType

    from .arrow_columns import Import, Request

_MOST_NAMED: Final = 8  # names in an error
_BLOCK: Final = 2**20  # of a matrix: stays in a cache while columns are written to it [bytes]
_FEW: Final = 4  # columns that are written as fast without blocks
_FEWEST_ROWS: Final = 1024  # of a block


class Fields(NamedTuple):
    """The plan for a struct: which of its fields are imported, and how."""

    column: ColumnType
    places: tuple[int, ...]  # of the fields, in the order in which they are returned
    plans: dict[str, Any]  # name -> `Elements` or `Fields`


# ---------------------------------------------------------------- arguments


def check_columns(columns: Any, column: Any, axis: Any, call: str) -> tuple[str, ...] | bool:
    """Return the names of the fields that are requested, True for all, or False if none are.

    `columns`, `column`, `axis`: as for `interchange.from_arrow`.

    Raises ArgumentError: they have wrong types or values, or contradict each other (IX-ARGUMENT-1).
    """
    if column is not None:
        if columns is not None or axis is not None:
            other = "columns" if columns is not None else "axis"
            what, hint = f"column={show(column)} and {other}=", "pass one of them"
        elif isinstance(column, str):
            return (column,)
        else:
            what, hint = f"column={show(column)}", "pass the name of a field, a str"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", hint)
    if axis is not None and (type(axis) is not int or axis not in {0, 1}):
        axes = "pass `axis=1` for an array (rows, columns), or `axis=0`"
        raise ArgumentError(call, f"axis={show(axis)}", "IX-ARGUMENT-1", axes)
    if axis is not None and columns is None:
        which = "pass `columns=True`, or a list of names"
        raise ArgumentError(call, f"axis={axis} without columns=", "IX-ARGUMENT-1", which)
    if columns is None or columns is True:
        return columns is True
    names = tuple(columns) if isinstance(columns, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) for name in names):
        several = "pass a list of names, or `columns=True` for all fields"
        raise ArgumentError(call, f"columns={show(columns)}", "IX-ARGUMENT-1", several)
    return names


# ---------------------------------------------------------------- plans


_NO_TABLE: Final = "pass a table, or use `from_arrow(x)` for a column"


def plan_table(column: ColumnType, request: Request, call: str) -> Any:
    """Return the plan for what was taken: for the requested fields of a table, or for a column.

    Raises ExchangeError: a requested field does not exist, or more than once (ARROW-FIELD-1); the
        fields of an array differ (ARROW-FIELD-2).
    Raises UnsupportedDTypeError, BrokenRule: as `plan_value`; or a table has several fields, and
        none is requested (ARROW-TYPE-1).
    """
    if not request.columns:
        if column.format.kind == "struct" and column.extension is None:
            _check_one_field(column, request, call)
        return plan_value(column, request, call, tables=request.tables, fields=False)
    if column.format.kind != "struct":
        hint = "omit `columns=`" if call == "from_arrow()" else _NO_TABLE
        raise ExchangeError(call, f"the elements are {column.title}", "ARROW-FIELD-1", hint)
    plan = _plan_fields(column, request, call)
    if request.axis is not None:
        _check_alike(plan, call)
    return plan


def plan_value(
    column: ColumnType,
    request: Request,
    call: str,
    *,
    tables: bool = False,
    fields: bool = True,
    depth: int = 0,
) -> Any:
    """Return the plan for a column: `Elements`, `Fields`, `Ragged` or `Tensors`.

    `tables`: whether a struct of one field is accepted as that field.
    `fields`: whether a struct becomes a dict of all its fields.
    `depth`: how many lists and structs are around it.

    Raises UnsupportedDTypeError, BrokenRule: as `read_elements`.
    """
    if depth >= MOST_AXES:
        raise BrokenRule("DLP-SHAPE-1", f"lists and structs have {depth} levels and more")
    levels: tuple[ColumnType, ...] = (column,)
    is_struct = column.format.kind == "struct"
    if tables and is_struct and len(column.children) == 1 and column.extension is None:
        levels = (column, read_type(column.children[0]))
    if levels[-1].extension == VARIABLE_TENSOR:
        return plan_tensors(levels, storage=request.storage, call=call)
    if fields and is_struct and (column.extension is None or request.storage):
        return _plan_fields(column, request._replace(columns=True), call, depth)
    if request.ragged:
        ragged = _plan_ragged(column, request, call, tables=tables, depth=depth)
        if ragged is not None:
            return ragged
    return read_elements(column, storage=request.storage, tables=tables, call=call)


def _plan_fields(column: ColumnType, request: Request, call: str, depth: int = 0) -> Fields:
    """Return the plan for the requested fields of a struct, in the order requested."""
    names = field_names(column)
    chosen = tuple(names) if request.columns is True else cast("tuple[str, ...]", request.columns)
    places = _places_of(chosen, names, call)
    plans = {}
    for name, place in zip(chosen, places, strict=True):
        with naming(name):
            plans[name] = plan_value(
                read_type(column.children[place]), request, call, depth=depth + 1
            )
    return Fields(column, places, plans)


def _plan_ragged(
    column: ColumnType, request: Request, call: str, *, tables: bool, depth: int
) -> Ragged | None:
    """Return the plan for lists of different lengths or for text; None for other columns."""
    levels = [column]
    if tables and column.format.kind == "struct" and len(column.children) == 1:
        levels.append(read_type(column.children[0]))
    while levels[-1].format.kind == "fixed_size_list":
        levels.append(read_type(levels[-1].children[0]))
        if depth + len(levels) > MOST_AXES:
            return None  # `read_elements` refuses them
    kind = levels[-1].format.kind
    if kind not in RAGGED_KINDS:
        return None
    for level in levels:
        check_storage(level, storage=request.storage, call=call, ragged=True)
    items = None
    if kind in LISTS:
        below, depth = read_type(levels[-1].children[0]), depth + len(levels)
        items = plan_value(below, request, call, depth=depth)
    return Ragged(tuple(levels), items)


def field_names(column: ColumnType) -> list[str]:
    """Return the names of the fields of a struct."""
    return [read_type(child).name for child in column.children]


def _places_of(chosen: Sequence[str], names: list[str], call: str) -> tuple[int, ...]:
    """Return the positions of the fields of some names, each of which exactly one field has."""
    known: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        known.setdefault(name, []).append(place)
    requested = Counter(chosen)
    for name in chosen:
        found = len(known.get(name, ()))
        if found == requested[name] == 1:
            continue
        if not found:
            what = f"no field is named {show(name)}: the fields are {said_names(names)}"
            raise ExchangeError(call, what, "ARROW-FIELD-1", name_nearest(name, names))
        what = f"{found} fields are named {show(name)}"
        if found == 1:
            what = f"{show(name)} is requested {requested[name]} times"
        hint = "rename the fields, or request each once"
        raise ExchangeError(call, what, "ARROW-FIELD-1", hint)
    return tuple(known[name][0] for name in chosen)


def said_names(names: Sequence[str]) -> str:
    """Return names for a message: the first of many."""
    if not names:
        return "none"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(show, names[:_MOST_NAMED])) + more


def _check_one_field(column: ColumnType, request: Request, call: str) -> None:
    """Refuse a table of several fields if none is requested."""
    names = field_names(column)
    if len(names) < 2:
        return
    what = f"a table of {len(names)} columns: {said_names(names)}"
    fields, count = zip(names, column.children, strict=True), Counter(names)
    name = next(
        (one for one, at in fields if count[one] == 1 and _is_importable(at, request, call)), None
    )
    if name is None:
        raise UnsupportedDTypeError(call, what, "ARROW-TYPE-1", "pass one of them")
    keyword = f"column={show(name)}"
    hint = f"pass `{keyword}` for one of them, or `columns=True` for a dict of all"
    if call != "from_arrow()":
        hint = f"use one of them, `interchange.from_arrow(x, {keyword})`"
    raise UnsupportedDTypeError(call, what, "ARROW-TYPE-1", hint)


def _is_importable(address: int, request: Request, call: str) -> bool:
    """Whether the field whose schema is at an address can be imported, as far as its type says."""
    try:
        plan_value(read_type(address), request, call)
    except (BrokenRule, InterchangeError):
        return False
    return True


def _check_alike(plan: Fields, call: str) -> None:
    """Refuse fields that cannot be stacked into one array."""
    first = None
    for name, one in plan.plans.items():
        if not isinstance(one, Elements):
            word = {Fields: "struct", Ragged: "list"}.get(type(one), "tensor of any shape")
            raise ExchangeError(call, f"the field {show(name)} is a {word}", "ARROW-FIELD-2")
        kind = (one.dtype, tuple(one.shape[place] for place in one.order))
        first = first or (name, kind)
        if kind != first[1]:
            what = f"{show(first[0])} has {_said(first[1])} and {show(name)} {_said(kind)}"
            raise ExchangeError(call, what, "ARROW-FIELD-2")
    if first is None:
        raise ExchangeError(call, "the table has no fields", "ARROW-FIELD-2")


def _said(kind: tuple[DType, tuple[int, ...]]) -> str:
    """Return a dtype and a shape for a message."""
    return f"{kind[0]}" + (f" of shape {kind[1]}" if kind[1] else "")


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the column in the errors of its import."""
    try:
        yield
    except (BrokenRule, InterchangeError) as error:
        error.what = f"column {show(name)}: {error.what}"
        if isinstance(error, InterchangeError):
            error._reword()
        raise


# ---------------------------------------------------------------- values


def import_table(job: Import, plan: Any, nodes: list[Node]) -> Any:
    """Return the value of what was taken, as `Request` specifies it: a dict, or one value."""
    request = job.request
    if request.axis is not None:
        return _stacked(job, plan, nodes)
    if request.out is not None and isinstance(plan, Fields):
        one = next(iter(plan.plans.values()), plan) if request.is_single else plan
        if isinstance(one, Fields):
            what = f"out= for {len(one.places)} columns"
            raise ArgumentError(job.call, what, "IX-ARGUMENT-1", "pass `axis=1` for one array")
    value = import_value(job, plan, nodes)
    return next(iter(value.values())) if request.is_single else value


def import_value(job: Import, plan: Any, nodes: list[Node]) -> Any:
    """Return the value of a column: an Array, a tuple of Arrays, or a dict of values.

    `plan`: its plan.
    `nodes`: its outermost struct in each chunk.
    """
    if isinstance(plan, Elements):
        return import_column(job, plan, nodes)
    if isinstance(plan, Ragged):
        return import_ragged(job, plan, nodes, import_value)
    if isinstance(plan, Tensors):
        return import_tensors(job, plan, nodes)
    values = {}
    for (name, one), below in zip(plan.plans.items(), _fields_of(plan, nodes), strict=True):
        with naming(name):
            values[name] = import_value(job, one, below)
    return values


def _fields_of(plan: Fields, nodes: list[Node]) -> list[list[Node]]:
    """Return the nodes of each field that a plan selects, by chunk."""
    levels = [read_level(node, plan.column) for node in nodes]
    return [[child_of(level, place) for level in levels] for place in plan.places]


# ---------------------------------------------------------------- one array of several columns


def _stacked(job: Import, plan: Fields, nodes: list[Node]) -> Any:
    """Return the fields of all chunks, stacked along an axis by one copy; and likewise the masks.

    Memory is in the order of the axes of the result, (rows, columns) or (columns, rows).
    """
    request, call = job.request, job.call
    if request.copy is False:
        raise CopyNeededError(call, f"{len(plan.places)} columns become one array", "ARROW-FIELD-2")
    one = job.but(request._replace(copy=IF_NEEDED, device=None, axis=None, out=None))
    parts = [_values_of(one, plan, [node]) for node in nodes] or [_values_of(one, plan, [])]
    if not request.separate:
        return _stack(job, plan, parts, request.out)
    data, masks = ([[pair[at] for pair in part] for part in parts] for at in (0, 1))
    return _stack(job, plan, data, request.out), _stack(job, plan, masks, None)


def _values_of(job: Import, plan: Fields, nodes: list[Node]) -> list[Any]:
    """Return the values of the fields of a plan, in order."""
    return list(cast("dict[str, Any]", import_value(job, plan, nodes)).values())


def _stack(
    job: Import, plan: Fields, parts: list[list[Array]], out: tuple[Array, bool] | None
) -> Array:
    """Return the columns of each chunk, stacked along an axis, on their device or the requested.

    `out`: the memory for them, as in `Request`.
    """
    request, call, first = job.request, job.call, parts[0][0]
    shapes = {array.shape[1:] for part in parts for array in part}
    if len(shapes) > 1:
        what = f"elements have the shapes {' and '.join(map(str, sorted(shapes)[:2]))}"
        raise ExchangeError(call, what, "ARROW-FIELD-2")
    rows, count = sum(part[0].shape[0] for part in parts), len(plan.places)
    shape = ((rows, count) if request.axis else (count, rows)) + first.shape[1:]
    if out is None:
        whole = empty_array(shape, first.dtype, first.device, Array, call)
    else:
        whole = out[0]
        check_out(whole, Layout(shape), first.dtype, call)
    start = 0
    for part in parts:
        here = slice(start, start + part[0].shape[0])
        if request.axis and whole.device.is_host_accessible:
            _fill_rows(whole[here], part, call)
        else:
            for place, column in enumerate(part):
                key = (here, place) if request.axis else (place, here)
                copy_into_part(whole, key, column, request.stream, call)
        start = here.stop
    if out is not None and not out[1]:
        wait_on_host(whole, call)
    return transfers.place(
        whole, request.device, copy=None, needs_copy=False, stream=request.stream, call=call
    )


def _fill_rows(block: Array, columns: list[Array], call: str) -> None:
    """Copy columns into rows on the host, many of them by blocks of rows.

    A block stays in a cache until all columns are in it; otherwise each column would write to every
    line of the memory of the array.
    """
    target = host.as_ndarray(block, call, carrier=True)
    sources = [host.as_ndarray(column, call, carrier=True) for column in columns]
    rows = len(target)
    step = rows
    if len(columns) > _FEW and rows:
        step = max(_FEWEST_ROWS, _BLOCK * rows // max(target.nbytes, 1))
    for start in range(0, rows, step or 1):
        here = target[start : start + step]
        for place, source in enumerate(sources):
            here[:, place] = source[start : start + step]
