"""Weights in bfloat16, from a file to NumPy, which lacks this type without ml_dtypes.

python bfloat16_weights.py [FILE]
"""

import mmap
import sys
import tempfile

import numpy as np

import interchange as ix


def weights_of(path, dtype="bfloat16"):
    """Return the weights in a file of raw elements, which stays mapped."""
    with open(path, "rb") as file:
        return ix.from_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=dtype)


def main(path):
    """Read weights as NumPy arrays, and compute with them as float32."""
    with open(path, "wb") as file:
        file.write(bytes.fromhex("803f 0040 4040 80bf"))

    weights = np.asarray(weights_of(path))

    print(weights.dtype, weights.flags.writeable)
    print(weights.astype("float32").tolist())


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile() as new:
        main(sys.argv[1] if sys.argv[1:] else new.name)
