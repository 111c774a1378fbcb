"""The array argument of a transport: address, size and layout of host or device memory.

`Array(x)` describes an array of any library; what is sent or received is `nbytes` at `ptr`.
"""

import interchange as ix


class Array:
    """Memory of the host or of a device."""

    def __init__(self, x):
        self.obj = x = ix.asarray(x)
        self.ptr, self.nbytes, self.itemsize = x.ptr, x.nbytes, x.itemsize
        self.shape, self.ndim, self.strides = x.shape, x.ndim, x.strides_in_bytes
        self.readonly = x.readonly
        self.cuda = not x.device.is_host_accessible

    @property
    def c_contiguous(self):
        """Whether the elements are in C order."""
        return self.obj.is_contiguous()

    @property
    def f_contiguous(self):
        """Whether the elements are in Fortran's order."""
        return self.obj.flags.f_contiguous

    @property
    def contiguous(self):
        """Whether the elements are in either order."""
        return self.c_contiguous or self.f_contiguous


def asarray(x):
    """Return a description of memory; one is passed through."""
    return x if isinstance(x, Array) else Array(x)
