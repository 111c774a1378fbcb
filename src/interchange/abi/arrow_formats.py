"""The format strings of Arrow's types, and the encoded pairs of their metadata.

Source: The Arrow C data interface, Data type description (format strings) and
``ArrowSchema.metadata``.  A type is refused here if its string is not in the grammar
(ARROW-FORMAT-1), not because it is unsupported.
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from struct import pack
from typing import TYPE_CHECKING, Final

from ._records import NamedTuple
from ._show import clip, show
from .memory import memory, reader
from .rules import BrokenRule

if TYPE_CHECKING:
    from collections.abc import Iterable

EXTENSION_NAME: Final = b"ARROW:extension:name"
"""The metadata key of an extension type's name."""
EXTENSION_METADATA: Final = b"ARROW:extension:metadata"
"""The metadata key of its parameters."""

ANY: Final = -1
"""Any number of buffers or children."""


class ArrowFormat(NamedTuple):
    """A parsed format string.

    Attributes
    ----------
    name : str
        Name of the type.
    kind : str
        "number", "bool", "time" (integers that count units of time), "decimal" (integers, the
        least significant word first), "bytes" (of fixed width), "fixed_size_list", "list",
        "list_view", "binary" (bytes or text of any length), "binary_view", "struct", "null", or
        "other", which has no fixed width.
    stored : str or None
        The dtype of the elements in the second buffer; None for none.
    buffers, children : int
        The number of buffers; `ANY` if it varies.
    size : int
        For bytes, their width [bytes]; for a list, the number of elements of one; for an element
        that is stored as several integers, their number; else 0.
    width : int
        The size of an offset of lists or binary [bytes]; 0 for none.
    """

    name: str
    kind: str
    stored: str | None = None
    buffers: int = 2
    children: int = 0
    size: int = 0
    width: int = 0

    @property
    def each(self) -> int:
        """The number of stored values, or of elements of the child, of one element."""
        return self.size if self.has_axis else 1

    @property
    def has_axis(self) -> bool:
        """Whether the values of one element are an axis of the array."""
        return self.size > 0 or self.kind in {"bytes", "fixed_size_list"}


NUMBERS: Final = {
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "e": "float16",
    "f": "float32",
    "g": "float64",
}
"""Format string of a number -> its dtype."""

_read_int32: Final = reader("i")
_TIMES: Final = {
    "tdD": ("date32", "int32"),
    "tdm": ("date64", "int64"),
    "tts": ("time32[s]", "int32"),
    "ttm": ("time32[ms]", "int32"),
    "ttu": ("time64[us]", "int64"),
    "ttn": ("time64[ns]", "int64"),
    "tDs": ("duration[s]", "int64"),
    "tDm": ("duration[ms]", "int64"),
    "tDu": ("duration[us]", "int64"),
    "tDn": ("duration[ns]", "int64"),
    "tiM": ("interval[months]", "int32"),
}
_DECIMALS: Final = {
    "32": ("int32", 0),
    "64": ("int64", 0),
    "128": ("int64", 2),
    "256": ("int64", 4),
}
"""Bits of a decimal -> dtype and number of the integers that one is stored as; 0 for one."""
_UNITS: Final = {"s": "s", "m": "ms", "u": "us", "n": "ns"}

_FIXED: Final = {
    "n": ArrowFormat("null", "null", buffers=0),
    "b": ArrowFormat("bool", "bool", "bool"),
    **{text: ArrowFormat(name, "number", name) for text, name in NUMBERS.items()},
    **{text: ArrowFormat(name, "time", stored) for text, (name, stored) in _TIMES.items()},
    "z": ArrowFormat("binary", "binary", buffers=3, width=4),
    "Z": ArrowFormat("large_binary", "binary", buffers=3, width=8),
    "vz": ArrowFormat("binary_view", "binary_view", buffers=ANY),
    "u": ArrowFormat("string", "binary", buffers=3, width=4),
    "U": ArrowFormat("large_string", "binary", buffers=3, width=8),
    "vu": ArrowFormat("string_view", "binary_view", buffers=ANY),
    "tiD": ArrowFormat("interval[days, ms]", "time", "int32", size=2),
    "tin": ArrowFormat(
        "interval[months, days, ns]", "time", "uint8", size=16
    ),  # int32, int32, int64
    "+l": ArrowFormat("list", "list", buffers=2, children=1, width=4),
    "+L": ArrowFormat("large_list", "list", buffers=2, children=1, width=8),
    "+vl": ArrowFormat("list_view", "list_view", buffers=3, children=1, width=4),
    "+vL": ArrowFormat("large_list_view", "list_view", buffers=3, children=1, width=8),
    "+s": ArrowFormat("struct", "struct", buffers=1, children=ANY),
    "+m": ArrowFormat("map", "other", buffers=2, children=1),
    "+r": ArrowFormat("run_end_encoded", "other", buffers=0, children=2),
}

_MOST: Final = 2**31 - 1  # the size of a list and the width of bytes are 32-bit integers
_SIZED: Final = re.compile(r"(w|\+w):([0-9]{1,10})", re.ASCII)
_TIMESTAMP: Final = re.compile(r"ts([smun]):(.*)", re.DOTALL)
_DECIMAL: Final = re.compile(r"d:([0-9]{1,3}),(-?[0-9]{1,3})(?:,(32|64|128|256))?", re.ASCII)
_UNION: Final = re.compile(r"\+u([ds]):((?:[0-9]{1,3}(?:,[0-9]{1,3})*)?)", re.ASCII)


@lru_cache(maxsize=256)  # timestamps, decimals and unions have many
def parse_format(text: str) -> ArrowFormat:
    """Return the parsed format string.

    Raises
    ------
    BrokenRule
        The string is not in the grammar (ARROW-FORMAT-1).

    Examples
    --------
    >>> parse_format("+w:768")[:2]
    ('fixed_size_list[768]', 'fixed_size_list')
    >>> parse_format("tsu:UTC").name
    'timestamp[us, UTC]'
    """
    found = _FIXED.get(text) or _with_parameters(text)
    if found is None:
        raise BrokenRule("ARROW-FORMAT-1", f"the format string is {show(text)}")
    return found


def _with_parameters(text: str) -> ArrowFormat | None:
    """Return the parsed format string with parameters, or None if it is not in the grammar."""
    if sized := _SIZED.fullmatch(text):
        size = int(sized[2])
        if size > _MOST:
            return None
        if sized[1] == "w":
            return ArrowFormat(f"fixed_size_binary[{size}]", "bytes", "uint8", size=size)
        name = f"fixed_size_list[{size}]"
        return ArrowFormat(name, "fixed_size_list", buffers=1, children=1, size=size)
    if stamp := _TIMESTAMP.fullmatch(text):
        zone = f", {clip(stamp[2])}" if stamp[2] else ""
        return ArrowFormat(f"timestamp[{_UNITS[stamp[1]]}{zone}]", "time", "int64")
    if decimal := _DECIMAL.fullmatch(text):
        bits = decimal[3] or "128"
        stored, words = _DECIMALS[bits]
        name = f"decimal{bits}({decimal[1]}, {decimal[2]})"
        return ArrowFormat(name, "decimal", stored, size=words)
    if union := _UNION.fullmatch(text):
        name, buffers = ("dense_union", 2) if union[1] == "d" else ("sparse_union", 1)
        count = len(union[2].split(",")) if union[2] else 0
        return ArrowFormat(name, "other", buffers=buffers, children=count)
    return None


# ---------------------------------------------------------------- metadata


def encode_metadata(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the encoded pairs of a schema's metadata.

    Examples
    --------
    >>> len(encode_metadata([(b"key", b"value")]))
    20
    """
    words = [word for pair in pairs for word in pair]
    parts = [part for word in words for part in (pack("i", len(word)), word)]
    return b"".join((pack("i", len(words) // 2), *parts))


def decode_metadata(address: int) -> dict[bytes, bytes]:
    """Return the pairs that are encoded at an address; none for 0.

    Raises
    ------
    BrokenRule
        A number or a length is negative (ARROW-FORMAT-3).

    Examples
    --------
    >>> block = ctypes.create_string_buffer(encode_metadata([(b"key", b"value")]))
    >>> decode_metadata(ctypes.addressof(block))
    {b'key': b'value'}
    """
    if not address:
        return {}
    count, at = _read_length(address)
    words = []
    for _ in range(2 * count):
        length, at = _read_length(at)
        words.append(ctypes.string_at(at, length))
        at += length
    return dict(zip(words[::2], words[1::2], strict=True))


def _read_length(address: int) -> tuple[int, int]:
    """Return the 32-bit number at an address, and the address after it."""
    (number,) = _read_int32(memory, address)
    if number < 0:
        raise BrokenRule("ARROW-FORMAT-3", f"the metadata has the length {number}")
    return number, address + 4
