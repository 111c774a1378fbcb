"""Parameters of kernels that are several arguments of the code: tuples, None, records.

Source: CUDA driver API, ``cuLaunchKernel`` (a kernel takes numbers and addresses only).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import ir
from .context import Object, Values
from .records import RecordType
from .types import ArrayType, ScalarType, TupleType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .context import Context, Meaning


def flat(types: Iterable[Any]) -> tuple[ScalarType | ArrayType, ...]:
    """Return the types of the arguments of the code, of numbers and arrays only."""
    found: list[Any] = []
    for each in types:
        if isinstance(each, TupleType):
            found += flat(each.items)
        elif isinstance(each, RecordType):
            found += flat(field.type for field in each.fields.values())
        else:
            found.append(each)
    return tuple(found)


def meaning(reader: Context, name: str, type_: Any) -> Meaning:
    """Return the meaning of a parameter; the names so far have the arguments before it."""
    if isinstance(type_, TupleType):
        if type_.is_none:
            return Object(None)
        return Values(tuple(_item(reader, name, each) for each in type_.items))
    if isinstance(type_, RecordType):
        items = tuple(_item(reader, name, field.type) for field in type_.fields.values())
        return Values(items, tuple(type_.fields))
    place = reader.arguments
    reader.arguments += 1
    if isinstance(type_, ArrayType):
        return ir.ArrayValue(name, type_, place, space="argument")
    return reader.put(ir.Argument(type_, place), name).slot


def _item(reader: Context, name: str, type_: Any) -> Any:
    """Return an item of a tuple, or a field of a record."""
    found = meaning(reader, "_" if isinstance(type_, ScalarType) else name, type_)
    return ir.Read(found) if isinstance(found, ir.Slot) else found
