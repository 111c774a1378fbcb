"""What an opcode of PTX says, and how registers hold numbers of its types.

Source: PTX ISA 8.8, "Types".  Floats are NumPy's scalars,
integers are Python's.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = {32: np.float32, 64: np.float64}
PACKED = {32: struct.Struct("<f"), 64: struct.Struct("<d")}
WIDE = (1 << 64) - 1


class UnknownOpcodeError(NotImplementedError):
    """An opcode, or one of its modifiers, is not known."""


class Type(NamedTuple):
    """The type of an operand: ``b``, ``s``, ``u``, ``f``, ``pred`` or ``x2``, and its width [bits].

    The last is two floats of 32 bits.
    """

    kind: str
    bits: int


TYPES = {
    **{f"{kind}{bits}": Type(kind, bits) for kind in "bsu" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": Type("f", bits) for bits in FLOATS},
    "pred": Type("pred", 1), "f32x2": Type("x2", 64),
}  # fmt: skip


class Opcode:
    """An opcode in its parts: name, modifiers that are types, and the other ones.

    Examples
    --------
    >>> cvt = Opcode("cvt.rzi.s32.f32")
    >>> cvt.name, cvt.flags, cvt.type
    ('cvt', ('rzi',), Type(kind='f', bits=32))
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.name, *rest = text.split(".")
        self.types = tuple(TYPES[part] for part in rest if part in TYPES)
        self.flags = tuple(part for part in rest if part not in TYPES)

    @property
    def type(self) -> Type:
        """The last type."""
        if not self.types:
            self.refuse()
        return self.types[-1]

    def has(self, flag: str) -> bool:
        """Whether a modifier is there."""
        return flag in self.flags

    def one_of(self, known: Any, default: str = "") -> str:
        """Return which of several modifiers is there."""
        return next((flag for flag in self.flags if flag in known), default)

    def allow(self, known: str) -> None:
        """Refuse any modifier but these."""
        if set(self.flags) - set(known.split()):
            self.refuse()

    def refuse(self) -> Any:
        """Raise: this machine does not know it."""
        raise UnknownOpcodeError(self.text)


class Rule(NamedTuple):
    """How to compute: the types of the operands, of the result, and a function of numbers."""

    result: Type
    operands: tuple[Type, ...]
    act: Callable[..., Any]


# ---------------------------------------------------------------- bits and numbers


def decoder(type_: Type) -> Callable[[int], Any]:
    """Return what makes a number of bits; those above the width do not count."""
    mask = (1 << type_.bits) - 1
    if type_.kind == "f":
        float_, unpack = FLOATS[type_.bits], PACKED[type_.bits].unpack
        size = type_.bits // 8
        return lambda bits: float_(unpack((bits & mask).to_bytes(size, "little"))[0])
    if type_.kind == "s":
        sign = 1 << (type_.bits - 1)
        return lambda bits: ((bits & mask) ^ sign) - sign
    return lambda bits: bits & mask


def encoder(type_: Type) -> Callable[[Any], int]:
    """Return what makes bits of a number; a narrow signed one fills a wider register."""
    mask = (1 << type_.bits) - 1
    if type_.kind == "f":
        pack = PACKED[type_.bits].pack
        return lambda number: int.from_bytes(pack(number), "little")
    if type_.kind == "s" and type_.bits < 32:
        decode = decoder(type_)
        return lambda number: decode(number) & WIDE
    return lambda number: int(number) & mask


def limits(type_: Type) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    if type_.kind == "s":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1
