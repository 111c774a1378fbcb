"""`inspect` of Arrow's columns, tables and capsules: their types, chunks and nulls.

Source: The Arrow PyCapsule interface; The Arrow C data and stream interfaces.  What can be read
once is not read: only its schema is requested, and capsules are opened where they are.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.arrow.chunk_views import read_node
from interchange._protocols.arrow.dictionaries import read_column
from interchange._protocols.arrow.elements import read_elements
from interchange._protocols.arrow.producers import take
from interchange._protocols.arrow.types import read_type
from interchange._protocols.protocol_attributes import attribute, is_read_once, method_of
from interchange._types.errors import InterchangeError, show
from interchange.abi import BrokenRule, capsule_name, capsule_pointer
from interchange.abi.arrow import (
    ARROW_CHUNK,
    ARROW_FLAG_NULLABLE,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ArrowArray,
    ArrowSchema,
)

from .report import Report

if TYPE_CHECKING:
    from interchange._protocols.arrow.producers import Taken
    from interchange._protocols.arrow.types import ColumnType

_CALL: Final = "inspect()"
_MOST: Final = 8  # fields and chunks that are written out
_DEEPEST: Final = 4  # levels that are written out


def inspect_column(x: Any) -> Report | None:
    """Return a report on what an object exports by Arrow; None if it has no method of Arrow."""
    method = method_of(x)
    if method is None:
        return None
    report = Report(method)
    try:
        if is_read_once(x):
            _tell_schema_only(report, x)
        else:
            taken = take(x, _CALL)
            try:
                _tell_taken(report, taken)
            finally:
                taken.release()
    except (BrokenRule, InterchangeError) as error:
        report._broken(error.rule, error.what)
    except Exception as error:  # noqa: BLE001 - a foreign method may raise anything
        report._failed("capsule", f"raised {show(error, 200)}")
    return report


def inspect_arrow_capsule(capsule: Any) -> Report:
    """Return a report on a capsule of an Arrow struct, which is opened and left unchanged."""
    name = capsule_name(capsule)
    report = Report(f"capsule {name.decode()!r}")
    address = capsule_pointer(capsule, name)
    if not ctypes.c_void_p.from_address(address + ARROW_RELEASE[name]).value:
        report._broken("ARROW-RELEASE-3", f"release is NULL in a {report.kind}")
    elif name == ARROW_SCHEMA:
        try:
            _tell_type(report, address)
        except BrokenRule as broken:
            report._broken(broken.rule, broken.what)
    elif name not in ARROW_CHUNK:
        _tell_array(report, ArrowArray.from_address(address))  # the first part of a device array
    return report


def _tell_schema_only(report: Report, x: Any) -> None:
    """Describe the type of an object whose chunks can be read once."""
    method = attribute(x, "__arrow_c_schema__")
    if method is not None:
        owner = _core.take_arrow(method(), ARROW_SCHEMA)
        try:
            _tell_type(report, owner.address)
        finally:
            owner.release()
    report._say("chunks", "not read: they can be read once", chunks=None)


_IF_EQUAL: Final = ", if all lists have one length"


def _tell_taken(report: Report, taken: Taken) -> None:
    """Describe the type and the chunks of what was taken."""
    column = taken.read(lambda column: column)
    _tell_type(report, column.address)
    try:
        elements = read_elements(column, storage=True, call=_CALL)
    except InterchangeError as error:
        report._say("array", f"none: {error.rule}", array=None)
    else:
        extents = ["?" if extent < 0 else str(extent) for extent in elements.shape]
        axes = "".join(f", {extents[place]}" for place in elements.order)
        said = f"{elements.dtype} (n{axes or ','})" + (_IF_EQUAL if "?" in extents else "")
        report._say("array", said, array=said)
    taken.fill(None)
    arrays = [ArrowArray.from_address(chunk.address) for chunk in taken.chunks]
    lengths = [array.length for array in arrays]
    several = f": {_first(list(map(str, lengths)))}" if len(lengths) > 1 else ""
    report._say("chunks", f"{len(lengths)}{several}", chunks=lengths)
    report._say("length", str(sum(lengths)), length=sum(lengths))
    counts = [array.null_count for array in arrays]
    nulls = None if any(count < 0 for count in counts) else sum(counts)
    report._say("nulls", "not counted" if nulls is None else str(nulls), nulls=nulls)
    devices = sorted({str(read_node(chunk, taken.name).device) for chunk in taken.chunks})
    report._say("device", _first(devices) or "none", device=devices)
    for chunk in taken.chunks:
        read_column(chunk.address, column.address)  # refuses structs that break a rule


def _tell_type(report: Report, address: int) -> None:
    """Describe a schema."""
    column, flags = read_type(address), ArrowSchema.from_address(address).flags
    said = _said(column)
    report._say("type", said, type=said)
    if column.name:
        report._say("name", show(column.name))
        report.values["name"] = column.name
    nullable = bool(flags & ARROW_FLAG_NULLABLE)
    report._say("nullable", str(nullable), nullable=nullable)


def _tell_array(report: Report, array: ArrowArray) -> None:
    """Describe one array struct, without its type."""
    for field in ("length", "null_count", "offset", "n_buffers", "n_children"):
        value = getattr(array, field)
        report._say(field, str(value), **{field: value})


def _said(column: ColumnType, depth: int = 0) -> str:
    """Return a type and those below it, as text."""
    if not column.children or depth >= _DEEPEST:
        return column.title
    below = [read_type(child) for child in column.children[: _MOST + 1]]
    if column.format.kind != "struct":
        return f"{column.title} of {_said(below[0], depth + 1)}"
    return f"{column.title} of {_first([f'{show(c.name)}: {_said(c, depth + 1)}' for c in below])}"


def _first(texts: list[str]) -> str:
    """Return the first of many texts."""
    return ", ".join(texts[:_MOST]) + (", ..." if len(texts) > _MOST else "")
