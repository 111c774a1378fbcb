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
        "a DLPack capsule is named 'dltensor' or 'dltensor_versioned'",
        "pass the capsule as its producer made it, or pass the producer itself",
        "spec, PyCapsule names",
    ),
    Rule(
        "DLP-CAP-2",
        "a capsule is consumed once, and its name then begins with 'used_'",
        "ask the producer for a new capsule",
        "spec, Implementation",
    ),
    Rule(
        "DLP-CAP-3",
        "__dlpack__() returns a PyCapsule",
        "fix the producer, or describe its memory with `from_pointer`",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-CAP-4",
        "the name of a capsule is a static string",
        "keep the name alive for the lifetime of the process",
        "spec, PyCapsule names",
    ),
    Rule(
        "DLP-CAP-5",
        "a consumer takes the pointer, renames the capsule and clears its destructor before "
        "anything can fail",
        "rename the capsule first, then validate the struct",
        "spec, Implementation",
    ),
    Rule(
        "DLP-CAP-6",
        "every call of __dlpack__() returns a new capsule, which is released independently of"
        " the others",
        "allocate one struct per capsule, or count the capsules that share one",
        "spec, Implementation",
    ),
)

_VERSIONS: Final = (
    Rule(
        "DLP-VER-1",
        "with an unknown major version, a consumer calls the deleter and reads nothing else",
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
        "a consumer checks the capsule's name and version.major, whatever version it asked for",
        "dispatch on the capsule's name",
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
        "the deleter of a consumed tensor runs exactly once, after its last view is gone",
        "give the struct one owner, which calls the deleter",
        "header, deleter",
    ),
    Rule(
        "DLP-LIFE-2",
        "an unconsumed capsule calls the deleter when it is destroyed",
        "give the capsule a destructor that checks its name",
        "spec, PyCapsule destructor",
    ),
    Rule(
        "DLP-LIFE-3",
        "a deleter may run on any thread, without the GIL, and after the interpreter is finalized",
        "acquire the GIL inside the deleter, and leak the memory once Python is finalized",
        "spec, deleter",
    ),
    Rule(
        "DLP-LIFE-4",
        "a deleter or destructor is native code and preserves a pending exception",
        "do not pass a Python callback as a C function pointer",
        "interchange",
    ),
    Rule(
        "DLP-LIFE-5",
        "a NULL deleter means that there is nothing to release",
        "check for NULL before calling the deleter",
        "header, deleter",
    ),
    Rule(
        "DLP-LIFE-6",
        "native deleters that fail their self-test are not used, so memory cannot be exported"
        " with them",
        "install a NumPy release that this version of interchange was tested with",
        "interchange",
    ),
    Rule(
        "DLP-LIFE-7",
        "a consumer does not modify a struct, which several capsules may share",
        "copy the fields that have to change, such as the strides",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "DLP-LIFE-8",
        "manager_ctx belongs to the producer and may be NULL",
        "do not read manager_ctx; call the deleter",
        "header, DLManagedTensorVersioned.manager_ctx",
    ),
)

_DEVICES: Final = (
    Rule(
        "DLP-DEV-1",
        "a device type is one of the values of DLDeviceType",
        "pass 'cpu', 'cuda', 'cuda:1', a (type, id) tuple or a Device; update interchange for"
        " newer types",
        "header, DLDeviceType",
    ),
    Rule(
        "DLP-DEV-2",
        "__dlpack_device__() returns a tuple of two ints",
        "fix the producer",
        "standard, array.__dlpack_device__",
    ),
    Rule(
        "DLP-DEV-3",
        "the capsule is on the device that __dlpack_device__() returned, or in memory of a "
        "related type",
        "fix the producer so that both name the same device",
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
        "a producer that cannot export to dl_device raises BufferError",
        "first move the array with the library that owns the device",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-DEV-6",
        "the host uses memory that it can access; drivers copy memory of CUDA and ROCm devices",
        "copy it to the host first, or use the library that owns the device",
        "interchange",
    ),
    Rule(
        "DLP-DEV-7",
        "an exchange does not change the current device or context",
        "push the context that a call needs, and pop it on every path",
        "CUDA driver API, Context Management",
        "SHOULD",
    ),
    Rule(
        "DLP-DEV-8",
        "a producer is called with its device current, since some order only the current "
        "device's stream",
        "make the producer's device current while its __dlpack__ is called or its record is read",
        "practice of CuPy and PyTorch; the standard is silent",
        "SHOULD",
    ),
    Rule(
        "DLP-DEV-9",
        "the device of a struct is the one that its address belongs to",
        "use the device ordinal that the driver reports for the address",
        "header, DLDevice",
    ),
)

_DTYPES: Final = (
    Rule(
        "DLP-DTYPE-1",
        "an element type has a known code, with bits and lanes that are valid for it",
        "cast the array to a type that both sides support",
        "header, DLDataTypeCode",
    ),
    Rule(
        "DLP-DTYPE-2",
        "bits and lanes are at least 1",
        "fix the producer",
        "header, DLDataType",
    ),
    Rule(
        "DLP-DTYPE-3",
        "elements are plain and in native byte order: no structs, objects, times or text",
        "convert them to plain numbers in the producer's library",
        "header, DLDataType",
    ),
    Rule(
        "DLP-DTYPE-4",
        "this protocol cannot represent the element type",
        "use another protocol, or view the array as unsigned integers of the same size",
        "interchange",
    ),
    Rule(
        "DLP-DTYPE-5",
        "elements below 8 bits are packed and have no address of their own, so they cannot be"
        " viewed",
        "unpack them in the producer's library, or use the array as a whole",
        "header, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
    ),
    Rule(
        "DLP-DTYPE-6",
        "the elements in memory are the values: no conjugation or negation is pending",
        "resolve it in the producer's library first",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-DTYPE-7",
        "only the producer knows what an opaque handle refers to, and nothing keeps that alive",
        "name the element type in the import, if the handles are yours",
        "header, DLDataTypeCode, kDLOpaqueHandle",
        "SHOULD",
    ),
)

_LAYOUT: Final = (
    Rule(
        "DLP-SHAPE-1",
        "ndim is between 0 and 64",
        "fix the producer, or reshape to fewer axes",
        "header, DLTensor.ndim",
    ),
    Rule(
        "DLP-SHAPE-2",
        "shape is a pointer to ndim extents, NULL only for ndim 0",
        "fix the producer",
        "header, DLTensor.shape",
    ),
    Rule(
        "DLP-SHAPE-3",
        "an extent is at least 0",
        "fix the producer",
        "header, DLTensor.shape",
    ),
    Rule(
        "DLP-SHAPE-4",
        "the number of elements and of bytes fit in a signed integer as wide as addresses",
        "fix the producer",
        "interchange",
    ),
    Rule(
        "DLP-STRIDES-1",
        "exported strides are not NULL for ndim > 0; a consumer reads NULL as C order",
        "fill in the strides",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-2",
        "strides stay within the address range on both sides of the first element",
        "fix the producer",
        "interchange",
    ),
    Rule(
        "DLP-STRIDES-3",
        "byte strides along an axis longer than 1 are whole multiples of the element size",
        "make a contiguous copy in the producer's library",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-4",
        "strides count elements, not bytes",
        "divide the strides by the element size",
        "header, DLTensor.strides",
    ),
    Rule(
        "DLP-STRIDES-5",
        "memory is described by strides; sparse, nested and similar layouts have none",
        "convert it to a dense array in the producer's library",
        "header, DLTensor.strides",
        "SHOULD",
    ),
    Rule(
        "DLP-DATA-1",
        "data is not NULL when the array has elements",
        "fix the producer",
        "header, DLTensor.data",
    ),
    Rule(
        "DLP-DATA-2",
        "the first element is at data + byte_offset, within the address range",
        "fix the producer",
        "header, DLTensor.byte_offset",
    ),
    Rule(
        "DLP-DATA-3",
        "data of an empty array is NULL and is never dereferenced",
        "export NULL",
        "header, DLTensor.data",
        "QUIRK",
    ),
)

_READ_ONLY_AND_COPIES: Final = (
    Rule(
        "DLP-RO-1",
        "only the versioned struct can mark memory as read-only",
        "ask for version 1.0 or newer, or export a copy",
        "header, DLPACK_FLAG_BITMASK_READ_ONLY",
    ),
    Rule(
        "DLP-RO-2",
        "the read-only flag survives every re-export",
        "set the flag on every export of the memory",
        "header, DLPACK_FLAG_BITMASK_READ_ONLY",
    ),
    Rule(
        "DLP-RO-3",
        "read-only memory is not written to, nor passed to a library that ignores the flag",
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
        "pass one of these",
        "standard, array.__dlpack__",
    ),
)

_STREAMS: Final = (
    Rule(
        "DLP-STREAM-1",
        "a producer without streams takes stream=None only, and is passed nothing else",
        "omit stream for host memory",
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
        "the stream is always passed to producers with streams, which interpret its absence "
        "differently",
        "pass the consumer's stream explicitly",
        "interchange",
    ),
    Rule(
        "DLP-STREAM-6",
        "pending work on one stream is ordered before another stream by a driver event",
        "install the device's driver, or synchronize on the producer's side first",
        "standard, array.__dlpack__",
    ),
    Rule(
        "DLP-STREAM-7",
        "a stream handle refers to a stream that exists for as long as it is used",
        "keep the stream object alive, and pass it rather than its handle",
        "CUDA driver API, Stream Management",
    ),
    Rule(
        "DLP-STREAM-8",
        "a capturing stream waits only for work of the same capture, and nothing uses the "
        "legacy default stream meanwhile",
        "order the work before the capture begins, or use the capturing stream itself",
        "CUDA driver API, Stream capture",
    ),
    Rule(
        "DLP-STREAM-9",
        "host memory is handed out after its pending work is done, so it takes no stream",
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
        "a producer that lacks a keyword is called without it, and its own TypeError is not hidden",
        "accept stream, max_version, dl_device and copy as keywords",
        "standard, array.__dlpack__",
        "SHOULD",
    ),
    Rule(
        "DLP-NEG-3",
        "max_version is passed first, so that read-only arrays can be exchanged",
        "pass max_version",
        "standard, from_dlpack",
        "SHOULD",
    ),
    Rule(
        "DLP-API-1",
        "the C exchange table is looked up on the exact type, and its functions do not synchronize",
        "call its `__dlpack__` method where streams differ",
        "header, DLPackExchangeAPI",
    ),
    Rule(
        "DLP-API-2",
        "a C exchange function returns 0, or -1 with a Python error set",
        "fix the producer",
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
