"""The rules of interfaces that use a record or a buffer.

Source: CUDA Array Interface, version 3 (*CAI*); NumPy array interface, version 3; PEP 3118.
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_CAI: Final = (
    Rule(
        "CAI-DICT-1",
        "the interface is a dict with 'shape', 'typestr' and 'data'",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-SHAPE-1",
        "shape is a tuple of ints, each between 0 and 2**63 - 1",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-STRIDES-1",
        "strides is None, for C order, or a tuple of ints that count bytes",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-STRIDES-2",
        "strides has one entry per axis",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-DATA-1",
        "data is a tuple of an address below 2**64 and a read-only flag",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-DATA-2",
        "the address is 0 for arrays without elements, and only for those",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-DATA-3",
        "the driver knows the address as device memory, or as host memory that a device can access",
        "exchange plain host memory through __array_interface__, a buffer or DLPack",
        "CAI, data",
    ),
    Rule(
        "CAI-DATA-4",
        "the elements lie within the allocation that the address belongs to",
        "fix the shape, strides or address of the producer's record",
        "CUDA driver API, CU_POINTER_ATTRIBUTE_RANGE_SIZE",
    ),
    Rule(
        "CAI-DATA-5",
        "the record of an object describes the same memory each time it is read",
        "import the object again after a change",
        "interchange",
    ),
    Rule(
        "CAI-TYPESTR-1",
        "typestr is a byte order (<, > or |), a kind and a size, such as '<f4'",
        "fix the producer",
        "NumPy array interface, typestr",
    ),
    Rule(
        "CAI-TYPESTR-2",
        "typestr does not distinguish this element type from others of its size",
        "name the element type, or give the object a dtype attribute that does",
        "CAI, typestr",
    ),
    Rule(
        "CAI-VER-1",
        "version is an int of 0 or more",
        "fix the producer",
        "CAI, Python Interface Specification",
    ),
    Rule(
        "CAI-STREAM-1",
        "stream is None, 1, 2 or a handle, and never 0",
        "publish 1 for the legacy default stream, None when nothing is pending",
        "CAI, Synchronization",
    ),
    Rule(
        "CAI-STREAM-2",
        "synchronizing on the published stream is enough for all pending work on the data",
        "order the other streams before the published one",
        "CAI, Synchronization",
    ),
    Rule(
        "CAI-MASK-1",
        "DLPack cannot represent masked arrays",
        "fill the masked elements, or exchange data and mask as two arrays",
        "CAI, mask",
    ),
    Rule(
        "CAI-MASK-2",
        "a mask is an object with __cuda_array_interface__ whose shape broadcasts to the "
        "shape of the data",
        "fix the producer",
        "CAI, mask",
    ),
    Rule(
        "CAI-DESCR-1",
        "DLPack cannot represent structured elements",
        "exchange the fields one by one",
        "CAI, descr",
    ),
    Rule(
        "CAI-DEV-1",
        "the interface describes memory that a device can access: device, managed or "
        "page-locked memory",
        "move the array to a device first",
        "CAI, data",
    ),
    Rule(
        "CAI-LIFE-1",
        "the record owns no memory, so the consumer keeps the exporting object alive",
        "keep a reference to the exporting object",
        "CAI, Lifetime management",
    ),
    Rule(
        "CAI-ATTR-1",
        "an object without device memory has no __cuda_array_interface__, so that hasattr() works",
        "raise AttributeError, and no other exception",
        "interchange",
    ),
)

_HOST: Final = (
    Rule(
        "HOST-CTYPES-1",
        "prototypes are set on a private PyDLL, never on the one that all libraries share",
        "use interchange.abi",
        "interchange",
    ),
    Rule(
        "BUF-1",
        "an object with the buffer protocol exports a buffer",
        "pass bytes, bytearray, memoryview, array.array, a ctypes array or a library's array",
        "PEP 3118",
    ),
    Rule(
        "BUF-SUBOFFSETS-1",
        "strides cannot describe a buffer with suboffsets, whose rows are separate blocks",
        "copy the rows into one block",
        "PEP 3118",
    ),
    Rule(
        "BUF-FORMAT-1",
        "a buffer's format is one native element without padding, such as 'f' or '<i'",
        "cast the memoryview, or pass an array with a plain dtype",
        "PEP 3118, struct format",
    ),
    Rule(
        "BUF-FORMAT-2",
        "the buffer protocol has no format for this element type",
        "use DLPack, or view the array as unsigned integers of the same size",
        "PEP 3118",
    ),
    Rule(
        "AI-1",
        "an object to import has __array_interface__ with shape, typestr and a host address",
        "pass an object that has one",
        "NumPy array interface",
    ),
    Rule(
        "AI-MASK-1",
        "a plain array cannot represent masked or null elements",
        "fill the masked elements, or exchange data and mask as two arrays",
        "NumPy array interface",
    ),
    Rule(
        "AI-ARRAY-1",
        "__array__ may copy, cast and replace nulls by NaN, so it is called only to share memory",
        "pass `copy=True` to accept what its __array__ returns",
        "NumPy, Interoperability with NumPy, The __array__() method",
        "SHOULD",
    ),
    Rule(
        "AI-ARRAY-2",
        "__array__() returns an ndarray",
        "fix the producer",
        "NumPy, Interoperability with NumPy, The __array__() method",
        "SHOULD",
    ),
    Rule(
        "AI-DESCR-1",
        "DLPack cannot represent structured elements",
        "exchange the fields one by one",
        "NumPy array interface",
    ),
)

INTERFACES: Final = _CAI + _HOST
"""Device memory first, then host memory."""
