"""DLPack of a kernel framework: arrays of Warp from arrays of other libraries, and back, by ctypes.

`from_dlpack` shares the memory of an array as an array of Warp, whose elements may be vectors or
matrices; `to_dlpack` returns a capsule.
"""

import ctypes

import warp as wp

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
NAME, USED = b"dltensor", b"used_dltensor"

Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api = ctypes.pythonapi
api.PyMem_RawMalloc.argtypes = (ctypes.c_size_t,)
api.PyMem_RawMalloc.restype = ctypes.c_void_p
api.PyMem_RawFree.argtypes = (ctypes.c_void_p,)
api.PyMem_RawFree.restype = None
api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, Destructor
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_IsValid.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p


class Device(ctypes.Structure):
    """``DLDevice``."""

    _fields_ = (("kind", ctypes.c_int), ("number", ctypes.c_int))


class Elements(ctypes.Structure):
    """``DLDataType``."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int),
        ("dtype", Elements),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """``DLManagedTensor``, the struct that has no version."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Destructor))


SCALARS = {
    (0, 8): wp.int8,
    (0, 16): wp.int16,
    (0, 32): wp.int32,
    (0, 64): wp.int64,
    (1, 8): wp.uint8,
    (1, 16): wp.uint16,
    (1, 32): wp.uint32,
    (1, 64): wp.uint64,
    (2, 16): wp.float16,
    (2, 32): wp.float32,
    (2, 64): wp.float64,
}
CODES = {scalar: code for code, scalar in SCALARS.items()} | {wp.bool: (6, 8)}
kept = {}  # address of a struct -> what has to live as long


class Holder:
    """Owns a struct of another library."""

    def __init__(self, address):
        self.address = address

    def __del__(self):
        """Hand it back."""
        managed = Managed.from_address(self.address)
        if managed.deleter:
            managed.deleter(self.address)


@Destructor
def release(address):
    """Free a struct of ours."""
    kept.pop(address, None)
    api.PyMem_RawFree(address)


@Destructor
def destroy(address):
    """Release the struct of a capsule that was not consumed."""
    capsule = ctypes.cast(address, ctypes.py_object)
    if api.PyCapsule_IsValid(capsule, NAME):
        release(api.PyCapsule_GetPointer(capsule, NAME))


def scalar_of(dtype):
    """Return the type of single elements, and the shape of an element."""
    scalar = getattr(dtype, "_wp_scalar_type_", None)
    return (scalar, tuple(dtype._shape_)) if scalar is not None else (dtype, ())


def matches(code, bits, scalar):
    """Tell whether elements can be read as a type: integers may differ in their sign."""
    if code in (0, 1):
        return scalar in (SCALARS.get((0, bits)), SCALARS.get((1, bits)))
    return SCALARS.get((code, bits)) is scalar


def device_of(device):
    """Return the device of Warp."""
    if device.kind in (CPU, CUDA_HOST):
        return wp.get_device("cpu")
    if device.kind in (CUDA, CUDA_MANAGED):
        return wp.get_device(f"cuda:{device.number}")
    message = f"Warp has no device of type {device.kind}"
    raise RuntimeError(message)


def layout(shape, strides, itemsize, dtype):
    """Return shape and strides [bytes] without the axes of an element of Warp."""
    scalar, inner = scalar_of(dtype)
    if not inner:
        return shape, strides, scalar
    if shape[-len(inner) :] != inner:
        message = f"an array of shape {shape} has no elements of shape {inner}"
        raise RuntimeError(message)
    if strides is not None:
        expected = itemsize
        for extent, stride in zip(reversed(inner), reversed(strides), strict=False):
            if stride != expected:
                message = "the elements of a vector do not follow each other"
                raise RuntimeError(message)
            expected *= extent
        strides = strides[: -len(inner)] or (itemsize,)
    return shape[: -len(inner)] or (1,), strides, scalar


def imported(capsule, dtype):
    """Return an array of Warp, and take the capsule."""
    if not api.PyCapsule_IsValid(capsule, NAME):
        message = "not a capsule of DLPack, or a consumed one"
        raise RuntimeError(message)
    address = api.PyCapsule_GetPointer(capsule, NAME)
    tensor = Managed.from_address(address).tensor
    code, bits = tensor.dtype.code, tensor.dtype.bits
    shape, strides = tuple(tensor.shape[: tensor.ndim]), None
    if tensor.strides:
        strides = tuple(stride * bits // 8 for stride in tensor.strides[: tensor.ndim])
    if tensor.dtype.lanes > 1:
        shape = (*shape, tensor.dtype.lanes)
        strides = strides and (*strides, bits // 8)
    if dtype is None:
        if (code, bits) not in SCALARS:
            message = f"Warp has no elements of code {code} and {bits} bits"
            raise RuntimeError(message)
        dtype = SCALARS[code, bits]
    shape, strides, scalar = layout(shape, strides, bits // 8, dtype)
    if not matches(code, bits, scalar):
        message = f"elements of code {code} and {bits} bits are not {scalar}"
        raise RuntimeError(message)
    array = wp.array(
        ptr=tensor.data,
        dtype=dtype,
        shape=shape,
        strides=strides,
        copy=False,
        device=device_of(tensor.device),
        pinned=tensor.device.kind == CUDA_HOST,
    )
    array.holder = Holder(address)
    api.PyCapsule_SetName(capsule, USED)
    return array


def from_dlpack(source, dtype=None):
    """Return an array of Warp that shares the memory of an array or a capsule."""
    if not hasattr(source, "__dlpack__"):
        return imported(source, dtype)
    kind, number = source.__dlpack_device__()
    if kind not in (CUDA, CUDA_MANAGED):
        return imported(source.__dlpack__(), dtype)
    stream = wp.get_device(f"cuda:{number}").stream
    return imported(source.__dlpack__(stream=stream.cuda_stream or 1), dtype)


def to_dlpack(array):
    """Return a capsule with the memory of an array of Warp."""
    scalar, inner = scalar_of(array.dtype)
    if scalar not in CODES:
        message = f"elements of type {scalar} cannot be described by DLPack"
        raise RuntimeError(message)
    itemsize = ctypes.sizeof(scalar._type_)
    shape, strides = [*array.shape, *inner], [stride // itemsize for stride in array.strides]
    strides += [1] if len(inner) == 1 else [inner[1], 1] if inner else []
    address = api.PyMem_RawMalloc(ctypes.sizeof(Managed))
    if not address:
        raise MemoryError
    extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *strides)
    managed = Managed.from_address(address)
    tensor = managed.tensor
    tensor.data, tensor.byte_offset, tensor.ndim = array.ptr, 0, len(shape)
    tensor.device = Device(CUDA, array.device.ordinal) if array.device.is_cuda else Device(CPU, 0)
    if array.pinned:
        tensor.device = Device(CUDA_HOST, 0)
    tensor.dtype = Elements(*CODES[scalar], 1)
    tensor.shape = extents
    tensor.strides = ctypes.pointer(ctypes.c_int64.from_buffer(extents, 8 * len(shape)))
    managed.context, managed.deleter = None, release
    kept[address] = array, extents
    return api.PyCapsule_New(address, NAME, destroy)
