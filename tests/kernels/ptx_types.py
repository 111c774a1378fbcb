"""Opcodes of PTX, and the representation of numbers in registers.

Source: PTX ISA 8.8, "Types".  Floats are NumPy's scalars,
integers are Python's.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}
PACKED = {16: struct.Struct("<e"), 32: struct.Struct("<f"), 64: struct.Struct("<d")}
WIDE = (1 << 64) - 1


class UnknownOpcodeError(NotImplementedError):
    """An opcode, or one of its modifiers, is not known."""


class Type(NamedTuple):
    """The type of an operand: ``b``, ``s``, ``u``, ``f``, ``pred`` or ``x2``, and its width [bits].

    The last is two floats of half its width.
    """

    kind: str
    bits: int


TYPES = {
    **{f"{kind}{bits}": Type(kind, bits) for kind in "bsu" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": Type("f", bits) for bits in FLOATS},
    "pred": Type("pred", 1), "f32x2": Type("x2", 64), "f16x2": Type("x2", 32),
}  # fmt: skip


class Opcode:
    """A parsed opcode: name, modifiers that are types, and other modifiers.

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
        """Return whether a modifier is present."""
        return flag in self.flags

    def one_of(self, known: Any, default: str = "") -> str:
        """Return which of several modifiers is present."""
        return next((flag for flag in self.flags if flag in known), default)

    def allow(self, known: str) -> None:
        """Refuse all other modifiers."""
        if set(self.flags) - set(known.split()):
            self.refuse()

    def refuse(self) -> Any:
        """Raise an error: the opcode is not implemented."""
        raise UnknownOpcodeError(self.text)


class Rule(NamedTuple):
    """The types of the operands and of the result, and a function of numbers."""

    result: Type
    operands: tuple[Type, ...]
    act: Callable[..., Any]


# ---------------------------------------------------------------- bits and numbers


def decoder(type_: Type) -> Callable[[int], Any]:
    """Return a function from bits to a number; bits above the width are ignored."""
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
    """Return a function from a number to bits; a narrow signed one is sign-extended."""
    mask = (1 << type_.bits) - 1
    if type_.kind == "f":
        pack = PACKED[type_.bits].pack
        return lambda number: int.from_bytes(pack(number), "little")
    if type_.kind == "s" and type_.bits < 32:
        decode = decoder(type_)
        return lambda number: decode(number) & WIDE
    return lambda number: int(number) & mask


def limits(type_: Type) -> tuple[int, int]:
    """Return the minimum and the maximum of an integer type."""
    if type_.kind == "s":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1
