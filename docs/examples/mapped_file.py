"""A mapped file: what is written into an array of it is written into the file.

python mapped_file.py LIBRARY [FILE]
"""

import mmap
import sys
import tempfile

import numpy as np

import interchange as ix

HEADER = b"samples "  # before the elements


def samples_of(path, *, writable=False):
    """Return the points in a file as an Array, which keeps the file mapped."""
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    with open(path, "r+b" if writable else "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=access)
    return ix.from_buffer(mapped, dtype="float32", shape=(-1, 2), offset=len(HEADER))


def scale(points, factor):
    """Multiply points by a number, where they are."""
    points = ix.asarray(points).require(dtype="float32", writable=True, name="points")
    np.from_dlpack(points)[:] *= factor


def main(library, path):
    """Share one file between two libraries, and modify it with one of them."""
    with open(path, "wb") as file:
        file.write(HEADER + np.arange(6, dtype="f4").tobytes())

    theirs = ix.convert(samples_of(path, writable=True), library)
    scale(samples_of(path, writable=True), 10)

    print(f"{library} sees", ix.asarray(theirs).tolist())
    print("the file has", samples_of(path).tolist())


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile() as new:
        main(sys.argv[1], sys.argv[2] if sys.argv[2:] else new.name)
