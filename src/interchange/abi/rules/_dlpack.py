"""The rules of DLPack: capsules, versions, life, devices, elements, layout, streams, negotiation.

Source: dlpack.h 1.3 (*header*); the Python specification of DLPack (*spec*); array API standard
2025.12 (*standard*).
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_CAPSULES: Final = (
    Rule(
        "DLP-CAP-1",
        "a capsule to consume is named 'dltensor' or 'dltensor_versioned'",
        "pass a capsule as its producer made it, or the producer itself",
        "spec, PyCapsule names",
    ),
    Rule(
        "DLP-CAP-2",
        "a capsule is consumed once, and its name then begins with 'used_'",
        "ask the producer for a fresh capsule",
        "spec, Implementation",
    ),
    Rule(
        "DLP-CAP-3",
        "__dlpack__() returns a PyCapsule",
        "mend the producer, or describe its memory with `from_pointer`",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-CAP-4",
        "the name of a capsule is a static string",
        "keep the bytes of the name for the life of the process",
        "spec, PyCapsule names",
    ),
    Rule(
        "DLP-CAP-5",
        "consuming takes the pointer, renames, and clears the destructor before anything can fail",
        "rename first, then validate",
        "spec, Implementation",
    ),
    Rule(
        "DLP-CAP-6",
        "every call of __dlpack__() gives a fresh capsule, which is released whatever becomes of "
        "the others",
        "allocate one struct per capsule, or count the capsules that share one",
        "spec, Implementation",
    ),
)

_VERSIONS: Final = (
    Rule(
        "DLP-VER-1",
        "with a foreign major version only the deleter is called, and nothing else is read",
        "ask the producer for version 1.3 or lower, or update interchange",
        "header, DLManagedTensorVersioned",
    ),
    Rule(
        "DLP-VER-2",
        "max_version is None or a tuple of two ints",
        "pass a tuple such as (1, 3)",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-VER-3",
        "a consumer looks at the capsule's name and at version.major, whatever it asked for",
        "dispatch on the name of the capsule",
        "standard, array.__dlpack__ notes",
    ),
    Rule(
        "DLP-VER-4",
        "a request for major version 1 or newer is answered with the versioned struct",
        "export 'dltensor_versioned' when max_version >= (1, 0)",
        "standard, array.__dlpack__ notes",
        "SHOULD",
    ),
)

_LIFE: Final = (
    Rule(
        "DLP-LIFE-1",
        "the deleter of a consumed tensor runs exactly once, when its last view dies",
        "own the struct in one place",
        "header, deleter",
    ),
    Rule(
        "DLP-LIFE-2",
        "an unconsumed capsule runs the deleter when it dies",
        "give the capsule a destructor that looks at its name",
        "spec, PyCapsule destructor",
    ),
    Rule(
        "DLP-LIFE-3",
        "a deleter may run on any thread, without the GIL, and after the interpreter is gone",
        "take the GIL inside the deleter, and leak when Python is down",
        "spec, deleter",
    ),
    Rule(
        "DLP-LIFE-4",
        "a deleter or destructor is native code that leaves a pending exception in place",
        "never pass a Python callback as a C function pointer",
        "interchange",
    ),
    Rule(
        "DLP-LIFE-5",
        "a NULL deleter means there is nothing to release",
        "test the pointer before the call",
        "header, deleter",
    ),
    Rule(
        "DLP-LIFE-6",
        "native deleters that fail the self-test are not used, so no memory is exchanged by them",
        "install a NumPy release that this version of interchange was tested with",
        "interchange",
    ),
    Rule(
        "DLP-LIFE-7",
        "what a struct says stays as its producer wrote it, and several capsules may share one",
        "copy what is to be changed, such as the strides",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "DLP-LIFE-8",
        "manager_ctx is the producer's own and may be NULL",
        "look at none of it, and call the deleter",
        "header, DLManagedTensorVersioned.manager_ctx",
    ),
)

_DEVICES: Final = (
    Rule(
        "DLP-DEV-1",
        "a device type is one of the numbers of DLDeviceType",
        "pass 'cpu', 'cuda', 'cuda:1', a (type, id) tuple or a Device; for newer types update",
        "header, DLDeviceType",
    ),
    Rule(
        "DLP-DEV-2",
        "__dlpack_device__() returns a tuple of two ints",
        "mend the producer",
        "standard, array.__dlpack_device__",
    ),
    Rule(
        "DLP-DEV-3",
        "the capsule is on the device that __dlpack_device__() said, or on memory akin to it",
        "mend the producer so that both agree",
        "spec, Reference implementations",
    ),
    Rule(
        "DLP-DEV-4",
        "dl_device is None or a tuple of two ints",
        "pass a tuple such as (1, 0)",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-DEV-5",
        "a producer that cannot hand memory to dl_device raises BufferError",
        "move the array with the library that owns the device first",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-DEV-6",
        "the host reads what it can reach, and drivers of CUDA and ROCm copy to and from theirs",
        "copy it to the host first, or use the library that owns the device",
        "interchange",
    ),
    Rule(
        "DLP-DEV-7",
        "an exchange leaves the device and context current that were current before",
        "push the context that a call needs, and pop it on every path",
        "CUDA driver API, Context Management",
        "SHOULD",
    ),
    Rule(
        "DLP-DEV-8",
        "a producer is asked with its device current: some order the current device's stream alone",
        "make the producer's device current around its __dlpack__ and the reading of a record",
        "practice of CuPy and PyTorch; the standard is silent",
        "SHOULD",
    ),
    Rule(
        "DLP-DEV-9",
        "a struct says the device that its address is on",
        "describe the memory with the ordinal that its driver tells of the address",
        "header, DLDevice",
    ),
)

_DTYPES: Final = (
    Rule(
        "DLP-DTYPE-1",
        "an element type is a known code with bits and lanes that are legal for it",
        "cast the array to a type that both sides know",
        "header, DLDataTypeCode",
    ),
    Rule(
        "DLP-DTYPE-2",
        "bits and lanes are at least 1",
        "mend the producer",
        "header, DLDataType",
    ),
    Rule(
        "DLP-DTYPE-3",
        "elements are in native byte order, and plain: no structs, objects, times or text",
        "turn them into plain numbers on the producer's side",
        "header, DLDataType",
    ),
    Rule(
        "DLP-DTYPE-4",
        "this protocol has no name for the element type",
        "use another protocol, or view the array as unsigned integers of the same size",
        "interchange",
    ),
    Rule(
        "DLP-DTYPE-5",
        "packed elements below 8 bits have no address of their own, so no views are made of them",
        "unpack on the producer's side, or take the array as a whole",
        "header, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
    ),
    Rule(
        "DLP-DTYPE-6",
        "the elements in memory are the values: nothing is left to be conjugated or negated",
        "let the producer's library apply it first",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-DTYPE-7",
        "what an opaque handle refers to is known to its producer alone, and kept alive by nobody",
        "name the element type where they are imported, if the handles are yours",
        "header, DLDataTypeCode, kDLOpaqueHandle",
        "SHOULD",
    ),
)

_LAYOUT: Final = (
    Rule(
        "DLP-SHAPE-1",
        "ndim is between 0 and 64",
        "mend the producer, or reshape to fewer axes",
        "header, DLTensor.ndim",
    ),
    Rule(
        "DLP-SHAPE-2",
        "shape is a pointer to ndim extents, NULL only for ndim 0",
        "mend the producer",
        "header, DLTensor.shape",
    ),
    Rule(
        "DLP-SHAPE-3",
        "an extent is at least 0",
        "mend the producer",
        "header, DLTensor.shape",
    ),
    Rule(
        "DLP-SHAPE-4",
        "the number of elements and of bytes fit in a signed 64-bit integer",
        "mend the producer",
        "interchange",
    ),
    Rule(
        "DLP-STRIDES-1",
        "exported strides are never NULL for ndim > 0; a consumer takes NULL as C order",
        "fill the strides",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-2",
        "strides stay within the 64-bit address range on both sides of the first element",
        "mend the producer",
        "interchange",
    ),
    Rule(
        "DLP-STRIDES-3",
        "byte strides along an axis longer than 1 are whole multiples of the element size",
        "make a contiguous copy on the producer's side",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-4",
        "strides count elements, not bytes",
        "divide by the element size",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-5",
        "memory is described by strides: sparse, nested and other layouts have none",
        "make a dense array on the producer's side",
        "header, DLTensor.strides",
        "SHOULD",
    ),
    Rule(
        "DLP-DATA-1",
        "data is not NULL when the array has elements",
        "mend the producer",
        "header, DLTensor.data",
    ),
    Rule(
        "DLP-DATA-2",
        "the first element is at data + byte_offset, within the address range",
        "mend the producer",
        "header, DLTensor.byte_offset",
    ),
    Rule(
        "DLP-DATA-3",
        "data of an empty array is NULL, and is never dereferenced",
        "export NULL",
        "header, DLTensor.data",
        "QUIRK",
    ),
)

_READ_ONLY_AND_COPIES: Final = (
    Rule(
        "DLP-RO-1",
        "only the versioned struct can say that memory is read-only",
        "ask for version 1.0 or newer, or export a copy",
        "header, DLPACK_FLAG_BITMASK_READ_ONLY",
    ),
    Rule(
        "DLP-RO-2",
        "the read-only flag survives every re-export",
        "carry the flag",
        "header, DLPACK_FLAG_BITMASK_READ_ONLY",
    ),
    Rule(
        "DLP-RO-3",
        "read-only memory is not written, nor handed to a library that would forget the flag",
        "write to a copy",
        "interchange",
    ),
    Rule(
        "DLP-COPY-1",
        "copy=False never copies",
        "allow the copy with `copy=None`",
        "standard, from_dlpack",
    ),
    Rule(
        "DLP-COPY-2",
        "copy=True always copies, and the copy is flagged IS_COPIED",
        "make the copy and set the flag",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-COPY-3",
        "copy is None, True or False",
        "pass one of the three",
        "standard, array.__dlpack__",
    ),
)

_STREAMS: Final = (
    Rule(
        "DLP-STREAM-1",
        "a producer without streams takes stream=None only, and is sent nothing else",
        "leave stream out for host memory",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-2",
        "on CUDA a stream is None, -1, 1, 2 or a handle above 2, and never 0",
        "pass 1 for the legacy default stream, 2 for the per-thread one, -1 for no synchronization",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-3",
        "on ROCm a stream is None, -1, 0 or a handle above 2, and never 1 or 2",
        "pass 0 for the default stream, -1 for no synchronization",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-4",
        "a stream is None or an int",
        "pass the handle of the stream as an int, or the stream itself",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-5",
        "the stream is always sent to producers with streams, which read its absence differently",
        "pass the consumer's stream explicitly",
        "interchange",
    ),
    Rule(
        "DLP-STREAM-6",
        "work pending on one stream is ordered before another by an event of the driver",
        "install the device's driver, or synchronize on the producer's side first",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-7",
        "a handle names a stream that exists, as long as it is used",
        "keep the stream object alive, and pass it rather than its handle",
        "CUDA driver API, Stream Management",
    ),
    Rule(
        "DLP-STREAM-8",
        "while a stream captures, it waits only for work of the same capture, and nothing touches "
        "the legacy default stream",
        "order before the capture begins, or use the capturing stream itself",
        "CUDA driver API, Stream capture",
    ),
    Rule(
        "DLP-STREAM-9",
        "memory for the host is handed out when the work on it is done, so no stream is named",
        "pass `stream=None`",
        "standard, array.__dlpack__",
    ),
)

_NEGOTIATION: Final = (
    Rule(
        "DLP-NEG-1",
        "an object to import has __dlpack__ and __dlpack_device__",
        "pass an array, or describe memory with `from_pointer`",
        "standard, from_dlpack",
    ),
    Rule(
        "DLP-NEG-2",
        "a producer without a keyword is asked without it, and its own TypeError is not hidden",
        "accept stream, max_version, dl_device and copy as keywords",
        "standard, array.__dlpack__",
        "SHOULD",
    ),
    Rule(
        "DLP-NEG-3",
        "max_version is sent first, so that read-only arrays can be exchanged",
        "send max_version",
        "standard, from_dlpack",
        "SHOULD",
    ),
    Rule(
        "DLP-API-1",
        "the C exchange table is looked up on the exact type, and its functions do not synchronise",
        "ask its `__dlpack__` method where streams differ",
        "header, DLPackExchangeAPI",
    ),
    Rule(
        "DLP-API-2",
        "a C exchange function returns 0, or -1 with a Python error set",
        "mend the producer",
        "header, DLPackExchangeAPI",
    ),
)

DLPACK: Final = (
    _CAPSULES
    + _VERSIONS
    + _LIFE
    + _DEVICES
    + _DTYPES
    + _LAYOUT
    + _READ_ONLY_AND_COPIES
    + _STREAMS
    + _NEGOTIATION
)
"""In the order of an exchange."""
