"""A class that holds memory, and is an array to every library: the newest frames of a camera.

python frame_ring.py LIBRARY
"""

import ctypes
import sys

import interchange as ix


class FrameRing(ix.Producer):
    """The last frames, in memory that C allocated."""

    def __init__(self, frames, shape, dtype="uint8"):
        self.shape, self.dtype = (frames, *shape), ix.DType.of(dtype)
        rows, columns = shape
        self.block = ctypes.create_string_buffer(frames * rows * columns * self.dtype.itemsize)
        self.count = 0

    def __interchange__(self):
        """Describe the memory; it lives as long as a view of it."""
        address = ctypes.addressof(self.block)
        return ix.from_pointer(address, self.shape, self.dtype, owner=self)

    def push(self, frame):
        """Copy a frame over the oldest one."""
        place = self.__interchange__()[self.count % self.shape[0]]
        frame = ix.asarray(frame).require(
            dtype=place.dtype, shape=place.shape, order="C", name="frame"
        )
        ctypes.memmove(place.ptr, frame.ptr, frame.nbytes)
        self.count += 1


def main(library):
    """Push three frames into a ring of two, which another library looks at meanwhile."""
    ring = FrameRing(2, (1, 3))
    seen = ix.convert(ring, library)
    for frame in (b"abc", b"def", b"ghi"):
        ring.push(ix.asarray(frame).reshape((1, 3)))
    print(bytes(ix.asarray(seen).as_memoryview()), type(seen).__name__)


if __name__ == "__main__":
    main(sys.argv[1])
