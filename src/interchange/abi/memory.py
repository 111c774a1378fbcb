"""The address space as one buffer, for reading structs at addresses with only ``struct``.

Source: ctypes; `struct.Struct.unpack_from` takes a buffer and an offset, which here is an address.
Making the view reads nothing.  Indexing it dereferences a pointer, so that the caller must know
that the address is valid.  A buffer has at most ``sys.maxsize`` bytes.  No 64-bit process has
memory beyond that; in a 32-bit process half of the addresses are beyond, which windows of that size
cover.
"""

from __future__ import annotations

import ctypes
import sys
from struct import Struct, calcsize
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE: Final = ctypes.sizeof(ctypes.c_void_p)  # [bytes]
POINTER: Final = {4: "I", 8: "Q"}[_SIZE]
"""The ``struct`` format of an address, without alignment."""
SHIFT: Final = _SIZE.bit_length() - 1
"""Shift from an address to the index of the pointer at that address."""
ADDRESS_END: Final = 2 ** (8 * _SIZE)
"""One more than the highest address."""


class Windows:
    """Overlapping views; each address, with the bytes after it, is within one.

    Parameters
    ----------
    bits : int
        Index of the window of an address.
    """

    __slots__ = ("_mask", "_shift", "_views")

    def __init__(self, bits: int) -> None:
        self._shift = bits - 2  # four quarters; a window has two of them, the last has one
        self._mask = (1 << self._shift) - 1
        sizes = (2 << self._shift,) * 3 + (1 << self._shift,)
        self._views = [_view(i << self._shift, size - 8) for i, size in enumerate(sizes)]

    def at(self, address: int) -> tuple[memoryview, int]:
        """Return a view, and the offset of an address in it."""
        return self._views[address >> self._shift], address & self._mask

    def reader(self, form: str) -> Callable[[Any, int], tuple[Any, ...]]:
        """Return the result of `reader`."""
        unpack, at = Struct(form).unpack_from, self.at
        return lambda _, address: unpack(*at(address))

    def writer(self, form: str) -> Callable[..., None]:
        """Return the result of `writer`."""
        pack, at = Struct(form).pack_into, self.at
        return lambda _, address, *values: pack(*at(address), *values)

    def numbers(self, form: str) -> Numbers:
        """Return numbers by their indices in memory."""
        return Numbers(self, form)


class Numbers:
    """The address space as an array of numbers of one format.

    Parameters
    ----------
    windows : Windows
        The windows.
    form : str
        The ``struct`` format of the numbers.
    """

    __slots__ = ("_read", "_size")

    def __init__(self, windows: Windows, form: str) -> None:
        self._read, self._size = windows.reader(form), calcsize(form)

    def __getitem__(self, index: int) -> int:
        """Return one number."""
        number: int = self._read(None, index * self._size)[0]
        return number


def _view(address: int, length: int) -> memoryview:
    """Return memory as bytes."""
    return memoryview((ctypes.c_char * length).from_address(address)).cast("B")


def offset_of(struct: Any, path: str) -> int:
    """Return the offset of a field in a struct, such as ``"dl_tensor.data"`` [bytes]."""
    offset = 0
    for name in path.split("."):
        offset += getattr(struct, name).offset
        struct = dict(struct._fields_)[name]
    return offset


def format_of(struct: Any, *fields: tuple[str, str]) -> str:
    """Return the ``struct`` format of some fields of a C struct, as it is laid out here.

    Parameters
    ----------
    struct : type
        The ctypes struct, which has C's alignment.
    *fields : tuple of str
        Path and format of each field, in memory order.
    """
    form, end = "=", 0
    for path, one in fields:
        gap = offset_of(struct, path) - end
        form += f"{gap}x{one}" if gap else one
        end += gap + calcsize(f"={one}")
    return form


memory: Final = _view(0, sys.maxsize & ~7)
"""The type of the functions of `reader` and `writer`, which take an address."""
READABLE_END: Final = len(memory) if _SIZE == 8 else ADDRESS_END - 8
"""One more than the highest address that can be read."""
if _SIZE == 8:
    words: Any = memory.cast("I")
    """``words[address >> 2]`` is the 32-bit word there: the major version of a versioned struct."""
    pointers: Any = memory.cast("Q")
    """``pointers[address >> SHIFT]`` is the pointer there, at a multiple of its size, as in C."""

    def reader(form: str) -> Callable[[Any, int], tuple[Any, ...]]:
        """Return ``read(memory, address)``, which unpacks the values there."""
        return Struct(form).unpack_from

    def writer(form: str) -> Callable[..., None]:
        """Return ``write(memory, address, *values)``, which packs values there."""
        return Struct(form).pack_into

else:
    _windows: Final = Windows(8 * _SIZE)
    words, pointers = _windows.numbers("I"), _windows.numbers(POINTER)
    reader, writer = _windows.reader, _windows.writer
