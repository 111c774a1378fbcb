"""The types of the dialect as LLVM's: in registers, and in memory.

Source: LLVM Language Reference, "Type System".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from llvmlite import ir

from interchange.cuda.types import HALVES, PART_OF, bfloat16

if TYPE_CHECKING:
    from interchange.cuda.ir import Expression
    from interchange.cuda.types import ScalarType

I1: Final[Any] = ir.IntType(1)
I8: Final[Any] = ir.IntType(8)
I32: Final[Any] = ir.IntType(32)
I16: Final[Any] = ir.IntType(16)
I64: Final[Any] = ir.IntType(64)
F16: Final[Any] = ir.HalfType()
F32: Final[Any] = ir.FloatType()
POINTER: Final[Any] = ir.PointerType()


def value_type(type_: ScalarType) -> Any:
    """Return LLVM's type of a number in a register."""
    if type_.kind == "complex":
        part = value_type(PART_OF[type_])
        return ir.LiteralStructType([part, part])
    if type_.kind == "float":
        return ir.DoubleType() if type_.bits == 64 else F32
    return I1 if type_.kind == "bool" else ir.IntType(type_.bits)


def memory_type(type_: ScalarType) -> Any:
    """Return LLVM's type of a number in memory."""
    if type_ in HALVES:
        return I16
    return I8 if type_.kind == "bool" else value_type(type_)


def from_memory(b: Any, type_: ScalarType, value: Any) -> Any:
    """Return a number as it is in a register, of one as it is in memory."""
    if type_.kind == "bool":
        return b.icmp_unsigned("!=", value, I8(0))
    if type_ is bfloat16:
        return b.bitcast(b.shl(b.zext(value, I32), I32(16)), F32)
    return b.fpext(b.bitcast(value, F16), F32) if type_ in HALVES else value


def to_memory(b: Any, type_: ScalarType, value: Any) -> Any:
    """Return a number as it is in memory, of one as it is in a register."""
    if type_.kind == "bool":
        return b.zext(value, I8)
    if type_ is bfloat16:
        return b.trunc(b.lshr(b.bitcast(value, I32), I32(16)), I16)
    return b.bitcast(b.fptrunc(value, F16), I16) if type_ in HALVES else value


class Writer(Protocol):
    """The code generator, as the operators use it."""

    b: Any
    module: Any

    def value(self, node: Expression) -> Any:
        """Return the value of an expression."""

    def pair(self, type_: ScalarType, real: Any, imag: Any) -> Any:
        """Return a complex number of two parts."""

    def mathematics(self, name: str, type_: ScalarType, arguments: list[Any]) -> Any:
        """Return a function of math."""

    def call(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """Return the result of a function of the target."""
