"""A function for any CUDA array, with cuda.core."""

from cuda.bindings import driver
from cuda.core.utils import args_viewable_as_strided_memory


@args_viewable_as_strided_memory((0,))
def clear(x, stream):
    """Set the bytes of x to 0 on the stream."""
    x = x.view(int(stream.handle))
    driver.cuMemsetD8Async(x.ptr, 0, x.size * x.dtype.itemsize, stream.handle)
