"""Functions of the bits of an int: ``popc``, ``clz``, ``ffs`` and ``brev``.

Source: CUDA C++ Math API, "Integer Intrinsics"; the names are those of ``numba.cuda``.  They count
within the width of the argument's type, and a count is an int32, as in CUDA C++.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import ir
from .intrinsics import Intrinsic
from .types import UNSIGNED, bool_, int32, uint32

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from .types import ScalarType


class BitFunction(Intrinsic):
    """A function of an int of any width.

    `lower` takes LLVM's builder, the argument and LLVM's int32; `reference` the bits and the width.
    """

    def __init__(
        self, name: str, doc: str, lower: Any, reference: Callable[[int, int], int]
    ) -> None:
        super().__init__(name, doc, ("x",), ptx=lower, host=lower)
        self.of_bits = reference

    def result_of(self, type_: ScalarType) -> ScalarType:
        """Return the type of the result for the type of the argument."""
        return int32 if self is not brev else UNSIGNED[type_]


def _as_int32(b: Any, x: Any) -> Any:
    """Return a count as an int32."""
    from llvmlite import ir as llvm_ir

    kind = llvm_ir.IntType(32)
    if x.type.width == kind.width:
        return x
    return b.zext(x, kind) if x.type.width < kind.width else b.trunc(x, kind)


def _lower_popc(b: Any, x: Any) -> Any:
    """Return the number of bits that are 1."""
    return _as_int32(b, b.ctpop(x))


def _lower_clz(b: Any, x: Any) -> Any:
    """Return the number of zeros above the highest bit that is 1."""
    return _as_int32(b, b.ctlz(x, _no()))


def _lower_ffs(b: Any, x: Any) -> Any:
    """Return the position of the lowest bit that is 1, from 1 on; 0 if there is none."""
    position = b.add(b.cttz(x, _no()), x.type(1))
    return _as_int32(b, b.select(b.icmp_unsigned("==", x, x.type(0)), x.type(0), position))


def _lower_brev(b: Any, x: Any) -> Any:
    """Return the bits in reverse order."""
    return b.bitreverse(x)


def _no() -> Any:
    """Return LLVM's constant for: the argument may be 0."""
    from llvmlite import ir as llvm_ir

    return llvm_ir.IntType(1)(0)


popc: Final = BitFunction(
    "popc", "Return the number of bits that are 1.", _lower_popc, lambda x, _: x.bit_count()
)
clz: Final = BitFunction(
    "clz", "Return the number of zeros above the highest bit that is 1.", _lower_clz,
    lambda x, bits: bits - x.bit_length(),
)  # fmt: skip
ffs: Final = BitFunction(
    "ffs", "Return the position of the lowest bit that is 1, from 1 on; 0 if there is none.",
    _lower_ffs, lambda x, _: (x & -x).bit_length(),
)  # fmt: skip
brev: Final = BitFunction(
    "brev", "Return the bits in reverse order, as an unsigned int of at least 32 bits.",
    _lower_brev, lambda x, bits: int(f"{x:0{bits}b}"[::-1], 2),
)  # fmt: skip
BIT_FUNCTIONS: Final = (popc, clz, ffs, brev)


def operand_type(function: BitFunction, type_: ScalarType) -> ScalarType:
    """Return the type to which an argument is cast: a bool is an int32, as in arithmetic."""
    if type_ is bool_:
        return int32
    if function is brev and type_.bits < uint32.bits:
        return int32 if type_.kind == "int" else uint32
    return type_


def _convert(reader: Any, node: ast.Call, function: BitFunction) -> ir.Expression:
    """Convert a call."""
    numbers = reader.numbers(node.args)
    if len(numbers) != 1:
        reader.refuse(node, f"{function.name}() takes one int", "CPY-CALL-1")
    number = reader.settled(numbers[0])
    type_ = operand_type(function, number.type)
    if not type_.is_integer:
        reader.refuse(node, f"{function.name}() of {type_}", "CPY-TYPE-2")
    return ir.Call(function.result_of(type_), function, (reader.cast(number, type_),))


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {
    each: lambda reader, node, each=each: _convert(reader, node, each)  # type: ignore[misc]
    for each in BIT_FUNCTIONS
}
"""Function -> what converts a call of it."""
