"""The types of the dialect as LLVM's: in registers, and in memory.

Source: LLVM Language Reference, "Type System".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from llvmlite import ir

from interchange.cuda.types import PART_OF

if TYPE_CHECKING:
    from interchange.cuda.ir import Expression
    from interchange.cuda.types import ScalarType

I1: Final[Any] = ir.IntType(1)
I8: Final[Any] = ir.IntType(8)
I32: Final[Any] = ir.IntType(32)
I64: Final[Any] = ir.IntType(64)
POINTER: Final[Any] = ir.PointerType()


def value_type(type_: ScalarType) -> Any:
    """Return LLVM's type of a number in a register."""
    if type_.kind == "complex":
        part = value_type(PART_OF[type_])
        return ir.LiteralStructType([part, part])
    if type_.kind == "float":
        return ir.FloatType() if type_.bits == 32 else ir.DoubleType()
    return I1 if type_.kind == "bool" else ir.IntType(type_.bits)


def memory_type(type_: ScalarType) -> Any:
    """Return LLVM's type of a number in memory."""
    return I8 if type_.kind == "bool" else value_type(type_)


class Writer(Protocol):
    """The code generator, as the operators use it."""

    b: Any

    def value(self, node: Expression) -> Any:
        """Return the value of an expression."""

    def pair(self, type_: ScalarType, real: Any, imag: Any) -> Any:
        """Return a complex number of two parts."""

    def mathematics(self, name: str, type_: ScalarType, arguments: list[Any]) -> Any:
        """Return a function of math."""

    def call(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """Return the result of a function of the target."""
