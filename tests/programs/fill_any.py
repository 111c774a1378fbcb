"""Accept any array in a call by ctypes: fill it with a number, in place."""

import array
import ctypes

import numpy as np

import interchange as ix

wmemset = ctypes.CDLL(None).wmemset  # of the C library: fills numbers of 32 bits
wmemset.argtypes = (ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t)


@ix.accepts_arrays(out=ix.Contract(dtype="int32", order="C", device="cpu", writable=True))
def fill(out, value):
    """Set every element of an array of int32 to a value."""
    wmemset(out.ptr, value, out.size)


def main():
    """Fill arrays of three libraries, none of which `fill` imports."""
    grid, numbers, block = np.zeros((2, 3), "i4"), array.array("i", [0, 0]), (ctypes.c_int32 * 2)()
    for number, out in enumerate((grid, numbers, block), start=7):
        fill(out, number)
    print(grid.tolist(), list(numbers), list(block))


if __name__ == "__main__":
    main()
