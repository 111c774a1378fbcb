"""Arrays of bytes, and of the memory of a C library, with NumPy and ctypes."""

import ctypes

import numpy as np


def points_of(message):
    """Return the rows of three float32 after the header of 16 bytes."""
    return np.frombuffer(message, dtype="float32", offset=16).reshape(-1, 3)


def points_at(address, rows):
    """Return rows of three float32 that a C library owns."""
    block = (ctypes.c_float * (3 * rows)).from_address(address)
    return np.ctypeslib.as_array(block).reshape(rows, 3)
