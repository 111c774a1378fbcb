"""Floats of 16 bits in LLVM IR: a register holds one as a float32, rounded after each operation.

Source: IEEE 754, binary16; Intel, "BFLOAT16 - Hardware Numerics Definition".  The rounding of a
sum, a product or a quotient of float32 gives what a single rounding of the exact one would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.types import HALVES, bfloat16

from .registers import F16, F32, I32, I64

if TYPE_CHECKING:
    from interchange.cuda.types import ScalarType

_F64: Final[Any] = ir.DoubleType()
_EXACT: Final = 1 << 53  # integers below are exact as a float64
_STICKY: Final = 4095  # the lowest bits of larger ones, which no half keeps


def rounded(b: Any, value: Any, type_: ScalarType) -> Any:
    """Return a float32 rounded to a half, as a float32; a value of a wider type unchanged."""
    if type_ not in HALVES:
        return value
    if type_ is not bfloat16:
        return b.fpext(b.fptrunc(value, F16), F32)
    bits = b.bitcast(value, I32)
    to_even = b.and_(b.lshr(bits, I32(16)), I32(1))
    near = b.add(bits, b.add(to_even, I32(0x7FFF)))
    quiet = b.or_(bits, I32(0x400000))
    kept = b.select(b.fcmp_unordered("uno", value, value), quiet, near)
    return b.bitcast(b.and_(kept, I32(-0x10000)), F32)


def converted(b: Any, value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Return a number cast to a half, rounded once."""
    if source.kind != "float":
        value = _as_double(b, value, source)
    elif source.bits < 64:
        return rounded(b, value, target)
    return rounded(b, _to_odd(b, value), target)


def _to_odd(b: Any, value: Any) -> Any:
    """Return a float64 as a float32 that may be rounded again: an inexact one is odd."""
    near = b.fptrunc(value, F32)
    back = b.fpext(near, _F64)
    fabs = b.module.globals.get("llvm.fabs.f64") or ir.Function(
        b.module, ir.FunctionType(_F64, [_F64]), "llvm.fabs.f64"
    )
    is_over = b.fcmp_ordered(">", b.call(fabs, [back]), b.call(fabs, [value]))
    is_inexact = b.fcmp_ordered("!=", back, value)
    bits = b.sub(b.bitcast(near, I32), b.zext(is_over, I32))
    return b.bitcast(b.or_(bits, b.zext(is_inexact, I32)), F32)


def _as_double(b: Any, value: Any, source: ScalarType) -> Any:
    """Return an integer as a float64; of a large one the lowest bits are one bit."""
    act = b.sitofp if source.kind == "int" else b.uitofp
    if source.bits < 64:
        return act(value, _F64)
    has_low = b.icmp_unsigned("!=", b.and_(value, I64(_STICKY)), I64(0))
    sticky = b.select(has_low, I64(_STICKY + 1 >> 1), I64(0))
    large = b.or_(b.and_(value, I64(~_STICKY)), sticky)
    if source.kind == "int":
        is_small = b.icmp_unsigned("<", b.add(value, I64(_EXACT)), I64(2 * _EXACT))
    else:
        is_small = b.icmp_unsigned("<", value, I64(_EXACT))
    return act(b.select(is_small, value, large), _F64)
