"""The same function, for arrays of any library."""

import numpy as np

import interchange as ix


@ix.accepts_arrays(x=ix.Contract(dtype="float32", device="cpu", writable=True))
def scale(x, factor):
    """Multiply the elements of x by factor, in place."""
    x = np.from_dlpack(x)
    x *= factor
