"""`convert` gives arrays of the library that was named."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import interchange as ix

assert_type(ix.convert(b"abc", "numpy"), np.ndarray[Any, np.dtype[Any]])
assert_type(ix.convert(b"abc", "memoryview", copy=True), memoryview)
assert_type(ix.convert(b"abc", "interchange"), ix.Array)


def by_name(library: str) -> Any:
    """Return an array of a library that is known at run time only."""
    return ix.convert(bytearray(3), library, assume_writable=True)


np.asarray(ix.asarray(b"abc")).sum()
np.from_dlpack(ix.asarray(bytearray(3)))
assert_type(ix.asarray(b"abc").as_memoryview(), memoryview)
