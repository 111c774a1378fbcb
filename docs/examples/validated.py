"""A C function that accepts checked arrays of any library: `swab` of the C library, by ctypes."""

import array
import ctypes

import numpy as np

import interchange as ix

swab = ctypes.CDLL(None).swab
swab.argtypes, swab.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t), None


SAMPLES = {"dtype": ("int16", "uint16"), "shape": ("n",), "order": "C", "device": "cpu"}


@ix.accepts_arrays(samples=ix.Contract(**SAMPLES), out=ix.Contract(**SAMPLES, writable=True))
def swap_bytes(samples, out):
    """Write samples of 16 bits in the other byte order."""
    swab(samples.ptr, out.ptr, samples.nbytes)


def main():
    """Bring two samples, which came from a network, into the order of this machine."""
    received = ix.from_buffer(b"\x01\x02\x00\x07", dtype="int16")
    out = np.zeros(2, "i2")
    swap_bytes(received, out)
    print(out)

    back = array.array("h", [0, 0])
    swap_bytes(out, out=back)
    print(back.tobytes())


if __name__ == "__main__":
    main()
