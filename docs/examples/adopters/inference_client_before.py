"""Exchange of tensors with a region of shared memory: DLPack by ctypes, as a client has it.

`set_region` copies tensors into a region that a server reads, `Region.tensor` describes a part of
the region as a producer of DLPack.
"""

import ctypes
from multiprocessing.shared_memory import SharedMemory

CPU = 1
NAME = b"dltensor"

Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, Destructor
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_IsValid.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyMem_RawMalloc.restype = ctypes.c_void_p
api.PyMem_RawMalloc.argtypes = (ctypes.c_size_t,)
api.PyMem_RawFree.argtypes = (ctypes.c_void_p,)
api.PyMem_RawFree.restype = None


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


CODES = {
    "BOOL": (6, 8),
    "INT8": (0, 8),
    "INT16": (0, 16),
    "INT32": (0, 32),
    "INT64": (0, 64),
    "UINT8": (1, 8),
    "UINT16": (1, 16),
    "UINT32": (1, 32),
    "UINT64": (1, 64),
    "FP16": (2, 16),
    "FP32": (2, 32),
    "FP64": (2, 64),
    "BF16": (4, 16),
}
kept = {}  # address of a struct -> what has to live as long


@Destructor
def release(address):
    """Free a struct, and what it refers to."""
    kept.pop(address, None)
    api.PyMem_RawFree(address)


@Destructor
def destroy(address):
    """Release the struct of a capsule that was not consumed."""
    capsule = ctypes.cast(address, ctypes.py_object)
    if api.PyCapsule_IsValid(capsule, NAME):
        release(api.PyCapsule_GetPointer(capsule, NAME))


def elements(datatype):
    """Return the element type of a name."""
    if datatype not in CODES:
        message = f"elements of type {datatype} cannot be described by DLPack"
        raise ValueError(message)
    code, bits = CODES[datatype]
    return Elements(code, bits, 1)


def size_of(dtype, shape):
    """Return the size of a tensor [bytes]."""
    size = dtype.bits * dtype.lanes // 8
    for extent in shape:
        size *= extent
    return size


def is_c_order(shape, strides):
    """Tell whether the elements follow each other; strides are None or [elements]."""
    if strides is None:
        return True
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != expected:
            return False
        expected *= extent
    return True


class View:
    """A part of a region, as a producer of DLPack."""

    def __init__(self, region, datatype, shape, offset):
        self.region, self.datatype, self.shape, self.offset = region, datatype, shape, offset

    def __dlpack_device__(self):
        """Return the device: the host."""
        return CPU, 0

    def __dlpack__(self, stream=None):
        """Return a capsule of the struct without a version."""
        if stream is not None:
            message = "host memory has no streams"
            raise ValueError(message)
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        address = api.PyMem_RawMalloc(ctypes.sizeof(Managed))
        if not address:
            raise MemoryError
        managed = Managed.from_address(address)
        tensor = managed.tensor
        tensor.data, tensor.byte_offset = self.region.address + self.offset, 0
        tensor.device, tensor.ndim = Device(CPU, 0), len(self.shape)
        tensor.dtype = elements(self.datatype)
        tensor.shape = shape
        tensor.strides = None
        managed.context, managed.deleter = None, release
        kept[address] = shape, self.region
        return api.PyCapsule_New(address, NAME, destroy)


class Region:
    """A block of shared memory."""

    def __init__(self, name, size, *, create=True):
        self.block = SharedMemory(name, create=create, size=size)
        self.size = size
        self.buffer = (ctypes.c_char * size).from_buffer(self.block.buf)
        self.address = ctypes.addressof(self.buffer)

    def tensor(self, datatype, shape, offset=0):
        """Return a part of the memory as a producer of arrays."""
        if offset + size_of(elements(datatype), shape) > self.size:
            message = "the tensor does not fit into the region"
            raise ValueError(message)
        return View(self, datatype, tuple(shape), offset)

    def close(self):
        """Unmap and remove the block."""
        del self.buffer
        self.block.close()
        self.block.unlink()


def capsule_of(x):
    """Return the capsule of a tensor; a bare capsule is passed through."""
    if not hasattr(x, "__dlpack__"):
        return x
    kind, _ = x.__dlpack_device__()
    if kind != CPU:
        message = f"the memory is on a device of type {kind}"
        raise ValueError(message)
    return x.__dlpack__()


def set_region(region, tensors):
    """Copy tensors into a region, one after the other; return the offset of each [bytes]."""
    offsets, end = [], 0
    for x in tensors:
        capsule = capsule_of(x)
        tensor = Managed.from_address(api.PyCapsule_GetPointer(capsule, NAME)).tensor
        shape = tensor.shape[: tensor.ndim]
        strides = tensor.strides[: tensor.ndim] if tensor.strides else None
        if not is_c_order(shape, strides):
            message = "only tensors in C order can be copied"
            raise ValueError(message)
        size = size_of(tensor.dtype, shape)
        if end + size > region.size:
            message = "the tensors do not fit into the region"
            raise ValueError(message)
        ctypes.memmove(region.address + end, tensor.data + tensor.byte_offset, size)
        offsets.append(end)
        end += size
    return offsets
