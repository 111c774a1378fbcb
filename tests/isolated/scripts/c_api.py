"""The C API as a C caller uses it, in ctypes: the structs, and the functions of the table.

Source: interchange/interchange.h.  The calls keep the GIL, and raise the error that they set.
"""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

import numpy as np

import interchange
from interchange.abi import capsules

NAME = b"interchange._C_API"
VERSION = 1
READ_ONLY, UNKNOWN, IS_COPIED, PADDED, UNALIGNED = 1, 2, 4, 8, 16
WRITABLE, COPY_ALLOWED, NOT_NULL = 1, 2, 4  # flags of a request
STREAMS = ("none", "handle", "unordered", "legacy", "per-thread", "default")  # their kinds


class View(Structure):
    """``InterchangeView``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("version", c_uint32),
        ("flags", c_uint32),
        ("data", c_void_p),
        ("byte_offset", c_uint64),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("ndim", c_int32),
        ("itemsize", c_int32),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("dtype_code", c_uint8),
        ("dtype_bits", c_uint8),
        ("dtype_lanes", c_uint16),
        ("has_stream", c_int32),
        ("stream", c_void_p),
        ("owner", c_void_p),
        ("self", c_void_p),
        ("dims", c_int64 * 16),
    )


class Stream(Structure):
    """``InterchangeStream``."""

    _fields_ = (("kind", c_int32), ("handle", c_void_p))


class DType(Structure):
    """``InterchangeDType``."""

    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class Request(Structure):
    """``InterchangeRequest``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("version", c_uint32),
        ("flags", c_uint32),
        ("name", c_char_p),
        ("stream", Stream),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("order", c_int32),
        ("alignment", c_uint32),
        ("min_ndim", c_int32),
        ("max_ndim", c_int32),
        ("dtypes", POINTER(DType)),
        ("dtype_count", c_size_t),
    )


DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class Memory(Structure):
    """``InterchangeMemory``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("version", c_uint32),
        ("flags", c_uint32),
        ("data", c_void_p),
        ("byte_offset", c_uint64),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("ndim", c_int32),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("dtype", DType),
        ("stream", Stream),
        ("deleter", c_void_p),
        ("context", c_void_p),
    )


LEVELS = 8
NUMBERS, BITS, BYTES, TEXTS = 1, 2, 3, 4  # layouts of columns
UNALIGNED_COLUMN = 1


class Level(Structure):
    """``InterchangeColumnLevel``."""

    _fields_ = (
        ("length", c_int64),
        ("null_count", c_int64),
        ("validity", c_void_p),
        ("bit_offset", c_int64),
        ("offsets", c_void_p),
        ("list_size", c_int64),
        ("offset_size", c_int32),
        ("reserved", c_int32),
    )


class Column(Structure):
    """``InterchangeColumn``."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("version", c_uint32),
        ("flags", c_uint32),
        ("values", c_void_p),
        ("layout", c_int32),
        ("itemsize", c_int32),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("dtype", DType),
        ("level_count", c_int32),
        ("format", c_char_p),
        ("sync_event", c_void_p),
        ("owner", c_void_p),
        ("self", c_void_p),
        ("levels", Level * LEVELS),
    )


_INT = POINTER(c_int)
_OBJECT = POINTER(c_void_p)  # a new reference
_INT64S = POINTER(POINTER(c_int64))
FUNCTIONS = (
    ("array_get_handle", (py_object, POINTER(c_void_p))),
    ("array_get_data_ptr", (c_void_p, POINTER(c_void_p))),
    ("array_get_ndim", (c_void_p, POINTER(c_int64))),
    ("array_get_shape", (c_void_p, _INT64S)),
    ("array_get_strides_in_elements", (c_void_p, _INT64S)),
    ("array_get_device_id", (c_void_p, _INT)),
    ("array_get_dtype", (c_void_p, _INT, _INT)),
    ("array_get_device_type", (c_void_p, _INT)),
    ("array_get_strides_in_bytes", (c_void_p, _INT64S)),
    ("array_get_itemsize", (c_void_p, _INT)),
    ("array_get_readonly", (c_void_p, _INT)),
    ("view", (py_object, POINTER(View))),
    ("view_release", (POINTER(View),)),
    ("view_with", (py_object, POINTER(Request), POINTER(View))),
    ("view_done", (POINTER(View), c_void_p)),
    ("array_from_memory", (POINTER(Memory), _OBJECT)),
    (
        "array_to_dlpack",
        (py_object, POINTER(c_uint32), POINTER(Stream), POINTER(c_int32), c_int, _OBJECT),
    ),
    ("managed_tensor_from", (py_object, POINTER(Stream), POINTER(c_void_p))),
    ("array_from_managed_tensor", (c_void_p, _OBJECT)),
    ("view_format", (POINTER(View), c_char_p, c_size_t)),
    ("view_typestr", (POINTER(View), c_char_p, c_size_t)),
    ("view_column", (py_object, POINTER(Column))),
    ("column_release", (POINTER(Column),)),
)
"""The order is that of the table."""


class Table(Structure):
    """``InterchangeAPI``."""

    _fields_ = (
        ("abi_version", c_uint32),
        ("struct_size", c_size_t),
        *((name, c_void_p) for name, _ in FUNCTIONS),
    )


STRUCTS = {
    "InterchangeView": View,
    "InterchangeStream": Stream,
    "InterchangeDType": DType,
    "InterchangeRequest": Request,
    "InterchangeMemory": Memory,
    "InterchangeColumnLevel": Level,
    "InterchangeColumn": Column,
    "InterchangeAPI": Table,
}
"""The order is that of the list of the ABI."""


def table():
    """Return the table of the capsule."""
    return Table.from_address(capsules.capsule_pointer(interchange._C_API, NAME))


def function(name, *types):
    """Return a function of the table; with `types`, for other arguments than it has."""
    arguments = types or dict(FUNCTIONS)[name]
    return ctypes.PYFUNCTYPE(c_int, *arguments)(getattr(table(), name))


def empty_view():
    """Return what ``INTERCHANGE_VIEW_INIT`` makes."""
    return View(ctypes.sizeof(View), VERSION)


def fill(x, view=None):
    """Return a filled view, which the caller releases."""
    view = empty_view() if view is None else view
    assert function("view")(x, byref(view)) == 0
    return view


def request(*, dtypes=(), stream=None, name=None, order="", **fields):
    """Return a request; `stream` is a handle, or a name of ``STREAMS``."""
    found = Request(ctypes.sizeof(Request), 1, device_id=-1, max_ndim=64)
    found.name = None if name is None else name.encode()
    if stream is not None:
        named = stream in STREAMS
        found.stream.kind = STREAMS.index(stream) if named else 1
        found.stream.handle = 0 if named else stream
    found.order = ord(order) if order else 0
    if dtypes:
        found.dtypes = (DType * len(dtypes))(*(DType(*one) for one in dtypes))
        found.dtype_count = len(dtypes)
    for field, value in fields.items():
        setattr(found, field, value)
    return found


def fill_with(x, view=None, **demands):
    """Return a view that meets demands, which the caller releases."""
    view = empty_view() if view is None else view
    assert function("view_with")(x, byref(request(**demands)), byref(view)) == 0
    return view


def done(view, stream):
    """Hand the memory of a view back, after the work on a stream."""
    assert function("view_done")(byref(view), stream) == 0


def release(view):
    """Release a view."""
    assert function("view_release")(byref(view)) == 0


@contextlib.contextmanager
def viewed(x, **demands):
    """Give a view that meets demands, and release it."""
    view = fill_with(x, **demands) if demands else fill(x)
    try:
        yield view
    finally:
        release(view)


def fields(x, **demands):
    """Return the fields of an object's view, by the names of Array's attributes."""
    with viewed(x, **demands) as view:
        return {
            "ptr": view.data or 0,
            "shape": tuple(view.shape[: view.ndim]),
            "strides": tuple(view.strides[: view.ndim]),
            "itemsize": view.itemsize,
            "dtype": (view.dtype_code, view.dtype_bits, view.dtype_lanes),
            "device": (view.device_type, view.device_id),
            "byte_offset": view.byte_offset,
            "flags": view.flags,
            "stream": view.stream or 0 if view.has_stream else None,
        }


def handle(array):
    """Return the handle of an Array."""
    out = c_void_p()
    assert function("array_get_handle")(array, byref(out)) == 0
    return out


def numbers(name, array):
    """Return the numbers, one per axis, that a getter gives a pointer to."""
    out = POINTER(c_int64)()
    assert function(name)(handle(array), byref(out)) == 0
    return tuple(out[: array.ndim])


def number(name, array, kind=c_int):
    """Return the number that a getter gives."""
    out = kind()
    assert function(name)(handle(array), byref(out)) == 0
    return out.value


def text(name, view, room=16):
    """Return the format or the typestr of a view."""
    out = ctypes.create_string_buffer(room)
    assert function(f"view_{name}")(byref(view), out, room) == 0
    return out.value.decode()


def own(address):
    """Return the object of a new reference."""
    found = ctypes.cast(address, py_object).value
    _decref(found)
    return found


_decref = ctypes.PYFUNCTYPE(None, py_object)(("Py_DecRef", ctypes.pythonapi))


def memory(data, shape, dtype, *, strides=None, deleter=None, stream=None, device=(1, 0), **fields):
    """Return a description of memory; without a deleter it is static."""
    found = Memory(ctypes.sizeof(Memory), 1, 0 if deleter else 2, data, ndim=len(shape))
    found.shape = (c_int64 * len(shape))(*shape)
    found.strides = None if strides is None else (c_int64 * len(shape))(*strides)
    found.device_type, found.device_id = device
    found.dtype = DType(*dtype)
    if stream is not None:
        found.stream = Stream(1, stream)
    if deleter is not None:
        found.deleter = ctypes.cast(deleter, c_void_p)
    for field, value in fields.items():
        setattr(found, field, value)
    return found


def array_from(description):
    """Return an Array over memory of C."""
    out = c_void_p()
    assert function("array_from_memory")(byref(description), byref(out)) == 0
    return own(out)


def export(x, *, max_version=(1, 3), stream=None, device=None, copy=-1):
    """Return a capsule of any array; `stream` is a handle, or a name of ``STREAMS``."""
    out = c_void_p()
    version = None if max_version is None else (c_uint32 * 2)(*max_version)
    where = None if device is None else (c_int32 * 2)(*device)
    given = None if stream is None else request(stream=stream).stream
    assert function("array_to_dlpack")(x, version, given, where, copy, byref(out)) == 0
    return own(out)


def tensor_of(x, stream=None):
    """Return the address of a managed tensor of any array, which the caller deletes."""
    out = c_void_p()
    given = None if stream is None else request(stream=stream).stream
    assert function("managed_tensor_from")(x, given, byref(out)) == 0
    return out.value


def array_from_tensor(address):
    """Return an Array of a managed tensor."""
    out = c_void_p()
    assert function("array_from_managed_tensor")(address, byref(out)) == 0
    return own(out)


def empty_column():
    """Return what ``INTERCHANGE_COLUMN_INIT`` makes."""
    return Column(ctypes.sizeof(Column), VERSION)


@contextlib.contextmanager
def column(x):
    """Give a filled column, and release it."""
    found = empty_column()
    assert function("view_column")(x, byref(found)) == 0
    try:
        yield found
    finally:
        assert function("column_release")(byref(found)) == 0


def elements(found, level=0, first=0, count=None):
    """Return the elements of a level of a column on the host, as a list with None for nulls."""
    at = found.levels[level]
    return [
        _element(found, level, i) if _bit(at.validity, at.bit_offset + i, default=True) else None
        for i in range(first, first + (at.length if count is None else count))
    ]


def _bit(address, place, *, default=False):
    """Return a bit of a buffer; the default if there is none."""
    if not address:
        return default
    return bool(c_uint8.from_address(address + place // 8).value >> place % 8 & 1)


def _element(found, level, i):
    """Return one element: a list, bytes, a bool, or a number."""
    at = found.levels[level]
    start, stop = i * at.list_size, (i + 1) * at.list_size
    if at.offset_size:
        width = {4: c_int32, 8: c_int64}[at.offset_size]
        start, stop = (width * (at.length + 1)).from_address(at.offsets)[i : i + 2]
    if level + 1 < found.level_count:
        return elements(found, level + 1, start, stop - start)
    if found.layout == BITS:
        return _bit(found.values, at.bit_offset + i)
    if found.layout == NUMBERS:
        kind = "iuf"[found.dtype.code]
        number = np.dtype(f"{kind}{found.itemsize}")
        place = found.values + i * found.itemsize
        return np.frombuffer(ctypes.string_at(place, found.itemsize), number)[0].item()
    if found.layout == BYTES:
        start, stop = i * found.itemsize, (i + 1) * found.itemsize
    return ctypes.string_at(found.values + start, stop - start) if stop > start else b""
