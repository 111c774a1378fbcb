"""The rules of kernels.

Source: CUDA Python Specification 0.2; CUDA C++ Programming Guide for all else.
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_SPEC = "CUDA Python 0.2, "

KERNELS: Final = (
    Rule("CPY-NPM-1",
         "kernels support bools, ints, floats and complex numbers, and arrays of these",
         "cast the array to one of these types", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-2", "a kernel consists of assignments, if, while, for, break, continue, return,"
         " calls and arithmetic", "rewrite it with these", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-3",
         "a for loop iterates over range() of ints, with one variable, or over a tuple",
         "write for i in range(n)", _SPEC + "No-Python Mode"),
    Rule("CPY-NPM-4", "a kernel is a function defined with def, whose source can be read",
         "define it in a file, with def", "interchange"),
    Rule("CPY-NPM-5",
         "a kernel is compiled from the source text that Python compiled the function from",
         "reload the module after editing its file, or restart Python", "interchange"),
    Rule("CPY-TYPE-1", "only ints and floats are coerced into each other",
         "cast it, as in float32(x)", _SPEC + "Type Inference"),
    Rule("CPY-TYPE-2", "bitwise operators take ints", "cast the operands, as in int32(x)",
         _SPEC + "Basic Arithmetic Operations"),
    Rule("CPY-TYPE-3", "complex numbers support + - * / ** == and !=",
         "compute with .real and .imag", _SPEC + "Basic Arithmetic Operations"),
    Rule("CPY-TYPE-4", "a name keeps its type within a loop", "use another name",
         _SPEC + "Type Inference"),
    Rule("CPY-TYPE-5", "an int to the power of an int is an int, which a negative exponent gives"
         " for 1 and -1 only", "write a float, as in x ** -1.0", "interchange"),
    Rule("CPY-INDEX-1", "an array of N axes has up to N indices, and a store has N ints",
         "index one element", _SPEC + "Array Operations"),
    Rule("CPY-INDEX-2", "an index is an int", "cast it, as in int32(x)",
         _SPEC + "Array Operations"),
    Rule("CPY-INDEX-3", "an index is 0 or more and below the length of its axis",
         "check the index first, as in if i < x.shape[0]", "interchange"),
    Rule("CPY-ATTR-1", "an array has the read-only attributes shape, strides, size, ndim and dtype",
         "use one of these", _SPEC + "Array Operations"),
    Rule("CPY-TUPLE-1", "a tuple is unpacked as a whole, or indexed; by a computed index if its"
         " items have one type",
         "unpack it, as in n, m = x.shape", _SPEC + "No-Python Mode"),
    Rule("CPY-NAME-1", "a name is assigned on every path before it is used", "assign it first",
         "interchange"),
    Rule("CPY-NAME-2", "threadIdx and similar names are defined in kernels only",
         "use it in a function decorated with cuda.jit", _SPEC + "CUDA Intrinsics"),
    Rule("CPY-CALL-1",
         "kernels call types, functions of math, intrinsics, and functions written like kernels",
         "write it as a function of numbers and arrays", _SPEC + "No-Python Mode"),
    Rule("CPY-CALL-2",
         "recursion is not supported, also of several functions: GPUs have small stacks",
         "write a loop", "interchange"),
    Rule("CPY-RETURN-1",
         "a kernel returns nothing, and a function the same number of values on every path",
         "store results in an array", _SPEC + "No-Python Mode"),
    Rule("CPY-SHARED-1", "shared arrays have a constant shape and a type of a number, and 48 KiB"
         " in all; with strict=True they are created before any branch of the kernel",
         "write cuda.shared.array((16, 16), cuda.float32) at the beginning",
         _SPEC + "CUDA Intrinsics"),
    Rule("CPY-JIT-1", "jit takes the options of numba-cuda that have a meaning here",
         "leave the option out", "Numba for CUDA, numba.cuda.jit"),
    Rule("CPY-RAISE-1", "assert and raise name a class of exceptions and a constant text, and are"
         " reported in debug mode", 'write raise ValueError("text")', "Numba for CUDA"),
    Rule("CPY-LOCAL-1", "local arrays have a constant shape and a type of a number",
         "write cuda.local.array(8, cuda.float32)", "Numba, Memory management"),
    Rule("CPY-CONST-1",
         "constant arrays are arrays of numbers of the enclosing program, 64 KiB in all",
         "write cuda.const.array_like(TABLE), where TABLE is an array of NumPy",
         "Numba, Memory management"),
    Rule("CPY-CONST-2", "constant arrays are read-only", "store to a shared or a local array",
         "CUDA C++ Programming Guide, Memory Spaces"),
    Rule("CPY-ATOMIC-1", "atomic operations are defined for elements of 32 and 64 bits, and for"
         " float16 and bfloat16: add, sub, min, max and exch for ints and floats, and_, or_, xor"
         " and cas for ints, inc and dec for unsigned ints", "use an array of another type",
         "CUDA C++ Programming Guide, Atomic Functions"),
    Rule("CPY-RECORD-1", "records are read and stored by field: x[i].name or x[i]['name']",
         "name one of the fields of its dtype", "NumPy, Structured arrays"),
    Rule("CPY-BARRIER-1", "all threads of a block reach the same syncthreads()",
         "move it out of the branch that only some threads take", "CUDA C++ Programming Guide"),
    Rule("CPY-WARP-1", "functions of warps take a mask of 32 bits, real numbers, and a constant"
         " width", "pass a mask such as 0xffffffff", "PTX ISA, shfl.sync"),
    Rule("CPY-WARP-2", "in debug mode a mask names lanes that run, the calling one among them",
         "pass the mask of the lanes that reach the call", "PTX ISA, shfl.sync"),
    Rule("CPY-WARP-3", "the lanes in a mask call the same function of warps, with the same mask",
         "move it out of the branch that only some of the lanes take", "PTX ISA, shfl.sync"),
    Rule("CPY-PRINT-1", "print() takes up to 32 numbers, which are not complex, and literal texts",
         "print each number by its name", "Numba for CUDA"),
    Rule("CPY-RACE-1", "two threads access one element, and one of them writes, only if a barrier"
         " orders them, or if both accesses are atomic", "call cuda.syncthreads() between them",
         "Compute Sanitizer, Racecheck"),
    Rule("CPY-GRID-1", "a kernel with a barrier of the grid runs where all its blocks fit at once,"
         " and all of them reach the barrier", "launch fewer blocks, or two kernels",
         "CUDA C++ Programming Guide, Grid Synchronization"),
    Rule("CPY-ARG-1",
         "the arguments are numbers and arrays that match the signature in number and type",
         "check the signature", _SPEC + "No-Python Mode"),
    Rule("CPY-ARG-2", "an array that a kernel stores to is writable", "pass a copy",
         "interchange"),
    Rule("CPY-ARG-3", "the arrays of a launch are all on the host or all on one GPU, which can"
         " also access managed and page-locked memory", "copy them to one device", "interchange"),
    Rule("CPY-PTX-1",
         "PTX of kernels that use math needs libdevice, which comes with the CUDA compiler",
         "pip install nvidia-nvvm, or install the CUDA toolkit", "CUDA, libdevice"),
    Rule("CPY-PTX-2", "kernels run on GPUs of compute capability 7.5 or later",
         "copy the arrays to the host", "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-EVENT-1", "elapsed time is measured between two recorded timing events of one GPU",
         "create them with cuda.event(), and record both", "CUDA driver API"),
    Rule("CPY-LAUNCH-1", "a launch specifies a grid of blocks and a block of threads:"
         " kernel[grid, block](arguments), each with one to three positive sizes, and at most"
         " 1,024 threads per block", "write kernel[(n + 255) // 256, 256](arguments)",
         "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-LAUNCH-2", "the registers and the shared memory of a block fit on the GPU",
         "use a smaller block", "CUDA C++ Programming Guide, Compute Capabilities"),
    Rule("CPY-LAUNCH-3", "the stream of a launch belongs to the GPU of its arrays, or to one that"
         " can access their memory",
         "launch on a stream of that GPU, or enable peer access between the two",
         "CUDA driver API, Peer Context Memory Access"),
)  # fmt: skip
