"""Arrow types, read from an `ArrowSchema` level by level.

Source: The Arrow C data interface, ``ArrowSchema``; canonical extension types.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from interchange._types.errors import clip, show
from interchange.abi import BrokenRule
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ArrowSchema
from interchange.abi.arrow_formats import (
    ANY,
    EXTENSION_METADATA,
    EXTENSION_NAME,
    decode_metadata,
    parse_format,
)

if TYPE_CHECKING:
    from interchange.abi.arrow_formats import ArrowFormat

_LONGEST: Final = 2**16
"""The maximum length of a format string: a union of all ids has some hundred bytes [bytes]."""
MOST_FIELDS: Final = 2**16
"""The number of fields of a struct that are read."""

LISTS: Final = frozenset({"list", "list_view"})
"""Kinds of lists whose lengths are not in the type."""


class ColumnType(NamedTuple):
    """One level of a type."""

    format: ArrowFormat  # the parsed format string
    name: str  # name of the column; "" for none
    extension: str | None  # the name of its extension type
    parameters: bytes  # the parameters of the extension type
    # The addresses of the structs below; for a struct those of the first `MOST_FIELDS` fields.
    children: tuple[int, ...]
    dictionary: int  # address of the struct of the values that its elements are indices of, or 0
    address: int  # address of its struct

    @property
    def has_dictionary(self) -> bool:
        """Whether its elements are indices of the values of a dictionary."""
        return self.dictionary != 0

    @property
    def title(self) -> str:
        """The name of the type in messages."""
        if self.extension is not None:
            return f"{clip(self.extension)} of {self.format.name}"
        return (
            f"dictionary of {self.format.name} indices" if self.has_dictionary else self.format.name
        )


def read_type(address: int) -> ColumnType:
    """Return the level that the `ArrowSchema` at an address describes.

    Raises BrokenRule: the struct is released (ARROW-RELEASE-3), has no valid format
        (ARROW-FORMAT-1), lacks the children of its type (ARROW-FORMAT-2), or has invalid metadata
        (ARROW-FORMAT-3).
    """
    schema = ArrowSchema.from_address(address)
    if not schema.release:
        raise BrokenRule("ARROW-RELEASE-3", "a schema has release NULL")
    form = parse_format(_text_at(schema.format, "ARROW-FORMAT-1", "the format string"))
    metadata = decode_metadata(schema.metadata or 0)
    extension = metadata.get(EXTENSION_NAME)
    return ColumnType(
        form,
        "" if not schema.name else ctypes.string_at(schema.name).decode("utf-8", "replace"),
        None if extension is None else extension.decode("utf-8", "replace"),
        metadata.get(EXTENSION_METADATA, b""),
        addresses_of(
            schema.n_children, schema.children, form.children, f"the schema of {form.name}"
        ),
        ctypes.cast(schema.dictionary, ctypes.c_void_p).value or 0,
        address,
    )


def _text_at(address: int | None, rule: str, what: str) -> str:
    """Return the string at an address."""
    if not address:
        raise BrokenRule(rule, f"{what} is NULL")
    raw = ctypes.string_at(address)[:_LONGEST]
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BrokenRule(rule, f"{what} is {show(raw)}") from error


def addresses_of(count: int, pointers: object, wanted: int, what: str) -> tuple[int, ...]:
    """Return the addresses of the children of a struct, which must have that number, or `ANY`."""
    if count < 0 or wanted not in {ANY, count}:
        raise BrokenRule("ARROW-FORMAT-2", f"{what} has {count} children")
    if not count:
        return ()
    address = ctypes.cast(pointers, ctypes.c_void_p).value  # type: ignore[arg-type]
    if not address:
        raise BrokenRule("ARROW-FORMAT-2", f"{what} has NULL for its children")
    found = []
    for child in (ctypes.c_void_p * min(count, MOST_FIELDS)).from_address(address):
        if not child:  # nothing is read after it
            raise BrokenRule("ARROW-FORMAT-2", f"a child in {what} is NULL")
        found.append(child)
    return tuple(found)
