"""The address space as one buffer, for reading structs at addresses with ``struct`` alone.

Source: ctypes; `struct.Struct.unpack_from` takes a buffer and an offset, which here is an address.
Nothing is read by making the view.  Whoever indexes it follows a pointer, and must know that
something is there.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

memory: Final = memoryview((ctypes.c_char * (sys.maxsize & ~7)).from_address(0)).cast("B")
"""``unpack_from(memory, address)`` reads, ``pack_into(memory, address, ...)`` writes."""
words: Final = memory.cast("I")
"""``words[address >> 2]`` is the 32-bit word there: the major version of a versioned struct."""
pointers: Final = memory.cast("Q")
"""``pointers[address >> 3]`` is the pointer there, which as in C lies at a multiple of 8."""
