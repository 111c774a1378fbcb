"""The same function, whose streams are ordered before and after the copy."""

from numba import cuda

import interchange as ix


@ix.accepts_arrays(
    x=ix.Contract(device="cuda"),
    out=ix.Contract(device="cuda", writable=True),
    stream="stream",
    borrow=True,
)
def snapshot(x, out, stream):
    """Copy x to out on the stream."""
    x, out = (cuda.as_cuda_array(array, sync=False) for array in (x, out))
    out.copy_to_device(x, stream=stream)
