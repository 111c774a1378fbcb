"""A function for arrays of any library, which computes with the library of its argument.

python standardize.py LIBRARY
"""

import sys

import interchange as ix


def standardize(x):
    """Return x with mean 0 and standard deviation 1 along the first axis, in x's library."""
    a = ix.asarray(x)
    xp = a.__array_namespace__()
    scale = xp.std(a, axis=0)
    centred = a - xp.mean(a, axis=0)
    return ix.like(xp.where(scale == 0, 0.0, centred / xp.where(scale == 0, 1.0, scale)), x)


def main(library):
    """Standardize an array of a library."""
    x = ix.convert(ix.xp.asarray([[1.0, 5.0], [3.0, 5.0]]), library)
    result = standardize(x)
    print(type(result) is type(x), ix.asarray(result).tolist())


if __name__ == "__main__":
    main(sys.argv[1])
