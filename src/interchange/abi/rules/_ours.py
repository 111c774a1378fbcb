"""The rules of interchange's own functions.

Source: the array API standard, if it specifies them.
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

OURS: Final = (
    Rule(
        "IX-PROTOCOL-1",
        "an array supports DLPack, the CUDA Array Interface, the array interface, Arrow, the "
        "buffer protocol or __array__",
        "describe the memory with `from_pointer`, or derive its class from the mixin `Producer`",
        "interchange",
    ),
    Rule(
        "IX-POINTER-1",
        "from_pointer() takes an address, a shape, a dtype and strides that describe one array",
        "pass the address as an int and strides in elements",
        "interchange",
    ),
    Rule(
        "IX-BUFFER-1",
        "dtype, shape and offset of from_buffer() describe whole elements within the buffer",
        "pass an offset [bytes] and a shape that end within it, or omit the shape",
        "interchange",
    ),
    Rule(
        "IX-BUFFER-2",
        "a buffer is reinterpreted under another dtype, shape or offset only if its bytes are"
        " contiguous",
        "copy it first, with `bytes(x)`",
        "PEP 3118, PyBUF_C_CONTIGUOUS",
    ),
    Rule(
        "IX-PRODUCER-1",
        "__interchange__() returns an interchange.Array",
        "return the result of `from_pointer` or `asarray`",
        "interchange",
    ),
    Rule(
        "IX-INDEX-1",
        "an index consists of ints, slices, None, one Ellipsis and arrays of ints or bools, "
        "within the shape",
        "pass an index of that kind, within the shape",
        "standard, Indexing",
    ),
    Rule(
        "IX-INDEX-2",
        "a bool index is an array of bools that has the shape of the axes it selects from",
        "pass a mask of that shape, or an int",
        "array API standard 2025.12, Boolean Array Indexing",
        "SHOULD",
    ),
    Rule(
        "IX-VIEW-1",
        "a view shares memory, so strides have to describe its layout",
        "copy the array first",
        "interchange",
    ),
    Rule(
        "IX-VIEW-2",
        "elements start at multiples of their alignment, as C programs may assume",
        "copy the bytes first, or start at another one",
        "C11, 6.3.2.3",
        "SHOULD",
    ),
    Rule(
        "IX-AXES-1",
        "an axis is named once, and a transpose exchanges two axes",
        "name each axis once, counting from 0",
        "standard, permute_dims",
    ),
    Rule(
        "IX-AXES-2",
        "an array has the length of its first axis, and is iterated along it",
        "use `x.size`, or `x.item()` for the only element",
        "Python data model, object.__len__ and object.__iter__",
        "SHOULD",
    ),
    Rule(
        "IX-ELEMENT-1",
        "only an array without axes converts to a number",
        "index one element first",
        "array API standard 2025.12, array.__bool__",
        "SHOULD",
    ),
    Rule(
        "IX-ELEMENT-2",
        "item() returns the element of an array that has exactly one",
        "index one element first",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-REQUIRE-1",
        "an argument meets its contract",
        "convert it before the call",
        "interchange",
    ),
    Rule(
        "IX-CONVERT-1",
        "the target is an installed library that interchange supports",
        "run `python -m interchange` to see which libraries are found",
        "interchange",
    ),
    Rule(
        "IX-CONVERT-2",
        "the target library cannot represent this array",
        "copy it to a layout or dtype that the library supports",
        "interchange",
    ),
    Rule(
        "IX-CONVERT-3",
        "convert() shares the memory and keeps every element, unless copy=True allows a copy",
        "pass `copy=True`",
        "interchange",
    ),
    Rule(
        "IX-CAST-1",
        "interchange does not cast elements",
        "cast with an array library, then import the result",
        "interchange",
    ),
    Rule(
        "IX-DRIVER-1",
        "operations on a device need its driver",
        "install the driver of the device and, for CUDA, cuda-bindings 12.8 or newer",
        "interchange",
    ),
    Rule(
        "IX-DRIVER-2",
        "a call of the driver succeeds",
        "look up the error in the driver's manual",
        "CUDA driver API, CUresult",
    ),
    Rule(
        "IX-DRIVER-3",
        "a driver that was initialized before fork() cannot be used in the child process",
        "start processes with multiprocessing's 'spawn' or 'forkserver'",
        "CUDA driver API, Initialization",
    ),
    Rule(
        "IX-DRIVER-4",
        "a copy needs as much free memory as its elements occupy",
        "free memory on the device, or copy in parts",
        "CUDA driver API, Memory Management",
    ),
    Rule(
        "IX-ALLOCATOR-1",
        "an allocator returns memory of its device, of the requested size or more, with its address"
        " as `handle` or `ptr`",
        "set an allocator of that device, or none",
        "cuda.core, MemoryResource.allocate",
    ),
    Rule(
        "IX-BORROW-1",
        "borrow() needs the stream on which the memory is used",
        "pass the stream, as a handle or as an object",
        "CAI, Synchronization",
    ),
    Rule(
        "IX-ARGUMENT-1",
        "an argument has a type and a value that its parameter accepts",
        "see the documentation of the function",
        "interchange",
    ),
    Rule(
        "IX-OUT-1",
        "out= is an array with the shape and the dtype of the result, and no two of its elements"
        " share memory",
        "pass a writable array of that shape and dtype, whose elements do not overlap",
        "interchange",
    ),
    Rule(
        "IX-COPY-1",
        "a copy keeps the element type, unless casting= allows a cast, which the host makes",
        "cast the source first, or pass `casting=`",
        "NumPy, copyto; array API standard 2025.12, Type Promotion Rules",
    ),
    Rule(
        "IX-COPY-2",
        "the shape of the source of a copy broadcasts to the shape of the target",
        "reshape the source, or copy into a part of the target",
        "array API standard 2025.12, Broadcasting",
    ),
    Rule(
        "IX-COPY-3",
        "no two elements of the target of a copy share memory",
        "copy into memory whose elements do not overlap",
        "interchange",
    ),
    Rule(
        "IX-GRAD-1",
        "writes through another library are not recorded for gradients",
        "detach the array first",
        "PyTorch, Tensor.__dlpack__; the standard is silent",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-1",
        "callers in C pass pointers that are not NULL, valid handles of Arrays, and views "
        "that were initialized and are released once",
        "initialize views with INTERCHANGE_VIEW_INIT, and see the header of the C API",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-2",
        "the C API is part of the native core",
        "set INTERCHANGE_CORE=native, which uses it, or says how to build it",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-3",
        "a request of a C caller has a known size and version, and does not contradict itself",
        "initialize it with INTERCHANGE_REQUEST_INIT, and set the fields as the header of the C "
        "API describes them",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-4",
        "memory of a C caller is described by a struct of a known size and version, with a "
        "deleter unless it is static",
        "initialize it with INTERCHANGE_MEMORY_INIT, and set `deleter`, or "
        "INTERCHANGE_MEMORY_STATIC for memory that lives as long as the process",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-5",
        "a column for a caller in C is one chunk of numbers, bools, times, decimals, text or "
        "binary, or of lists of these with at most 8 levels",
        "pass each chunk and each field by itself, and decode dictionaries, run ends and views",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-XP-1",
        "functions and operators take Arrays of interchange and Python scalars",
        "import arrays of other libraries first, with `asarray`",
        "array API standard 2025.12, Interchange Mechanism",
        "SHOULD",
    ),
    Rule(
        "IX-XP-2",
        "the arrays of one computation are on one device",
        "move one of them to the device of the other",
        "array API standard 2025.12, Device Support",
        "SHOULD",
    ),
    Rule(
        "IX-XP-3",
        "a computation needs a library that has the function and supports the device of the memory",
        "install one, and select it with `set_backend`",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-XP-4",
        "an operation in place keeps the element type and the shape of the array",
        "compute a new array, or cast one operand first",
        "array API standard 2025.12, Operators, In-place Operators",
        "SHOULD",
    ),
    Rule(
        "IX-XP-5",
        "an array is writable only if its library supports writes",
        "compute a new array, as `xp.where` does",
        "array API standard 2025.12, Copy-view behavior and mutability",
        "SHOULD",
    ),
    Rule(
        "IX-XP-6",
        "the namespace implements the versions 2021.12 to 2025.12 of the standard",
        "omit api_version, or pass one of these",
        "array API standard 2025.12, array.__array_namespace__",
        "SHOULD",
    ),
    Rule(
        "IX-XP-7",
        "a function of the namespace accepts what the standard's function accepts",
        "see the function's page in the standard",
        "array API standard 2025.12",
        "SHOULD",
    ),
    Rule(
        "IX-NAMESPACE-1",
        "the arrays of one call belong to one library, or to no library",
        "name the library that computes, or convert the others with `convert`",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-NAMESPACE-2",
        "upgrade() takes a namespace of the array API standard",
        "pass a module such as numpy, array_api_compat.torch or jax.numpy",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-API-1",
        "what the array API standard defines has the standard's parameters",
        "compare the signature with the standard's",
        "array API standard 2025.12",
    ),
    Rule(
        "IX-NUMPY-1",
        "where NumPy is needed, it is installed, in version 2.1 or newer",
        "install it, `pip install 'numpy>=2.1'`",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-SHARE-1",
        "memory is shared with other processes on Linux, where /proc is mounted",
        "send the elements: pickle the array",
        "Linux, proc(5)",
    ),
    Rule(
        "IX-SHARE-2",
        "host memory that is shared is in a regular file mapped with MAP_SHARED, such as shared"
        " memory or a memfd",
        "pass `copy=True`, which copies it into a new file once, or create the array in"
        " multiprocessing.shared_memory",
        "Linux, mmap(2), MAP_SHARED",
    ),
    Rule(
        "IX-SHARE-3",
        "a handle of shared memory is opened as share() made it",
        "send it again, by pickle",
        "interchange",
    ),
    Rule(
        "IX-SHARE-4",
        "a handle is opened while its exporter runs, and while the array or the handle lives there",
        "keep the array in the exporter until the handle was opened, and share it again",
        "interchange",
    ),
    Rule(
        "IX-SHARE-5",
        "a handle is opened on the host where it was made, by the same user",
        "send the elements: pickle the array",
        "Linux, proc(5), /proc/PID/fd; pid_namespaces(7)",
    ),
    Rule(
        "IX-SHARE-6",
        "the file of shared memory keeps its length",
        "do not cut the file, and share the array again",
        "Linux, mmap(2), SIGBUS",
    ),
    Rule(
        "IX-SHARE-7",
        "device memory is shared if its driver has handles for that kind of memory",
        "copy it first, with `x.copy()` or `x.to_device('cpu')`",
        "CUDA driver API, Interprocess Communication",
    ),
    Rule(
        "IX-SUBJECT-1",
        "a subject of the conformance kit creates what it is asked for, and leaves its "
        "process unchanged",
        "fix the description, or raise CannotMakeError for what the library does not support",
        "interchange",
    ),
)
"""Rules of the functions and of Array."""
