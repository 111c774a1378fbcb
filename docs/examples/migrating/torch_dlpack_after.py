"""The same function, which exchanges arrays."""

import interchange as ix


def means(x):
    """Return the mean of each row of x, as an Array."""
    x = ix.convert(x, "torch")
    return ix.asarray(x.mean(dim=1))
