"""The C struct of the buffer protocol, as far as needed for the address of a memoryview.

Source: PEP 3118; ``Py_buffer`` is part of CPython's stable ABI since 3.11 and had the same layout
before.
"""

from __future__ import annotations

import ctypes
from typing import Final

from . import capsules


class Py_buffer(ctypes.Structure):  # noqa: N801 - the C name
    """A view of a buffer, as ``PyObject_GetBuffer`` fills it."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),  # [bytes]
        ("itemsize", ctypes.c_ssize_t),  # [bytes]
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),  # [bytes]
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


_FULL_READ_ONLY: Final = 0x11C  # PyBUF_FULL_RO: indirect, strided, with format

_get_buffer: Final = capsules.python_function(
    "PyObject_GetBuffer", ctypes.c_int, ctypes.py_object, ctypes.POINTER(Py_buffer), ctypes.c_int
)
_release_buffer: Final = capsules.python_function("PyBuffer_Release", None)  # needs no memory


def buffer_address(view: memoryview) -> int:
    """Return the address of the first element of `view`; valid while `view` is not released.

    Examples
    --------
    >>> buffer_address(memoryview(b"abc")) != 0
    True
    """
    struct = Py_buffer()
    reference = ctypes.byref(struct)
    try:  # an interrupt is raised after the call has returned: inside the block
        _get_buffer(view, reference, _FULL_READ_ONLY)
        return struct.buf or 0
    finally:
        _release_buffer(reference)  # nothing to release
