"""Reads a DLPack capsule with ctypes."""

import ctypes


class DLTensor(ctypes.Structure):
    """dlpack.h; the device and the element type are not read."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = ctypes.py_object, ctypes.c_char_p


def describe(x):
    """Return an owner of the memory of x, its address, shape and strides [elements]."""
    capsule = x.__dlpack__()
    tensor = DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim])
    return capsule, tensor.data + tensor.byte_offset, shape, strides
