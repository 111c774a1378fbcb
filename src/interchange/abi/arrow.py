"""The C structs of Arrow as ctypes, and what a column to be exported is put together from.

Source: The Arrow C data interface; C stream interface; C device data interface; PyCapsule
interface.  Names and field order are those of the documents.  Nothing here follows a pointer.
"""

from __future__ import annotations

import ctypes
from typing import Final

from ._records import NamedTuple
from .capsules import static_name

ARROW_SCHEMA: Final = static_name(b"arrow_schema")
ARROW_ARRAY: Final = static_name(b"arrow_array")
ARROW_ARRAY_STREAM: Final = static_name(b"arrow_array_stream")
ARROW_DEVICE_ARRAY: Final = static_name(b"arrow_device_array")
ARROW_DEVICE_ARRAY_STREAM: Final = static_name(b"arrow_device_array_stream")

ARROW_FLAG_DICTIONARY_ORDERED: Final = 1
"""The order of a dictionary's values means something."""
ARROW_FLAG_NULLABLE: Final = 2
"""Elements may be null; a hint, which says nothing of whether one is."""
ARROW_FLAG_MAP_KEYS_SORTED: Final = 4
"""The keys of each map are sorted."""


class ArrowSchema(ctypes.Structure):
    """What an ``"arrow_schema"`` capsule points at: a type, a name, metadata."""


ArrowSchema._fields_ = (
    ("format", ctypes.c_void_p),  # of the NUL-terminated format string
    ("name", ctypes.c_void_p),  # may be NULL
    ("metadata", ctypes.c_void_p),  # of the encoded pairs; may be NULL
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),  # NULL where elements are no indices
    ("release", ctypes.c_void_p),  # NULL in a released struct
    ("private_data", ctypes.c_void_p),
)


class ArrowArray(ctypes.Structure):
    """What an ``"arrow_array"`` capsule points at: lengths and buffers of one chunk."""


ArrowArray._fields_ = (
    ("length", ctypes.c_int64),  # [elements]
    ("null_count", ctypes.c_int64),  # [elements], or -1: not counted
    ("offset", ctypes.c_int64),  # [elements], in every buffer
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.c_void_p),  # NULL in a released struct
    ("private_data", ctypes.c_void_p),
)


class ArrowDeviceArray(ctypes.Structure):
    """What an ``"arrow_device_array"`` capsule points at: a chunk, where it is, and when."""

    _fields_ = (
        ("array", ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),  # a DLDeviceType
        ("sync_event", ctypes.c_void_p),  # points to the handle of an event; NULL: none
        ("reserved", ctypes.c_int64 * 3),  # zero
    )


class ArrowArrayStream(ctypes.Structure):
    """What an ``"arrow_array_stream"`` capsule points at: functions that give chunks in turn."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),  # NULL in a released struct
        ("private_data", ctypes.c_void_p),
    )


class ArrowDeviceArrayStream(ctypes.Structure):
    """What an ``"arrow_device_array_stream"`` capsule points at: likewise, on one device type."""

    _fields_ = (
        ("device_type", ctypes.c_int32),
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),  # NULL in a released struct
        ("private_data", ctypes.c_void_p),
    )


ARROW_STRUCTS: Final[dict[bytes, type[ctypes.Structure]]] = {
    ARROW_SCHEMA: ArrowSchema,
    ARROW_ARRAY: ArrowArray,
    ARROW_ARRAY_STREAM: ArrowArrayStream,
    ARROW_DEVICE_ARRAY: ArrowDeviceArray,
    ARROW_DEVICE_ARRAY_STREAM: ArrowDeviceArrayStream,
}
"""Name of a capsule -> the struct that it points at."""

ARROW_RELEASE: Final = {
    name: struct.array.offset + ArrowArray.release.offset
    if struct is ArrowDeviceArray
    else struct.release.offset
    for name, struct in ARROW_STRUCTS.items()
}
"""Name of a capsule -> where its struct has the address of the release callback [bytes]."""

ARROW_CHUNK: Final = {
    ARROW_ARRAY_STREAM: ARROW_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM: ARROW_DEVICE_ARRAY,
}
"""Name of the capsule of a stream -> that of what it gives in turn."""


class ArrowField(NamedTuple):
    """A type to be exported: what an `ArrowSchema` is made from.

    Attributes
    ----------
    format : str
        The format string.
    name : str
        Of the column; "" for none.
    metadata : bytes or None
        The encoded pairs, as `interchange.abi.arrow_formats.encode_metadata` makes them.
    flags : int
        ``ARROW_FLAG_NULLABLE`` unless told: so are most columns, and types differ by it.
    children : tuple[ArrowField, ...]
        The types below it.
    """

    format: str
    name: str = ""
    metadata: bytes | None = None
    flags: int = ARROW_FLAG_NULLABLE
    children: tuple[ArrowField, ...] = ()


class ArrowColumn(NamedTuple):
    """Memory to be exported: what an `ArrowArray` is made from.

    Attributes
    ----------
    length : int
        Number of elements.
    null_count : int
        Number of nulls.
    offset : int
        Of the first element in every buffer [elements].
    buffers : tuple[int, ...]
        Addresses; 0 for NULL.
    children : tuple[ArrowColumn, ...]
        The memory of the types below.
    """

    length: int
    null_count: int = 0
    offset: int = 0
    buffers: tuple[int, ...] = ()
    children: tuple[ArrowColumn, ...] = ()
