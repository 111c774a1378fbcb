"""Host memory with known contents: element number n has the value n.

Source: dlpack.h 1.3 (codes and bits); the formats of the ``struct`` module for the elements.  A
bfloat16 is the upper half of a float32.  Element types without a format hold n as a little-endian
integer, truncated to their size.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from itertools import product
from math import prod
from typing import Final, NamedTuple

Ints = tuple[int, ...]
Element = tuple[int, int, int]
"""Code, bits and lanes."""

_ALIGNMENT: Final = 64  # [bytes]: consumers that copy unaligned memory do not copy this

ELEMENTS: Final[dict[str, Element]] = {
    "bool": (6, 8, 1),
    "int8": (0, 8, 1),
    "int16": (0, 16, 1),
    "int32": (0, 32, 1),
    "int64": (0, 64, 1),
    "uint8": (1, 8, 1),
    "uint16": (1, 16, 1),
    "uint32": (1, 32, 1),
    "uint64": (1, 64, 1),
    "float16": (2, 16, 1),
    "float32": (2, 32, 1),
    "float64": (2, 64, 1),
    "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
    "bfloat16": (4, 16, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "uint4": (1, 4, 1),
    "float4_e2m1fn": (17, 4, 1),
}
"""Names of element types that `interchange.testing.producers.host` accepts."""


class _Format(NamedTuple):
    """The format of a number, and the modulus of the numbers."""

    text: str
    modulus: int = 2**31
    parts: int = 1


_FORMATS: Final = {
    (6, 8, 1): _Format("=?", 2),
    (0, 8, 1): _Format("=b", 2**7),
    (0, 16, 1): _Format("=h", 2**15),
    (0, 32, 1): _Format("=i"),
    (0, 64, 1): _Format("=q"),
    (1, 8, 1): _Format("=B", 2**8),
    (1, 16, 1): _Format("=H", 2**16),
    (1, 32, 1): _Format("=I"),
    (1, 64, 1): _Format("=Q"),
    (2, 16, 1): _Format("=e", 2**11),
    (2, 32, 1): _Format("=f", 2**24),
    (2, 64, 1): _Format("=d"),
    (4, 16, 1): _Format("=f", 2**8),  # of which the upper half is kept
    (5, 64, 1): _Format("=ff", 2**24, 2),
    (5, 128, 1): _Format("=dd", parts=2),
}


def itemsize(element: Element) -> int:
    """Return the size of one element [bytes], rounded up, at least 1 for malformed types."""
    _, bits, lanes = element
    return max(1, -(-bits * lanes // 8))


def c_strides(shape: Ints) -> Ints:
    """Return the strides of a row-major array [elements].

    Examples
    --------
    >>> c_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(extent or 1 for extent in shape[axis + 1 :]) for axis in range(len(shape)))


def reach(shape: Ints, strides: Ints) -> tuple[int, int]:
    """Return the lowest and the highest element, relative to the first one [elements].

    Examples
    --------
    >>> reach((2, 3), (-3, 1))
    (-3, 2)
    """
    steps = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)


def _number(n: int, element: Element) -> int | float | complex | bool:
    """Return the value of element number `n`."""
    form = _FORMATS.get(element)
    if form is None:
        return n % (1 << 8 * itemsize(element))
    n %= form.modulus
    if form.parts > 1:
        return complex(n, -n)
    return bool(n) if form.text == "=?" else n


def _encoded(n: int, element: Element) -> bytes:
    """Return the bytes of element number `n`."""
    number = _number(n, element)
    form = _FORMATS.get(element)
    if form is None:
        return int(number.real).to_bytes(itemsize(element), "little")
    parts = (number.real, number.imag) if form.parts > 1 else (number,)
    packed = struct.pack(form.text, *parts)
    if len(packed) > itemsize(element):
        return packed[2:] if sys.byteorder == "little" else packed[:2]
    return packed


class Memory:
    """A block of numbered elements, with some bytes before the first.

    Parameters
    ----------
    count : int
        Number of elements.
    element : tuple[int, int, int]
        Code, bits and lanes.
    lead : int, default 0
        Number of bytes before element 0 [bytes].

    Attributes
    ----------
    address : int
        Address of the block; a multiple of 64.
    size : int
        Size of the block [bytes], including `lead`.
    """

    __slots__ = ("_anchor", "_pad", "_storage", "address", "count", "element", "lead", "size")

    count: int
    element: Element
    lead: int

    def __init__(self, count: int, element: Element, lead: int = 0) -> None:
        self.count, self.element, self.lead = count, element, lead
        self.size: int = lead + count * itemsize(element)
        self._storage = bytearray(self.size + _ALIGNMENT)
        self._anchor = (ctypes.c_char * len(self._storage)).from_buffer(self._storage)
        start = ctypes.addressof(self._anchor)
        self._pad = -start % _ALIGNMENT
        self.address: int = start + self._pad
        self.view()[lead:] = b"".join(_encoded(n, element) for n in range(count))

    def view(self) -> memoryview:
        """Return the block as writable bytes."""
        return memoryview(self._storage)[self._pad : self._pad + self.size]

    def copy(self) -> Memory:
        """Return another block with the same bytes."""
        other = Memory(self.count, self.element, self.lead)
        other.view()[:] = self.view()
        return other

    def numbers(self, first: int, shape: Ints, strides: Ints) -> list[int | float | complex | bool]:
        """Return the elements of a strided array, in C order.

        Parameters
        ----------
        first : int
            Address of the first element of the array.
        shape : tuple[int, ...]
            Extent of each axis [elements].
        strides : tuple[int, ...]
            Stride of each axis [elements].
        """
        start = (first - self.address - self.lead) // itemsize(self.element)
        indices = product(*map(range, shape))
        return [
            _number(
                start + sum(i * step for i, step in zip(index, strides, strict=True)), self.element
            )
            for index in indices
        ]
