"""A public function that passes its argument to np.asarray."""

import numpy as np


def scale(x, factor):
    """Multiply the elements of x by factor, in place."""
    x = np.asarray(x, dtype="float32")
    x *= factor
