"""The array argument of a transport: address, size and layout of host or device memory, by ctypes.

`Array(x)` describes an object with a buffer or with the CUDA Array Interface; what is sent or
received is `nbytes` at `ptr`.
"""

import ctypes

import numpy as np

FULL_READ_ONLY = 0x11C

api = ctypes.PyDLL(None)  # prototypes on ctypes.pythonapi would be those of every library

SIZES = {
    "|b1": 1, "|i1": 1, "|u1": 1, "<i2": 2, ">i2": 2, "<u2": 2, ">u2": 2, "<i4": 4, ">i4": 4,
    "<u4": 4, ">u4": 4, "<i8": 8, ">i8": 8, "<u8": 8, ">u8": 8, "<f2": 2, ">f2": 2, "<f4": 4,
    ">f4": 4, "<f8": 8, ">f8": 8, "<c8": 8, ">c8": 8, "<c16": 16, ">c16": 16,
}  # fmt: skip


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
api.PyBuffer_IsContiguous.argtypes = ctypes.POINTER(Buffer), ctypes.c_char


def c_strides(itemsize, shape):
    """Return the strides of C order [bytes]."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


class Array:
    """Memory of the host or of a device."""

    def __init__(self, x):
        record = getattr(x, "__cuda_array_interface__", None)
        self.cuda = record is not None
        if self.cuda:
            self._read_record(x, record)
        else:
            self._read_buffer(x)

    def _read_record(self, x, record):
        """Take the description of device memory."""
        if record.get("mask") is not None:
            message = "masks are not supported"
            raise NotImplementedError(message)
        self.obj = x
        self.ptr, self.readonly = record["data"]
        typestr = record["typestr"]
        if not typestr:
            message = "the type of the elements is missing"
            raise ValueError(message)
        self.itemsize = SIZES.get(typestr) or np.dtype(typestr).itemsize
        self.shape, strides = tuple(record["shape"]), record.get("strides")
        self.ndim = len(self.shape)
        if strides is not None and len(strides) != self.ndim:
            message = "shape and strides differ in their length"
            raise ValueError(message)
        self._strides = None if strides is None else tuple(strides)

    def _read_buffer(self, x):
        """Take the description of a buffer."""
        view = Buffer()
        api.PyObject_GetBuffer(x, ctypes.byref(view), FULL_READ_ONLY)
        try:
            if view.suboffsets:
                message = "suboffsets are not supported"
                raise NotImplementedError(message)
            self.obj, self.ptr = view.obj, view.buf
            self.readonly, self.ndim = bool(view.readonly), view.ndim
            self.itemsize = view.itemsize
            self.shape, self._strides = tuple(view.shape[: view.ndim]), None
            if not api.PyBuffer_IsContiguous(ctypes.byref(view), b"C"):
                self._strides = tuple(view.strides[: view.ndim])
        finally:
            api.PyBuffer_Release(ctypes.byref(view))

    @property
    def strides(self):
        """The step along each axis [bytes]."""
        if self._strides is None:
            return c_strides(self.itemsize, self.shape)
        return self._strides

    @property
    def nbytes(self):
        """The size [bytes]."""
        size = self.itemsize
        for extent in self.shape:
            size *= extent
        return size

    @property
    def c_contiguous(self):
        """Whether the elements are in C order."""
        return self._strides is None or self._strides == c_strides(self.itemsize, self.shape)

    @property
    def f_contiguous(self):
        """Whether the elements are in Fortran's order."""
        expected = c_strides(self.itemsize, self.shape[::-1])[::-1]
        return self.ndim <= 1 if self._strides is None else self._strides == expected

    @property
    def contiguous(self):
        """Whether the elements are in either order."""
        return self.c_contiguous or self.f_contiguous


def asarray(x):
    """Return a description of memory; one is passed through."""
    return x if isinstance(x, Array) else Array(x)
