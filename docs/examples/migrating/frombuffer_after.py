"""The same arrays, with interchange."""

import interchange as ix


def points_of(message):
    """Return the rows of three float32 after the header of 16 bytes."""
    return ix.from_buffer(message, dtype="float32", shape=(-1, 3), offset=16)


def points_at(address, rows, owner):
    """Return rows of three float32 that a C library owns, and that owner keeps alive."""
    return ix.from_pointer(address, (rows, 3), "float32", owner=owner)
