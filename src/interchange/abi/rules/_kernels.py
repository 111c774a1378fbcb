"""The rules of kernels.

Source: CUDA Python Specification 0.2; CUDA C++ Programming Guide where that is silent.
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_SPEC = "CUDA Python 0.2, "

KERNELS: Final = (
    Rule("CPY-NPM-1", "kernels know bools, ints, floats and complex numbers, and arrays of them",
         "cast the array to a type of that list", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-2", "a kernel is made of assignments, if, while, for, break, continue, return,"
         " calls and arithmetic", "write it with these", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-3", "a for loop has one variable and goes over range() of ints",
         "write for i in range(n)", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-4", "a kernel is a function written with def, whose source can be read",
         "define it in a file, with def", "interchange"),
    Rule("CPY-NPM-5", "a kernel is compiled from the text that Python made its function of, and"
         " that of no other", "import the module anew after its file was edited, or start Python"
         " anew", "interchange"),
    Rule("CPY-TYPE-1", "ints and floats are coerced into each other, and nothing else is",
         "cast it, as in float32(x)", _SPEC + "Type Inference"),
    Rule("CPY-TYPE-2", "bitwise operators take ints", "cast the operands, as in int32(x)",
         _SPEC + "Basic Arithmetic Operations"),
    Rule("CPY-TYPE-3", "of complex numbers + - * alone are defined", "compute with .real and .imag",
         _SPEC + "Basic Arithmetic Operations"),
    Rule("CPY-TYPE-4", "in a loop a name keeps the type that it had before",
         "use another name", _SPEC + "Type Inference"),
    Rule("CPY-INDEX-1", "an array of N axes is indexed by N ints, and sliced never",
         "name one element", _SPEC + "Array Operations"),
    Rule("CPY-INDEX-2", "an index is an int", "cast it, as in int32(x)",
         _SPEC + "Array Operations"),
    Rule("CPY-INDEX-3", "an index is 0 or more and below the length of its axis",
         "test the index first, as in if i < x.shape[0]", "interchange"),
    Rule("CPY-ATTR-1", "an array has shape, strides, size and ndim, which are read and never set",
         "use one of these", _SPEC + "Array Operations"),
    Rule("CPY-TUPLE-1", "tuples are unpacked whole, or indexed by a constant",
         "unpack it, as in n, m = x.shape", _SPEC + "No-Python Mode"),
    Rule("CPY-NAME-1", "a name has a value on every path before it is used",
         "assign it first", "interchange"),
    Rule("CPY-NAME-2", "threadIdx and its like have a value in kernels only",
         "use it in a function decorated with cuda.jit", _SPEC + "CUDA Intrinsics"),
    Rule("CPY-CALL-1", "kernels call types, functions of math, intrinsics, and functions like"
         " themselves", "write it as a function of numbers and arrays", _SPEC + "No-Python Mode"),
    Rule("CPY-CALL-2", "a function does not call itself, since every call is inlined",
         "write a loop", "interchange"),
    Rule("CPY-RETURN-1", "a kernel returns nothing, and a function as many numbers each time",
         "store results in an array", _SPEC + "No-Python Mode"),
    Rule("CPY-SHARED-1", "arrays in shared memory are made before any branch of the kernel, of a"
         " constant shape and a type of this module, 48 KiB in all",
         "write cuda.shared.array((16, 16), cuda.float32) at the beginning",
         _SPEC + "CUDA Intrinsics"),
    Rule("CPY-BARRIER-1", "all threads of a block reach the same syncthreads()",
         "move it out of the branch that only some threads take", "CUDA C++ Programming Guide"),
    Rule("CPY-ARG-1", "arguments are numbers and arrays, as many as there are parameters, of the"
         " types of the signature", "look at the signature", _SPEC + "No-Python Mode"),
    Rule("CPY-ARG-2", "an array that a kernel stores to can be written", "pass a copy",
         "interchange"),
    Rule("CPY-ARG-3", "the arrays of a launch are all on the host, or all on one GPU, which reaches"
         " managed and page-locked memory, too", "copy them to one place", "interchange"),
    Rule("CPY-PTX-1", "PTX of kernels that use math needs libdevice, which CUDA's compiler brings",
         "pip install nvidia-nvvm, or install the CUDA toolkit", "CUDA, libdevice"),
    Rule("CPY-PTX-2", "a GPU that runs kernels has the compute capability 7.5 or a later one",
         "copy the arrays to the host", "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-EVENT-1", "time is taken between two events of one GPU that were recorded and keep"
         " time", "make them with cuda.event(), and record both", "CUDA driver API"),
    Rule("CPY-LAUNCH-1", "a launch names a grid of blocks and a block of threads:"
         " kernel[grid, block](arguments), each of one to three sizes above 0, and at most 1,024"
         " threads in a block", "write kernel[(n + 255) // 256, 256](arguments)",
         "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-LAUNCH-2", "the registers and the shared memory of a block fit into a GPU's",
         "take a smaller block", "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-LAUNCH-3", "the stream of a launch is of the GPU that its arrays are on, or of one"
         " that reaches their memory", "launch on a stream of that GPU, or enable peer access"
         " between the two", "CUDA driver API, Peer Context Memory Access"),
)  # fmt: skip
