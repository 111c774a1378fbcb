"""Operations of complex numbers in LLVM IR.

Source: Baudin and Smith, "A Robust Complex Division in Scilab" (2012); C, Annex G.  Of complex64
they are computed in float64, where no intermediate result overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.types import complex64, float64

from .registers import F32

if TYPE_CHECKING:
    from interchange.cuda.types import ScalarType

    from .registers import Writer

Pair = tuple[Any, Any]
_F64: Final[Any] = ir.DoubleType()
_LARGE: Final = 2.0**1023
_SMALL: Final = 2.0**-968  # twice the smallest normal number, divided by the rounding unit
_UP: Final = 2.0**105


def operation(code: Writer, operator: str, type_: ScalarType, left: Any, right: Any) -> Any:
    """Return an operation of two complex numbers."""
    one, other = parts(code.b, left), parts(code.b, right)
    if operator in {"/", "**"}:
        wide = type_ is complex64
        if wide:
            one, other = (tuple(code.b.fpext(x, _F64) for x in each) for each in (one, other))
        by = _power if operator == "**" else _narrow_quotient if wide else _quotient
        found = by(code, one, other)
        if wide:
            found = tuple(code.b.fptrunc(x, F32) for x in found)
        return code.pair(type_, *found)
    act = product if operator == "*" else _sum if operator == "+" else _difference
    return code.pair(type_, *act(code.b, one, other))


def parts(b: Any, value: Any) -> Pair:
    """Return the real and the imaginary part."""
    return b.extract_value(value, 0), b.extract_value(value, 1)


def compared(b: Any, operator: str, left: Any, right: Any) -> Any:
    """Return whether two numbers are equal, or not."""
    (a, c), (x, y) = parts(b, left), parts(b, right)
    if operator == "==":
        return b.and_(b.fcmp_ordered("==", a, x), b.fcmp_ordered("==", c, y))
    return b.or_(b.fcmp_unordered("!=", a, x), b.fcmp_unordered("!=", c, y))


def product(b: Any, left: Pair, right: Pair) -> Pair:
    """Return a product."""
    (a, c), (x, y) = left, right
    real = b.fsub(b.fmul(a, x), b.fmul(c, y))
    return real, b.fadd(b.fmul(a, y), b.fmul(c, x))


def _sum(b: Any, left: Pair, right: Pair) -> Pair:
    """Return a sum."""
    return b.fadd(left[0], right[0]), b.fadd(left[1], right[1])


def _difference(b: Any, left: Pair, right: Pair) -> Pair:
    """Return a difference."""
    return b.fsub(left[0], right[0]), b.fsub(left[1], right[1])


# ---------------------------------------------------------------- quotients


def _narrow_quotient(code: Writer, left: Pair, right: Pair) -> Pair:
    """Return a quotient of numbers of float32, in float64: nothing overflows."""
    b, (a, c), (x, y) = code.b, left, right
    size = b.fadd(b.fmul(x, x), b.fmul(y, y))
    real = b.fdiv(b.fadd(b.fmul(a, x), b.fmul(c, y)), size)
    imag = b.fdiv(b.fsub(b.fmul(c, x), b.fmul(a, y)), size)
    return _by_zero(code, left, right, (real, imag))


def _by_zero(code: Writer, left: Pair, right: Pair, found: Pair) -> Pair:
    """Return a quotient, or, by 0, each part divided by 0, as NumPy does."""
    b, zero = code.b, _number(0.0)
    is_zero = b.and_(*(b.fcmp_ordered("==", part, zero) for part in right))
    size = code.mathematics("fabs", float64, [right[0]])
    real, imag = (
        b.select(is_zero, b.fdiv(a, size), each) for a, each in zip(left, found, strict=True)
    )
    return real, imag


def _number(value: float) -> Any:
    """Return a constant."""
    return ir.Constant(_F64, value)


def _quotient(code: Writer, left: Pair, right: Pair) -> Pair:
    """Return a quotient of float64, scaled so that no intermediate result leaves the range."""
    b = code.b
    scale = _number(1.0)
    left, scale = _scaled(code, left, scale, is_divisor=False)
    right, scale = _scaled(code, right, scale, is_divisor=True)
    (a, c), (x, y) = left, right
    is_flat = b.fcmp_ordered("<=", *(code.mathematics("fabs", float64, [p]) for p in (y, x)))
    p, q = (b.select(is_flat, *pair) for pair in ((a, c), (c, a)))
    u, v = (b.select(is_flat, *pair) for pair in ((x, y), (y, x)))
    ratio = b.fdiv(v, u)
    inverse = b.fdiv(_number(1.0), b.fadd(u, b.fmul(v, ratio)))
    real = _part(b, (p, q), (u, v), ratio, inverse)
    imag = _part(b, (q, b.fneg(p)), (u, v), ratio, inverse)
    imag = b.select(is_flat, imag, b.fneg(imag))
    return _by_zero(code, left, right, (b.fmul(real, scale), b.fmul(imag, scale)))


def _scaled(code: Writer, pair: Pair, scale: Any, *, is_divisor: bool) -> tuple[Pair, Any]:
    """Return a number scaled away from the bounds of float64, and the scale of the quotient."""
    b = code.b
    one, other = (code.mathematics("fabs", float64, [part]) for part in pair)
    size = b.select(b.fcmp_ordered(">", one, other), one, other)
    is_large = b.fcmp_ordered(">=", size, _number(_LARGE))
    is_small = b.fcmp_ordered("<=", size, _number(_SMALL))

    def by(large: float, small: float) -> Any:
        return b.select(is_large, _number(large), b.select(is_small, _number(small), _number(1.0)))

    factor = by(0.5, _UP)
    real, imag = (b.fmul(part, factor) for part in pair)
    back = by(0.5, _UP) if is_divisor else by(2.0, 1 / _UP)
    return (real, imag), b.fmul(scale, back)


def _part(b: Any, left: Pair, right: Pair, ratio: Any, inverse: Any) -> Any:
    """Return ``(p + q * v / u) / (u + v * v / u)``, also where a product underflows."""
    (p, q), (u, v) = left, right
    zero = _number(0.0)
    product_ = b.fmul(q, ratio)
    usual = b.fmul(b.fadd(p, product_), inverse)
    lost = b.fadd(b.fmul(p, inverse), b.fmul(b.fmul(q, inverse), ratio))
    by_ratio = b.select(b.fcmp_unordered("!=", product_, zero), usual, lost)
    flat = b.fmul(b.fadd(p, b.fmul(v, b.fdiv(q, u))), inverse)
    return b.select(b.fcmp_unordered("!=", ratio, zero), by_ratio, flat)


# ---------------------------------------------------------------- powers


def _power(code: Writer, left: Pair, right: Pair) -> Pair:
    """Return a power, as ``exp(w * log(z))``; of 0 it is 0, or 1 with the exponent 0."""
    b = code.b

    def math(name: str, *values: Any) -> Any:
        return code.mathematics(name, float64, list(values))

    length = math("log", math("hypot", *left)), math("atan2", left[1], left[0])
    real, angle = product(b, right, length)
    size = math("exp", real)
    found = b.fmul(size, math("cos", angle)), b.fmul(size, math("sin", angle))
    is_zero, is_one = (
        b.and_(*(b.fcmp_ordered("==", part, _number(0.0)) for part in each))
        for each in (left, right)
    )
    of_zero = b.select(is_one, _number(1.0), _number(0.0))
    real, imag = (
        b.select(b.or_(is_zero, is_one), other, each)
        for each, other in zip(found, (of_zero, _number(0.0)), strict=True)
    )
    return real, imag
