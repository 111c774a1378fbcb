"""The same function, which states what it requires of x."""

from cuda.bindings import driver

import interchange as ix


@ix.accepts_arrays(
    x=ix.Contract(order="C", device="cuda", writable=True), stream="stream", borrow=True
)
def clear(x, stream):
    """Set the bytes of x to 0 on the stream."""
    driver.cuMemsetD8Async(x.ptr, 0, x.nbytes, stream.handle)
