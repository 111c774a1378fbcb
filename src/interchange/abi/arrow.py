"""The C structs of Arrow as ctypes, and the description of a column to export.

Source: The Arrow C data interface; C stream interface; C device data interface; PyCapsule
interface.  Names and field order are those of the documents.  No pointer is dereferenced here.
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
"""The order of a dictionary's values is significant."""
ARROW_FLAG_NULLABLE: Final = 2
"""Elements may be null; a hint, which does not mean that any is."""
ARROW_FLAG_MAP_KEYS_SORTED: Final = 4
"""The keys of each map are sorted."""


class ArrowSchema(ctypes.Structure):
    """The struct of an ``"arrow_schema"`` capsule: a type, a name, metadata."""


ArrowSchema._fields_ = (
    ("format", ctypes.c_void_p),  # of the NUL-terminated format string
    ("name", ctypes.c_void_p),  # may be NULL
    ("metadata", ctypes.c_void_p),  # of the encoded pairs; may be NULL
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),  # NULL if elements are not indices
    ("release", ctypes.c_void_p),  # NULL in a released struct
    ("private_data", ctypes.c_void_p),
)


class ArrowArray(ctypes.Structure):
    """The struct of an ``"arrow_array"`` capsule: lengths and buffers of one chunk."""


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
    """The struct of an ``"arrow_device_array"`` capsule: a chunk, its device, and an event."""

    _fields_ = (
        ("array", ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),  # a DLDeviceType
        ("sync_event", ctypes.c_void_p),  # points to the handle of an event; NULL: none
        ("reserved", ctypes.c_int64 * 3),  # zero
    )


class ArrowArrayStream(ctypes.Structure):
    """The struct of an ``"arrow_array_stream"`` capsule: functions that return chunks in turn."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),  # NULL in a released struct
        ("private_data", ctypes.c_void_p),
    )


class ArrowDeviceArrayStream(ctypes.Structure):
    """The struct of an ``"arrow_device_array_stream"`` capsule: likewise, on one device type."""

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
"""Name of a capsule -> its struct."""

ARROW_RELEASE: Final = {
    name: struct.array.offset + ArrowArray.release.offset
    if struct is ArrowDeviceArray
    else struct.release.offset
    for name, struct in ARROW_STRUCTS.items()
}
"""Name of a capsule -> the offset of the release callback in its struct [bytes]."""

ARROW_CHUNK: Final = {
    ARROW_ARRAY_STREAM: ARROW_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM: ARROW_DEVICE_ARRAY,
}
"""Name of the capsule of a stream -> that of its chunks."""


class ArrowField(NamedTuple):
    """A type to export: the contents of an `ArrowSchema`.

    Attributes
    ----------
    format : str
        The format string.
    name : str
        Name of the column; "" for none.
    metadata : bytes or None
        The encoded pairs, as `interchange.abi.arrow_formats.encode_metadata` makes them.
    flags : int
        ``ARROW_FLAG_NULLABLE`` by default: most columns have it, and it is part of the type.
    children : tuple[ArrowField, ...]
        The types below it.
    dictionary : ArrowField or None
        The type of the values that the elements are indices of; None if they are none.
    """

    format: str
    name: str = ""
    metadata: bytes | None = None
    flags: int = ARROW_FLAG_NULLABLE
    children: tuple[ArrowField, ...] = ()
    dictionary: ArrowField | None = None


class ArrowColumn(NamedTuple):
    """Memory to export: the contents of an `ArrowArray`.

    Attributes
    ----------
    length : int
        Number of elements.
    null_count : int
        Number of nulls.
    offset : int
        Offset of the first element in every buffer [elements].
    buffers : tuple[int, ...]
        Addresses; 0 for NULL.
    children : tuple[ArrowColumn, ...]
        The memory of the types below.
    dictionary : ArrowColumn or None
        The values that the elements are indices of.
    """

    length: int
    null_count: int = 0
    offset: int = 0
    buffers: tuple[int, ...] = ()
    children: tuple[ArrowColumn, ...] = ()
    dictionary: ArrowColumn | None = None
