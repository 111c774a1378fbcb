"""The same column in another representation, as a consumer requests it: bits, lists, offsets.

Source: The Arrow PyCapsule interface, Schema Requests; Arrow columnar format.  Memory is made on
the host, from memory on the host.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._types.errors import ArgumentError, refuse_record, show
from interchange._types.layout import MOST_AXES
from interchange.abi import (
    BrokenRule,
    PyCapsule,
    buffer_address,
    capsule_name,
    capsule_pointer,
)
from interchange.abi.arrow import ARROW_FLAG_NULLABLE, ARROW_SCHEMA, ArrowField, ArrowSchema
from interchange.abi.arrow_formats import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    decode_metadata,
    encode_metadata,
)

from .elements import BOOL8
from .types import read_type

if TYPE_CHECKING:
    from interchange.abi.arrow import ArrowColumn

LIST_WIDTHS: Final = {"+l": 4, "+L": 8}
"""Format of a list with offsets -> the size of an offset [bytes]."""
_MOST: Final = 2**31 - 1  # an offset of 32 bits, and the elements of a fixed-size list


class KeptField(ArrowField):
    """A type whose bools stay bytes, since the user requested it by a meaning."""

    __slots__ = ()


def read_field(address: int, depth: int = MOST_AXES) -> ArrowField:
    """Return the type that the `ArrowSchema` at an address describes, with all levels below.

    Raises BrokenRule: as `read_type`.
    """
    level = read_type(address)
    schema = ArrowSchema.from_address(address)
    count = schema.n_children if depth else 0
    found = ctypes.cast(schema.children, ctypes.POINTER(ctypes.c_void_p))
    pairs = decode_metadata(schema.metadata or 0)
    values = ctypes.cast(schema.dictionary, ctypes.c_void_p).value if depth else None
    return ArrowField(
        ctypes.string_at(schema.format).decode(),
        level.name,
        encode_metadata(pairs.items()) if pairs else None,
        schema.flags,
        tuple(read_field(found[place] or 0, depth - 1) for place in range(count)),
        read_field(values, depth - 1) if values else None,
    )


def field_in(x: Any, what: str, call: str) -> ArrowField:
    """Return the type in a capsule, the argument `what` of a call.

    Raises ArgumentError: it is no capsule of a schema (ARROW-CAP-1).
    Raises ExchangeError: as `read_type`.
    """
    if type(x) is not PyCapsule or capsule_name(x) != ARROW_SCHEMA:
        hint = "pass a capsule of a schema"
        raise ArgumentError(call, f"{what}={show(x)}", "ARROW-CAP-1", hint)
    try:
        return read_field(capsule_pointer(x, ARROW_SCHEMA))
    except BrokenRule as broken:
        refuse_record(call, broken)


def metadata_of(field: ArrowField) -> dict[bytes, bytes]:
    """Return the metadata of a type to be exported."""
    return {} if field.metadata is None else decode_metadata(_address_of(field.metadata))


def _address_of(block: bytes | bytearray) -> int:
    """Return the address of a block of bytes."""
    return buffer_address(memoryview(block))


def extension_of(field: ArrowField) -> bytes | None:
    """Return the name of an extension type, or None."""
    return None if field.metadata is None else _extension_in(field.metadata)


@lru_cache(maxsize=64)
def _extension_in(metadata: bytes) -> bytes | None:
    """Return the name of an extension type in encoded metadata."""
    return decode_metadata(_address_of(metadata)).get(EXTENSION_NAME)


@lru_cache(maxsize=64)
def _without_extension(metadata: bytes) -> bytes | None:
    """Return encoded metadata without those of an extension type; None for none."""
    pairs = decode_metadata(_address_of(metadata))
    pairs.pop(EXTENSION_NAME, None)
    pairs.pop(EXTENSION_METADATA, None)
    return encode_metadata(pairs.items()) if pairs else None


# ---------------------------------------------------------------- types


def bits_of(field: ArrowField) -> ArrowField:
    """Return a type whose bools are bits, for one whose bools are bytes."""
    if field.children:
        children = tuple(map(bits_of, field.children))
        return field if children == field.children else field._replace(children=children)
    metadata = field.metadata
    if metadata is None or isinstance(field, KeptField) or extension_of(field) != BOOL8.encode():
        return field
    return field._replace(format="b", metadata=_without_extension(metadata))


def negotiate(field: ArrowField, wanted: ArrowField, bools: str | None) -> ArrowField:
    """Return the type in which the data of `field` are exported if `wanted` is requested.

    `bools`: "bits" or "bytes", in which bools are exported whatever is requested; None for any.

    Where the requested type has other data, it is the type that is exported without a request.
    """
    return _negotiated(field, wanted, bools) or _unasked(field, bools)


def _unasked(field: ArrowField, bools: str | None) -> ArrowField:
    """Return the type that is exported without a request."""
    return field if bools == "bytes" else bits_of(field)


def _negotiated(field: ArrowField, wanted: ArrowField, bools: str | None) -> ArrowField | None:
    """Return the type that meets a request for one level, or None for other data."""
    found: ArrowField | None = field
    extension = extension_of(field)
    if extension == BOOL8.encode():
        keeps = bools == "bytes" or (bools is None and field.format == wanted.format)
        found = field if keeps else bits_of(field)
        extension = extension_of(found)
    elif field.format == "+s" == wanted.format:
        found = _struct(field, wanted, bools)
    elif _is_list(field) and _is_list(wanted):
        has_sizes = field.format not in LIST_WIDTHS and wanted.format not in LIST_WIDTHS
        if field.format != wanted.format and (extension is not None or has_sizes):
            return None
        child = _negotiated(field.children[0], wanted.children[0], bools)
        found = child and field._replace(format=wanted.format, children=(child,))
    if found is None or found.format != wanted.format or extension != extension_of(wanted):
        return None
    if (field.dictionary is None) is not (wanted.dictionary is None):
        return None
    flags = field.flags & ~ARROW_FLAG_NULLABLE | wanted.flags & ARROW_FLAG_NULLABLE
    return found._replace(name=wanted.name or field.name, flags=flags)


def _struct(field: ArrowField, wanted: ArrowField, bools: str | None) -> ArrowField:
    """Return the type of a struct whose fields are negotiated by name."""
    by_name = {child.name: child for child in wanted.children}
    children = (
        negotiate(child, by_name[child.name], bools)
        if child.name in by_name
        else _unasked(child, bools)
        for child in field.children
    )
    return field._replace(children=tuple(children))


def _is_list(field: ArrowField) -> bool:
    """Whether a type is a list of one length, or with offsets."""
    return field.format in LIST_WIDTHS or field.format.startswith("+w:")


# ---------------------------------------------------------------- memory


def convert(
    field: ArrowField, column: ArrowColumn, target: ArrowField, keep: list[Any]
) -> tuple[ArrowField, ArrowColumn]:
    """Return type and memory of a column in a negotiated type.

    `keep`: is given the new memory.

    The type has the lists of `field` where the lengths of the lists do not allow those of `target`.
    """
    flags = target.flags | (field.flags & ARROW_FLAG_NULLABLE if column.null_count else 0)
    if not field.children:
        if field.format != target.format:  # bools
            block = bytearray((column.length + 7) >> 3)
            keep.append(block)
            address = _address_of(block)
            _core.pack_bits(column.buffers[1], column.length, address)
            column = column._replace(buffers=(column.buffers[0], address))
        return target._replace(flags=flags), column
    below = [
        convert(*nodes, keep)
        for nodes in zip(field.children, column.children, target.children, strict=True)
    ]
    column = column._replace(children=tuple(memory for _, memory in below))
    target = target._replace(flags=flags, children=tuple(child for child, _ in below))
    if field.format == target.format:
        return target, column
    found = _relisted(field.format, column, target.format, keep)
    return (target._replace(format=field.format), column) if found is None else (target, found)


def _relisted(given: str, column: ArrowColumn, wanted: str, keep: list[Any]) -> ArrowColumn | None:
    """Return a column of lists in another representation; None if their lengths prevent it."""
    if wanted not in LIST_WIDTHS:
        return _of_one_length(column, LIST_WIDTHS[given], int(wanted[3:]))
    width, source, size = LIST_WIDTHS[wanted], 0, 0
    if given not in LIST_WIDTHS:
        size = int(given[3:])
        end = column.length * size
    else:
        source = column.buffers[1]
        end = _bounds(column, LIST_WIDTHS[given])[1]
    if width == LIST_WIDTHS["+l"] and end > _MOST:
        return None
    block = bytearray((column.length + 1) * width)
    keep.append(block)
    _core.write_offsets(_address_of(block), width, column.length + 1, source, size)
    return column._replace(buffers=(column.buffers[0], _address_of(block)))


def _of_one_length(column: ArrowColumn, width: int, size: int) -> ArrowColumn | None:
    """Return a column of fixed-size lists for lists with offsets; None if a length differs."""
    first, _, step = _bounds(column, width)
    if column.length and step != size:
        return None
    (child,) = column.children
    child = child._replace(
        length=column.length * size,
        offset=child.offset + first,
        null_count=-1 if child.null_count else 0,
    )
    return column._replace(buffers=column.buffers[:1], children=(child,))


def _bounds(column: ArrowColumn, width: int) -> tuple[int, int, int]:
    """Return the first and the last offset of a column of lists, and the length of each list."""
    if not column.length:
        return 0, 0, 0
    return _core.scan_offsets(column.buffers[1], column.length, width)[:3]
