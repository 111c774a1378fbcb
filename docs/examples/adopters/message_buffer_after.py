"""Arguments of a message-passing library: the memory of an array and its MPI datatype.

`message(x)` is what an MPI function is passed: an address, a number of elements and a datatype.
`message(x, receive=True)` is of memory that is written.
"""

from typing import Any, NamedTuple

import interchange as ix

DATATYPES = {
    "bool": "MPI_C_BOOL", "int8": "MPI_SIGNED_CHAR", "uint8": "MPI_UNSIGNED_CHAR",
    "int16": "MPI_SHORT", "uint16": "MPI_UNSIGNED_SHORT", "int32": "MPI_INT",
    "uint32": "MPI_UNSIGNED", "int64": "MPI_LONG", "uint64": "MPI_UNSIGNED_LONG",
    "float32": "MPI_FLOAT", "float64": "MPI_DOUBLE", "complex64": "MPI_C_FLOAT_COMPLEX",
    "complex128": "MPI_C_DOUBLE_COMPLEX",
}  # fmt: skip
WORDS = {"dtype": tuple(DATATYPES), "order": "A"}


class Message(NamedTuple):
    """What an MPI function is passed, and what owns the memory."""

    address: int
    count: int
    datatype: str
    owner: Any


@ix.accepts_arrays(x=ix.Contract(**WORDS))
def sent(x):
    """Return the message of memory that is read."""
    return Message(x.ptr, x.size, DATATYPES[str(x.dtype)], x)


@ix.accepts_arrays(x=ix.Contract(**WORDS, writable=True))
def received(x):
    """Return the message of memory that is written."""
    return Message(x.ptr, x.size, DATATYPES[str(x.dtype)], x)


def message(x, *, receive=False):
    """Return the message that an array is."""
    return received(x) if receive else sent(x)
