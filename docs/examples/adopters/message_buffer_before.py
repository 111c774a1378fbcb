"""Arguments of a message-passing library: the memory of an array and its MPI datatype, by ctypes.

`message(x)` is what an MPI function is passed: an address, a number of elements and a datatype.
`message(x, receive=True)` is of memory that is written.
"""

import ctypes
from typing import Any, NamedTuple

CPU = 1
LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY = 1
WRITABLE, FORMAT, ANY_CONTIGUOUS = 0x1, 0x4, 0x98

api = ctypes.PyDLL(None)  # prototypes on ctypes.pythonapi would be those of every library
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_IsValid.argtypes = ctypes.py_object, ctypes.c_char_p


class Buffer(ctypes.Structure):
    """``Py_buffer``."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


api.PyObject_GetBuffer.argtypes = ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int
api.PyBuffer_Release.argtypes = (ctypes.POINTER(Buffer),)
api.PyBuffer_Release.restype = None


class Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("kind", ctypes.c_int),
        ("number", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """``DLManagedTensorVersioned``; the older struct begins with its tensor."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Message(NamedTuple):
    """What an MPI function is passed, and what owns the memory."""

    address: int
    count: int
    datatype: str
    owner: Any


class Held:
    """Holds a buffer until it is dropped."""

    def __init__(self, x, flags):
        self.view = Buffer()
        api.PyObject_GetBuffer(x, ctypes.byref(self.view), flags)

    def __del__(self):
        """Release the buffer."""
        if self.view.len or self.view.buf:
            api.PyBuffer_Release(ctypes.byref(self.view))


FORMATS = {
    "?": "MPI_C_BOOL", "b": "MPI_SIGNED_CHAR", "B": "MPI_UNSIGNED_CHAR", "c": "MPI_CHAR",
    "h": "MPI_SHORT", "H": "MPI_UNSIGNED_SHORT", "i": "MPI_INT", "I": "MPI_UNSIGNED",
    "l": "MPI_LONG", "L": "MPI_UNSIGNED_LONG", "q": "MPI_LONG_LONG", "Q": "MPI_UNSIGNED_LONG_LONG",
    "f": "MPI_FLOAT", "d": "MPI_DOUBLE", "Zf": "MPI_C_FLOAT_COMPLEX", "Zd": "MPI_C_DOUBLE_COMPLEX",
}  # fmt: skip
CODES = {
    (6, 8): "MPI_C_BOOL", (0, 8): "MPI_SIGNED_CHAR", (1, 8): "MPI_UNSIGNED_CHAR",
    (0, 16): "MPI_SHORT", (1, 16): "MPI_UNSIGNED_SHORT", (0, 32): "MPI_INT",
    (1, 32): "MPI_UNSIGNED", (0, 64): "MPI_LONG", (1, 64): "MPI_UNSIGNED_LONG",
    (2, 32): "MPI_FLOAT", (2, 64): "MPI_DOUBLE", (5, 64): "MPI_C_FLOAT_COMPLEX",
    (5, 128): "MPI_C_DOUBLE_COMPLEX",
}  # fmt: skip
TYPESTRS = {
    "b1": "MPI_C_BOOL", "i1": "MPI_SIGNED_CHAR", "u1": "MPI_UNSIGNED_CHAR", "i2": "MPI_SHORT",
    "u2": "MPI_UNSIGNED_SHORT", "i4": "MPI_INT", "u4": "MPI_UNSIGNED", "i8": "MPI_LONG",
    "u8": "MPI_UNSIGNED_LONG", "f4": "MPI_FLOAT", "f8": "MPI_DOUBLE",
    "c8": "MPI_C_FLOAT_COMPLEX", "c16": "MPI_C_DOUBLE_COMPLEX",
}  # fmt: skip


def of_buffer(x, receive):
    """Return the message of an object with a buffer."""
    held = Held(x, ANY_CONTIGUOUS | FORMAT | (WRITABLE if receive else 0))
    view = held.view
    letters = (view.format or b"B").decode().lstrip("@=<")
    if letters not in FORMATS:
        message = f"no MPI datatype for elements of format {letters}"
        raise BufferError(message)
    return Message(view.buf or 0, view.len // view.itemsize, FORMATS[letters], held)


def is_contiguous(shape, strides, first):
    """Tell whether elements follow each other, from the first or the last axis on."""
    axes = list(zip(shape, strides, strict=True))
    expected = 1
    for extent, stride in axes if first else reversed(axes):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True


def elements_of(shape):
    """Return the number of elements."""
    count = 1
    for extent in shape:
        if extent < 0:
            message = "an extent is negative"
            raise BufferError(message)
        count *= extent
    return count


def of_dlpack(x, receive):
    """Return the message of an object with DLPack."""
    kind, _ = x.__dlpack_device__()
    stream = {} if kind == CPU else {"stream": -1}
    name = VERSIONED
    try:
        capsule = x.__dlpack__(**stream, max_version=(1, 0), copy=False)
    except TypeError:
        name = LEGACY
        capsule = x.__dlpack__(**stream)
    if not api.PyCapsule_IsValid(capsule, name):
        message = "the capsule is of another version"
        raise BufferError(message)
    address = api.PyCapsule_GetPointer(capsule, name)
    if name == VERSIONED:
        managed = Managed.from_address(address)
        tensor, readonly = managed.tensor, bool(managed.flags & READ_ONLY)
    else:
        tensor, readonly = Tensor.from_address(address), False
    if receive and readonly:
        message = "the memory is read-only"
        raise BufferError(message)
    shape = tensor.shape[: tensor.ndim]
    if tensor.strides:
        strides = tensor.strides[: tensor.ndim]
        if not any(is_contiguous(shape, strides, first) for first in (False, True)):
            message = "the memory is not contiguous"
            raise BufferError(message)
    datatype = CODES.get((tensor.code, tensor.bits))
    if datatype is None or tensor.lanes != 1:
        message = f"no MPI datatype for code {tensor.code} of {tensor.bits} bits"
        raise BufferError(message)
    start = (tensor.data or 0) + tensor.byte_offset
    return Message(start, elements_of(shape), datatype, capsule)


def of_cai(x, receive):
    """Return the message of an object with the CUDA Array Interface."""
    record = x.__cuda_array_interface__
    address, readonly = record["data"]
    if receive and readonly:
        message = "the memory is read-only"
        raise BufferError(message)
    if record.get("mask") is not None:
        message = "masks are not supported"
        raise BufferError(message)
    order, letters = record["typestr"][0], record["typestr"][1:]
    if order == ">" or letters not in TYPESTRS:
        message = f"no MPI datatype for elements of type {record['typestr']}"
        raise BufferError(message)
    itemsize, shape = int(letters[1:]), record["shape"]
    if record.get("strides") is not None:
        strides = [stride // itemsize for stride in record["strides"]]
        if not any(is_contiguous(shape, strides, first) for first in (False, True)):
            message = "the memory is not contiguous"
            raise BufferError(message)
    return Message(address, elements_of(shape), TYPESTRS[letters], x)


def message(x, *, receive=False):
    """Return the message that an array is."""
    if hasattr(x, "__dlpack__"):
        return of_dlpack(x, receive)
    if hasattr(x, "__cuda_array_interface__"):
        return of_cai(x, receive)
    return of_buffer(x, receive)
