"""Launches kernels on the emulated driver with each of many arguments, three times: what came out.

Source: interchange.cuda.  Prints a line of JSON for each launch; both cores print the same.
"""

import json

import numpy as np

import interchange as ix
from interchange import cuda
from interchange.cuda import bool_, complex64, float32, int8, uint64, void
from interchange_conformance.emucuda import load

load()
HUGE, LARGE = 2**70, 2**63
NAMES = ("bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64", "complex64")


def put(out, value):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = value


def add(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] += x[i]


def total(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[0] += x[i, j] * (1 + i + 10 * j)


any_put, any_add, any_total = map(cuda.jit, (put, add, total))
typed = {type_: cuda.jit(void(float32[:], type_))(put) for type_ in (int8, uint64, float32, bool_)}
of_complex = cuda.jit(void(complex64[:], complex64))(put)
one_type = cuda.jit(void(float32[::1], float32[:]))(add)


class Count(int):
    """A subclass of int."""


def show(x):
    """Return the elements, with those that JSON lacks as text."""
    return str(np.asarray(x.to_device("cpu")).tolist())


def fresh(dtype="f4", count=6):
    """Return an array on the device, after the legacy default stream."""
    return cuda.to_device(np.arange(1, count + 1).astype(dtype))


NUMBERS = [
    0, 1, -1, 127, 128, -129, 2**31, LARGE - 1, LARGE, -LARGE, -LARGE - 1, 2**64 - 1, HUGE, -HUGE,
    True, False, 0.5, -0.0, 1e300, float("inf"), float("nan"), 3.0, 1 + 2j, 1e300 + 0j, Count(3),
    None, "1", [1],
]  # fmt: skip
NUMBERS += [np.dtype(name).type(1) for name in NAMES]


def numbers(kernel, dtype):
    """Yield launches with every number."""
    for number in NUMBERS:
        yield f"{number!r} in {dtype}", kernel, (1, 8), lambda x=number: (fresh(dtype), x), 0


def misaligned():
    """Return an array that begins 4 bytes after a multiple of 8."""
    return fresh(count=7)[1:]


def read_only():
    """Return a read-only array."""
    x = fresh()
    return ix.from_pointer(x.ptr, x.shape, x.dtype, device=x.device, owner=x, readonly=True)


def of_nobody():
    """Return an array without a stream."""
    x = fresh()
    cuda.synchronize()
    return ix.from_pointer(x.ptr, x.shape, x.dtype, device=x.device, owner=x)


def grid_of(layout):
    """Return what makes an array of two axes and a sum."""

    def make():
        x = cuda.to_device(np.arange(12, dtype="f4"))
        return layout(x.reshape((3, 4))), cuda.to_device(np.zeros(1, "f4"))

    return make


STREAM = cuda.stream()
ARRAYS = {
    "two of a type": lambda: (fresh(), fresh()),
    "of two types": lambda: (fresh("i2"), fresh()),
    "no kernel's type": lambda: (fresh("f2"), fresh()),
    "misaligned": lambda: (misaligned(), fresh()),
    "into the misaligned": lambda: (fresh(), misaligned()),
    "read-only": lambda: (read_only(), fresh()),
    "into what is read-only": lambda: (fresh(), read_only()),
    "without a stream": lambda: (of_nobody(), fresh()),
    "every second": lambda: (fresh(count=12)[::2], fresh()),
    "backwards": lambda: (fresh()[::-1], fresh()),
    "of nothing": lambda: (fresh(count=0), fresh(count=0)),
    "page-locked": lambda: (ix.asarray(np.ones(6, "f4")).to_device("cuda_host"), fresh()),
    "on the host": lambda: (np.ones(6, "f4"), fresh()),
    "another stream": lambda: (cuda.to_device(np.ones(6, "f4"), stream=STREAM), fresh()),
    "one too few": lambda: (fresh(),),
    "one too many": lambda: (fresh(), fresh(), fresh()),
    "a number": lambda: (3, fresh()),
    "nothing": lambda: (None, fresh()),
    "two axes": lambda: (fresh().reshape((2, 3)), fresh()),
}
GRIDS = {
    "in C order": lambda x: x,
    "transposed": lambda x: x.T,
    "a part": lambda x: x[:, 1:3],
    "one row": lambda x: x[1:2],
    "broadcast": lambda x: x[:1].broadcast_to((5, 4)),
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
}
CONFIGURATIONS = [
    (1, 8), (2, 4), (8, 1), ((1, 2), (4, 1, 1)), (1, 8, STREAM), (1, 8, None, 64), (1, 8, 2),
    (True, 8), (1, 0), (0, 1), (1, 1025), (1.0, 8), (np.int64(1), 8), (1,), 1, (2**31, 1),
    (1, 8, None, 2**20),
]  # fmt: skip


def cases():
    """Yield name, kernel, launch configuration, factory of arguments and index of the result."""
    for dtype in ("f4", "i1", "u8", "c8", "?"):
        yield from numbers(any_put, dtype)
    for type_, kernel in typed.items():
        for row in numbers(kernel, "f4"):
            yield (f"{row[0]} by {type_}", *row[1:])
    for row in numbers(of_complex, "c8"):
        yield (f"{row[0]} by complex64", *row[1:])
    for kernel in (any_add, one_type):
        for name, make in ARRAYS.items():
            yield name, kernel, (1, 8), make, -1
    for name, layout in GRIDS.items():
        yield name, any_total, (1, 1), grid_of(layout), -1
    for brackets in CONFIGURATIONS:
        yield repr(brackets), any_add, brackets, ARRAYS["two of a type"], -1


for name, kernel, brackets, make, which in cases():
    for _ in range(3):
        try:
            arguments = make()
            kernel[brackets](*arguments)
            said = show(arguments[which])
        except (ix.InterchangeError, OverflowError, TypeError, ValueError) as error:
            said = type(error).__name__, getattr(error, "rule", None), str(error)
        print(json.dumps([name.split(" at 0x")[0], said]))
