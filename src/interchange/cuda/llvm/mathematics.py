"""Functions of `math` in LLVM IR, and powers and common divisors of integers.

Source: LLVM Language Reference; CUDA, "libdevice User's Guide"; C, "Mathematics" (``math.h``).
"""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

from interchange.cuda.types import float64

from .registers import I1, I32, I64, value_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.cuda.ir import Choice, Math
    from interchange.cuda.types import ScalarType

    from .registers import Writer

ONE_INSTRUCTION: Final = frozenset(
    {"fabs", "sqrt", "floor", "ceil", "copysign", "trunc", "rint", "fma"}
)
"""Functions that are one instruction, correctly rounded, by LLVM's names."""
IN_DOUBLE: Final = frozenset({"tgamma", "lgamma", "erfc"})
"""Functions whose versions of float32 are less accurate, and computed in float64."""
INEXACT: Final = frozenset({"tgamma", "cbrt", "erfc"})
"""Functions of C libraries that are more than two units in the last place off in float64."""
_LONG_DOUBLES: Final = {"x86_64": "x86_fp80", "aarch64": "fp128"}


class _LongDouble(ir.Type):  # type: ignore[misc]
    """C's ``long double``, which llvmlite lacks."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _to_string(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LongDouble)

    def __hash__(self) -> int:
        return hash(_LongDouble)


_name = _LONG_DOUBLES.get(platform.machine()) if sys.platform == "linux" else None
LONG_DOUBLE: Final[Any] = _LongDouble(_name) if _name else None
"""The type of C's ``long double``, None where it is no wider than a double."""
_RENAMED: Final = {"gamma": "tgamma"}
_INFINITE: Final = float("inf")


def by_long_double(code: Writer, name: str) -> Any:
    """Return a function of float64 that calls the one of long double.

    It is not inlined: a float16 would be extended to a long double by a function of compilers that
    no library of the process has.
    """
    kind, full = ir.DoubleType(), f"interchange.{name}"
    found = code.module.globals.get(full)
    if found is None:
        found = ir.Function(code.module, ir.FunctionType(kind, [kind]), full)
        found.linkage = "internal"
        found.attributes.add("noinline")
        called = ir.FunctionType(LONG_DOUBLE, [LONG_DOUBLE])
        library = ir.Function(code.module, called, f"{name}l")
        b = ir.IRBuilder(found.append_basic_block("entry"))
        wide = b.call(library, [b.fpext(found.args[0], LONG_DOUBLE)])
        b.ret(b.fptrunc(wide, kind))
    return found


def choice(code: Writer, node: Choice) -> Any:
    """Return one of two numbers."""
    test, yes, no = (code.value(each) for each in (node.test, node.yes, node.no))
    return code.b.select(test, yes, no)


def math_function(code: Writer, node: Math) -> Any:
    """Return a function of math."""
    values = [code.value(argument) for argument in node.arguments]
    type_ = node.arguments[0].type
    if node.name in _COMPUTED:
        return _COMPUTED[node.name](code, type_, values)
    return code.mathematics(_RENAMED.get(node.name, node.name), type_, values)


def _is_nan(code: Writer, _: ScalarType, values: list[Any]) -> Any:
    """Return whether a number is NaN."""
    return code.b.fcmp_unordered("uno", values[0], values[0])


def _against_infinity(code: Writer, test: str, type_: ScalarType, value: Any) -> Any:
    """Return a comparison of the absolute value with infinity."""
    size = code.mathematics("fabs", type_, [value])
    return code.b.fcmp_ordered(test, size, ir.Constant(value_type(type_), _INFINITE))


def _is_infinite(code: Writer, type_: ScalarType, values: list[Any]) -> Any:
    """Return whether a number is infinite."""
    return _against_infinity(code, "==", type_, values[0])


def _is_finite(code: Writer, type_: ScalarType, values: list[Any]) -> Any:
    """Return whether a number is neither infinite nor NaN."""
    return _against_infinity(code, "<", type_, values[0])


def _fraction(code: Writer, type_: ScalarType, values: list[Any]) -> Any:
    """Return the fractional part, with the sign of the number; 0 of an infinite one."""
    b, (value,) = code.b, values
    rest = b.fsub(value, code.mathematics("trunc", type_, values))
    zero = ir.Constant(value_type(type_), 0.0)
    rest = b.select(_is_infinite(code, type_, values), zero, rest)
    return code.mathematics("copysign", type_, [rest, value])


def _normal(code: Writer, type_: ScalarType, value: Any) -> tuple[Any, Any, int, Any]:
    """Return bits and biased exponent of a number, scaled to be normal; and what was added."""
    b = code.b
    size, digits = (64, 52) if type_ is float64 else (32, 23)
    whole, kind = ir.IntType(size), value_type(type_)
    least = ir.Constant(kind, 2.0 ** (-1022 if size == 64 else -126))
    is_small = b.fcmp_ordered("<", code.mathematics("fabs", type_, [value]), least)
    large = b.fmul(value, ir.Constant(kind, 2.0**digits * 4))
    bits = b.bitcast(b.select(is_small, large, value), whole)
    mask = whole((1 << size - 1 - digits) - 1)
    exponent = b.and_(b.lshr(bits, whole(digits)), mask)
    exponent = exponent if size == 32 else b.trunc(exponent, I32)
    added = b.select(is_small, I32(digits + 2), I32(0))
    return bits, exponent, digits, added


def _is_plain(code: Writer, type_: ScalarType, value: Any) -> Any:
    """Return whether a number has an exponent: it is finite, and not 0."""
    zero = ir.Constant(value_type(type_), 0.0)
    return code.b.and_(code.b.fcmp_ordered("!=", value, zero), _is_finite(code, type_, [value]))


def _frexp_fraction(code: Writer, type_: ScalarType, values: list[Any]) -> Any:
    """Return the fraction of frexp(): from 0.5 to 1, or the number if it is 0 or not finite."""
    b, (value,) = code.b, values
    bits, _, digits, _ = _normal(code, type_, value)
    size = bits.type.width
    field = (1 << size - 1 - digits) - 1
    kept = b.and_(bits, bits.type(~(field << digits)))
    half = b.or_(kept, bits.type((field >> 1) - 1 << digits))
    fraction = b.bitcast(half, value_type(type_))
    return b.select(_is_plain(code, type_, value), fraction, value)


def _frexp_exponent(code: Writer, type_: ScalarType, values: list[Any]) -> Any:
    """Return the exponent of frexp(); 0 of numbers that have none."""
    b, (value,) = code.b, values
    _, exponent, _, added = _normal(code, type_, value)
    bias = 1022 if type_ is float64 else 126
    found = b.sub(b.sub(exponent, I32(bias)), added)
    return b.select(_is_plain(code, type_, value), found, I32(0))


_COMPUTED: Final[dict[str, Callable[[Writer, ScalarType, list[Any]], Any]]] = {
    "isnan": _is_nan, "isinf": _is_infinite, "isfinite": _is_finite, "modf.fraction": _fraction,
    "frexp.fraction": _frexp_fraction, "frexp.exponent": _frexp_exponent,
}  # fmt: skip
"""Function that is computed here -> what computes it."""


# ---------------------------------------------------------------- integers


def _helper(
    code: Writer, name: str, type_: ScalarType, write: Callable[[Any, Any, ScalarType], None]
) -> Any:
    """Return a function of two integers, added to the module on first use."""
    kind, full = value_type(type_), f"interchange.{name}.{type_}"
    found = code.module.globals.get(full)
    if found is None:
        found = ir.Function(code.module, ir.FunctionType(kind, [kind, kind]), full)
        found.linkage = "internal"
        write(ir.IRBuilder(found.append_basic_block("entry")), found, type_)
    return found


def _loop(
    b: Any, function: Any, test: Callable[[list[Any]], Any], step: Callable[[list[Any]], list[Any]],
    first: list[Any],
) -> list[Any]:  # fmt: skip
    """Generate a loop over some values while a test holds; return the last values."""
    head, body, done = (function.append_basic_block(name) for name in ("head", "body", "done"))
    begin = b.block
    b.branch(head)
    b.position_at_end(head)
    now = [b.phi(value.type) for value in first]
    for phi, value in zip(now, first, strict=True):
        phi.add_incoming(value, begin)
    b.cbranch(test(now), body, done)
    b.position_at_end(body)
    for phi, value in zip(now, step(now), strict=True):
        phi.add_incoming(value, b.block)
    b.branch(head)
    b.position_at_end(done)
    return now


def _power(code: Writer, type_: ScalarType, left: Any, right: Any) -> Any:
    """Return a power of integers, by squaring."""
    return code.b.call(_helper(code, "pow", type_, _write_power), [left, right])


def _write_power(b: Any, function: Any, type_: ScalarType) -> None:
    """Generate the power: the bits of the exponent, from the lowest; of a negative one 1 / x."""
    base, exponent = function.args
    kind = value_type(type_)
    zero, one, minus = kind(0), kind(1), kind(-1)

    def step(now: list[Any]) -> list[Any]:
        result, square, rest = now
        is_odd = b.icmp_unsigned("!=", b.and_(rest, one), zero)
        result = b.select(is_odd, b.mul(result, square), result)
        return [result, b.mul(square, square), b.lshr(rest, one)]

    found = _loop(
        b, function, lambda now: b.icmp_unsigned("!=", now[2], zero), step, [one, base, exponent]
    )[0]
    if type_.kind == "int":
        is_odd = b.icmp_unsigned("!=", b.and_(exponent, one), zero)
        of_minus = b.select(b.icmp_unsigned("==", base, minus), b.select(is_odd, minus, one), zero)
        inverse = b.select(b.icmp_unsigned("==", base, one), one, of_minus)
        found = b.select(b.icmp_signed("<", exponent, zero), inverse, found)
    b.ret(found)


def _divisor(code: Writer, type_: ScalarType, left: Any, right: Any) -> Any:
    """Return the greatest common divisor, which is not negative unless it overflows."""
    b = code.b
    if type_.kind == "int":
        zero = value_type(type_)(0)
        left, right = (
            b.select(b.icmp_signed("<", each, zero), b.neg(each), each) for each in (left, right)
        )
    return b.call(_helper(code, "gcd", type_, _write_divisor), [left, right])


def _write_divisor(b: Any, function: Any, type_: ScalarType) -> None:
    """Generate Euclid's algorithm."""
    zero = value_type(type_)(0)

    def test(now: list[Any]) -> Any:
        return b.icmp_unsigned("!=", now[1], zero)

    found = _loop(b, function, test, lambda now: [now[1], b.urem(*now)], list(function.args))
    b.ret(found[0])


def _root(code: Writer, type_: ScalarType, value: Any, _: Any) -> Any:
    """Return the integer square root, rounded down; 0 of negative numbers."""
    b, kind = code.b, value_type(type_)
    wide = value if type_.bits == 64 else b.zext(value, I64)
    near = code.call("llvm.sqrt.f64", ir.DoubleType(), [b.uitofp(wide, ir.DoubleType())])
    most = I64((1 << 32) - 1)
    root = b.fptoui(near, I64)
    root = b.select(b.icmp_unsigned(">", root, most), most, root)
    is_over = b.icmp_unsigned(">", b.mul(root, root), wide)
    root = b.sub(root, b.zext(is_over, I64))
    found = root if type_.bits == 64 else b.trunc(root, kind)
    is_negative = b.icmp_signed("<", value, kind(0)) if type_.kind == "int" else I1(0)
    return b.select(is_negative, kind(0), found)


WHOLE: Final[dict[str, Callable[..., Any]]] = {"**": _power, "gcd": _divisor, "isqrt": _root}
"""Operation of integers -> what computes it."""
