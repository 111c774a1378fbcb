"""The rules of interchange's own functions.

Source: the array API standard where it speaks.
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

OURS: Final = (
    Rule(
        "IX-PROTOCOL-1",
        "an array speaks DLPack, the CUDA Array Interface, the array interface, Arrow, the buffer"
        " protocol or __array__",
        "describe the memory with `from_pointer`, or give its class the mixin `Producer`",
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
        "pass an offset [bytes] and a shape that end within it, or leave the shape out",
        "interchange",
    ),
    Rule(
        "IX-BUFFER-2",
        "a buffer is read under another dtype, shape or offset where its bytes lie side by side",
        "copy it first, with `bytes(x)`",
        "PEP 3118, PyBUF_C_CONTIGUOUS",
    ),
    Rule(
        "IX-PRODUCER-1",
        "__interchange__() returns an interchange.Array",
        "return what `from_pointer` or `asarray` gives",
        "interchange",
    ),
    Rule(
        "IX-INDEX-1",
        "an index is made of ints, slices, None, one Ellipsis and arrays of ints or bools, within"
        " the shape",
        "pass an index of that kind, within the shape",
        "standard, Indexing",
    ),
    Rule(
        "IX-INDEX-2",
        "a truth value among indices is an array of bools, whose axes it picks from",
        "pass a mask of the shape of these axes",
        "array API standard 2025.12, Boolean Array Indexing",
        "SHOULD",
    ),
    Rule(
        "IX-VIEW-1",
        "a view shares memory, so its layout must be one that strides can describe",
        "copy first",
        "interchange",
    ),
    Rule(
        "IX-VIEW-2",
        "elements begin at multiples of their alignment, where C programs may read them",
        "copy the bytes first, or begin at another one",
        "C11, 6.3.2.3",
        "SHOULD",
    ),
    Rule(
        "IX-AXES-1",
        "axes name each dimension once, and a transpose exchanges two",
        "name each axis once, from 0 on",
        "standard, permute_dims",
    ),
    Rule(
        "IX-AXES-2",
        "an array is counted, and gone through, along its first axis",
        "use `x.size`, or `x.item()` for the one element",
        "Python data model, object.__len__ and object.__iter__",
        "SHOULD",
    ),
    Rule(
        "IX-ELEMENT-1",
        "only an array without axes stands for a number",
        "index one element first",
        "array API standard 2025.12, array.__bool__",
        "SHOULD",
    ),
    Rule(
        "IX-ELEMENT-2",
        "item() gives the element of an array that has exactly one",
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
        "the target is a library that interchange can hand arrays to, and that is installed",
        "see `python -m interchange` for what is found here",
        "interchange",
    ),
    Rule(
        "IX-CONVERT-2",
        "the target library cannot describe this array",
        "copy to a layout or dtype that it knows",
        "interchange",
    ),
    Rule(
        "IX-CONVERT-3",
        "convert() shares the memory, element for element, unless copy=True allows a copy",
        "pass `copy=True`",
        "interchange",
    ),
    Rule(
        "IX-CAST-1",
        "nothing is cast on the way",
        "cast with an array library, then import the result",
        "interchange",
    ),
    Rule(
        "IX-DRIVER-1",
        "work on a device goes through its driver",
        "install the driver of the device and, for CUDA, cuda-bindings 12.8 or newer",
        "interchange",
    ),
    Rule(
        "IX-DRIVER-2",
        "the driver does what it is asked",
        "see the error's name in the driver's manual",
        "CUDA driver API, CUresult",
    ),
    Rule(
        "IX-DRIVER-3",
        "a driver that was used before fork() is of no use in the child",
        "start processes with multiprocessing's 'spawn' or 'forkserver'",
        "CUDA driver API, Initialization",
    ),
    Rule(
        "IX-DRIVER-4",
        "a copy needs as much memory as its elements take",
        "free memory on the device, or copy in parts",
        "CUDA driver API, Memory Management",
    ),
    Rule(
        "IX-BORROW-1",
        "borrow() names the stream on which the memory is used",
        "name the stream, by its handle or as an object",
        "CAI, Synchronization",
    ),
    Rule(
        "IX-ARGUMENT-1",
        "an argument has the type that its parameter names",
        "see the signature",
        "interchange",
    ),
    Rule(
        "IX-GRAD-1",
        "what is written through another library has no place in the record of a gradient",
        "detach the array from its record first",
        "PyTorch, Tensor.__dlpack__; the standard is silent",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-1",
        "a caller in C passes pointers that are not NULL, handles of Arrays, and views that were"
        " set up and are released once",
        "set views up with INTERCHANGE_VIEW_INIT, and see the header of the C API",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-CAPI-2",
        "the C API is a part of the native core",
        "set INTERCHANGE_CORE=native, which takes it, or says how to build it",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-XP-1",
        "functions and operators take Arrays of interchange and Python numbers",
        "import arrays of other libraries first, with `asarray`",
        "array API standard 2025.12, Interchange Mechanism",
        "SHOULD",
    ),
    Rule(
        "IX-XP-2",
        "arrays that meet in a computation are on one device",
        "move one of them to the device of the other",
        "array API standard 2025.12, Device Support",
        "SHOULD",
    ),
    Rule(
        "IX-XP-3",
        "a library computes where the memory is",
        "install one that does, and name it with `set_backend`",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-XP-4",
        "in place, an array keeps its element type and its shape",
        "compute a new array, or cast one operand first",
        "array API standard 2025.12, Operators, In-place Operators",
        "SHOULD",
    ),
    Rule(
        "IX-XP-5",
        "an array is written only where its library can write",
        "compute a new array, as `xp.where` does",
        "array API standard 2025.12, Copy-view behavior and mutability",
        "SHOULD",
    ),
    Rule(
        "IX-XP-6",
        "the namespace holds the versions 2021.12 to 2025.12 of the standard",
        "leave api_version out, or pass one of these",
        "array API standard 2025.12, array.__array_namespace__",
        "SHOULD",
    ),
    Rule(
        "IX-XP-7",
        "a function of the namespace takes what the standard's function takes",
        "see its page in the standard",
        "array API standard 2025.12",
        "SHOULD",
    ),
    Rule(
        "IX-NAMESPACE-1",
        "the arrays of one call are of one library; memory of no library goes with any",
        "name the library that computes, or bring one over with `convert`",
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
        "what the array API standard names has the standard's parameters",
        "compare the signature with the standard's",
        "array API standard 2025.12",
    ),
    Rule(
        "IX-NUMPY-1",
        "the NumPy whose arrays and functions are used is 2.1 or newer",
        "install a newer NumPy, `pip install 'numpy>=2.1'`",
        "interchange",
        "SHOULD",
    ),
    Rule(
        "IX-SUBJECT-1",
        "a subject of the conformance kit makes what it is asked for, and leaves its process as it"
        " was",
        "mend the description, or raise CannotMakeError for what the library has not",
        "interchange",
    ),
)
"""Rules of the functions and of Array."""
