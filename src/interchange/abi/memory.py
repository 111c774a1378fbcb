"""The address space as one buffer, for reading structs at addresses with ``struct`` alone.

Source: ctypes; `struct.Struct.unpack_from` takes a buffer and an offset, which here is an address.
Nothing is read by making the view.  Whoever indexes it follows a pointer, and must know that
something is there.  A buffer has at most ``sys.maxsize`` bytes.  No process of 64 bits has memory
beyond; in one of 32 bits half of the addresses are, which windows of that size cover.
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
"""What ``struct`` calls an address, without alignment."""
SHIFT: Final = _SIZE.bit_length() - 1
"""Of an address to the number of the pointer that lies there."""
ADDRESS_END: Final = 2 ** (8 * _SIZE)
"""One more than the highest address."""


class Windows:
    """Views that overlap, of which each address with what follows it is within one.

    Parameters
    ----------
    bits : int
        Of an address.
    """

    __slots__ = ("_mask", "_shift", "_views")

    def __init__(self, bits: int) -> None:
        self._shift = bits - 2  # four quarters; a window has two of them, the last has one
        self._mask = (1 << self._shift) - 1
        sizes = (2 << self._shift,) * 3 + (1 << self._shift,)
        self._views = [_view(i << self._shift, size - 8) for i, size in enumerate(sizes)]

    def at(self, address: int) -> tuple[memoryview, int]:
        """Return a view, and where an address is in it."""
        return self._views[address >> self._shift], address & self._mask

    def reader(self, form: str) -> Callable[[Any, int], tuple[Any, ...]]:
        """Return what `reader` does."""
        unpack, at = Struct(form).unpack_from, self.at
        return lambda _, address: unpack(*at(address))

    def writer(self, form: str) -> Callable[..., None]:
        """Return what `writer` does."""
        pack, at = Struct(form).pack_into, self.at
        return lambda _, address, *values: pack(*at(address), *values)

    def numbers(self, form: str) -> Numbers:
        """Return numbers by their places in memory."""
        return Numbers(self, form)


class Numbers:
    """The address space as an array of numbers of one format.

    Parameters
    ----------
    windows : Windows
        Where they are.
    form : str
        Theirs, in ``struct``.
    """

    __slots__ = ("_read", "_size")

    def __init__(self, windows: Windows, form: str) -> None:
        self._read, self._size = windows.reader(form), calcsize(form)

    def __getitem__(self, index: int) -> int:
        """Return one of them."""
        number: int = self._read(None, index * self._size)[0]
        return number


def _view(address: int, length: int) -> memoryview:
    """Return memory as bytes."""
    return memoryview((ctypes.c_char * length).from_address(address)).cast("B")


def offset_of(struct: Any, path: str) -> int:
    """Return where a field is in a struct, such as ``"dl_tensor.data"`` [bytes]."""
    offset = 0
    for name in path.split("."):
        offset += getattr(struct, name).offset
        struct = dict(struct._fields_)[name]
    return offset


def format_of(struct: Any, *fields: tuple[str, str]) -> str:
    """Return the format of some fields of a struct of C, as it lies in memory here.

    Parameters
    ----------
    struct : type
        Of ctypes, which knows how C aligns its fields.
    *fields : tuple of str
        Path and format of each, in their order in memory.
    """
    form, end = "=", 0
    for path, one in fields:
        gap = offset_of(struct, path) - end
        form += f"{gap}x{one}" if gap else one
        end += gap + calcsize(f"={one}")
    return form


memory: Final = _view(0, sys.maxsize & ~7)
"""What the functions of `reader` and `writer` take, with an address."""
READABLE_END: Final = len(memory) if _SIZE == 8 else ADDRESS_END - 8
"""One more than the highest address that can be read."""
if _SIZE == 8:
    words: Any = memory.cast("I")
    """``words[address >> 2]`` is the 32-bit word there: the major version of a versioned struct."""
    pointers: Any = memory.cast("Q")
    """``pointers[address >> SHIFT]`` is the pointer there, at a multiple of its size, as in C."""

    def reader(form: str) -> Callable[[Any, int], tuple[Any, ...]]:
        """Return ``read(memory, address)``, which unpacks what is there."""
        return Struct(form).unpack_from

    def writer(form: str) -> Callable[..., None]:
        """Return ``write(memory, address, *values)``, which packs them there."""
        return Struct(form).pack_into

else:
    _windows: Final = Windows(8 * _SIZE)
    words, pointers = _windows.numbers("I"), _windows.numbers(POINTER)
    reader, writer = _windows.reader, _windows.writer
