"""Operators on numbers of one type, and casts, in LLVM IR.

Source: LLVM Language Reference; CUDA Python Specification 0.2, "Basic Arithmetic Operations".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir

from interchange.cuda.ir import Constant
from interchange.cuda.operators import COMPARISONS
from interchange.cuda.types import HALVES, PART_OF, bool_

from . import complexes, halves, mathematics
from .registers import I1, value_type

if TYPE_CHECKING:
    from interchange.cuda.ir import Binary, Rounds, Unary
    from interchange.cuda.types import ScalarType

    from .registers import Writer


def number(type_: ScalarType, value: float) -> Any:
    """Return a constant."""
    return ir.Constant(value_type(type_), value)


def binary(code: Writer, node: Binary) -> Any:
    """Return a binary operation."""
    left, right = code.value(node.left), code.value(node.right)
    type_ = node.left.type
    if node.operator in COMPARISONS:
        return _compared(code, node.operator, type_, left, right)
    if type_.kind == "complex":
        return complexes.operation(code, node.operator, type_, left, right)
    if type_.kind == "float":
        return _float(code, node, left, right)
    return _integer(code, node.operator, type_, left, right)


def _compared(code: Writer, operator: str, type_: ScalarType, left: Any, right: Any) -> Any:
    """Return a comparison."""
    if type_.kind == "complex":
        return complexes.compared(code.b, operator, left, right)
    if type_.kind == "float":
        compare = code.b.fcmp_unordered if operator == "!=" else code.b.fcmp_ordered
    else:
        compare = code.b.icmp_signed if type_.kind == "int" else code.b.icmp_unsigned
    return compare(operator, left, right)


def _float(code: Writer, node: Binary, left: Any, right: Any) -> Any:
    """Return an operation of floats."""
    b, type_ = code.b, node.left.type
    simple = {"+": b.fadd, "-": b.fsub, "*": b.fmul, "/": b.fdiv}.get(node.operator)
    if simple is not None:
        return halves.rounded(b, simple(left, right), type_)
    quotient = halves.rounded(b, b.fdiv(left, right), type_)
    floor = code.mathematics("floor", type_, [quotient])
    if node.operator == "//":
        return cast(code, floor, type_, node.type)
    product = halves.rounded(b, b.fmul(floor, right), type_)
    return halves.rounded(b, b.fsub(left, product), type_)


def _integer(code: Writer, operator: str, type_: ScalarType, left: Any, right: Any) -> Any:
    """Return an operation of integers."""
    b = code.b
    simple = {
        "+": b.add, "-": b.sub, "*": b.mul, "&": b.and_, "|": b.or_, "^": b.xor,
    }.get(operator)  # fmt: skip
    if simple is not None:
        return simple(left, right)
    if operator in mathematics.WHOLE:
        return mathematics.WHOLE[operator](code, type_, left, right)
    if operator in {"<<", ">>"}:
        return _shifted(code, operator, type_, left, right)
    return _divided(code, operator, type_, left, right)


def _shifted(code: Writer, operator: str, type_: ScalarType, left: Any, right: Any) -> Any:
    """Shift; shifts by the width or more, and by negative numbers, shift all bits out."""
    b = code.b
    is_far = b.icmp_unsigned(">=", right, number(type_, type_.bits))
    if operator == ">>" and type_.kind == "int":
        return b.ashr(left, b.select(is_far, number(type_, type_.bits - 1), right))
    # Not by `right` itself: LLVM 22 would omit the test on GPUs, where shifts use the lower 32 bits
    # only (llvm/llvm-project#201165).
    near = b.and_(right, number(type_, type_.bits - 1))
    shifted = b.shl(left, near) if operator == "<<" else b.lshr(left, near)
    return b.select(is_far, number(type_, 0), shifted)


def _divided(code: Writer, operator: str, type_: ScalarType, left: Any, right: Any) -> Any:
    """Divide and round down, as Python does; division by 0 gives 0."""
    b, zero = code.b, number(type_, 0)
    is_zero = b.icmp_unsigned("==", right, zero)
    if type_.kind == "uint":
        safe = b.select(is_zero, number(type_, 1), right)
        found = b.udiv(left, safe) if operator == "//" else b.urem(left, safe)
        return b.select(is_zero, zero, found)
    minus = number(type_, -1)
    is_negation = b.icmp_unsigned("==", right, minus)  # the lowest number divided by -1 overflows
    safe = b.select(b.or_(is_zero, is_negation), number(type_, 1), right)
    quotient, rest = b.sdiv(left, safe), b.srem(left, safe)
    is_below = b.and_(b.icmp_signed("!=", rest, zero), b.icmp_signed("<", b.xor(rest, safe), zero))
    if operator == "//":
        floored = b.sub(quotient, b.zext(is_below, value_type(type_)))
        floored = b.select(is_negation, b.sub(zero, left), floored)
        return b.select(is_zero, zero, floored)
    return b.select(is_zero, zero, b.select(is_below, b.add(rest, safe), rest))


def unary(code: Writer, node: Unary) -> Any:
    """Return a unary operation."""
    value, type_ = code.value(node.value), node.type
    if node.operator in {"not", "~"}:
        return code.b.not_(value)
    if type_.kind == "complex":
        parts = (code.b.fneg(code.b.extract_value(value, which)) for which in (0, 1))
        return code.pair(type_, *parts)
    return code.b.fneg(value) if type_.kind == "float" else code.b.neg(value)


def cast(code: Writer, value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Return a number cast to another type."""
    if source is target:
        return value
    if target.kind == "complex":
        return _to_complex(code, value, source, target)
    if target is bool_:
        return _compared(code, "!=", source, value, ir.Constant(value_type(source), None))
    if target in HALVES:
        return halves.converted(code.b, value, source, target)
    if source.kind == "float":
        return _from_float(code, value, source, target)
    if target.kind == "float":
        act = code.b.sitofp if source.kind == "int" else code.b.uitofp
        return act(value, value_type(target))
    return _resized(code, value, source, target)


def _to_complex(code: Writer, value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Return a number cast to a complex one."""
    part = PART_OF[target]
    if source.kind != "complex":
        return code.pair(target, cast(code, value, source, part), number(part, 0.0))
    parts = (code.b.extract_value(value, which) for which in (0, 1))
    return code.pair(target, *(cast(code, each, PART_OF[source], part) for each in parts))


def _from_float(code: Writer, value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Return a float cast to another type; integers are truncated, and saturate."""
    kind = value_type(target)
    if target.kind == "float":
        if target.bits == 32 and source in HALVES:
            return value
        return (code.b.fpext if target.bits > source.bits else code.b.fptrunc)(value, kind)
    name = "fptosi" if target.kind == "int" else "fptoui"
    return code.call(f"llvm.{name}.sat.i{target.bits}.f{max(32, source.bits)}", kind, [value])


def _resized(code: Writer, value: Any, source: ScalarType, target: ScalarType) -> Any:
    """Return an integer extended or truncated to the width of another type."""
    kind, width = value_type(target), 1 if source is bool_ else source.bits
    if width == target.bits:
        return value
    if width > target.bits:
        return code.b.trunc(value, kind)
    return (code.b.sext if source.kind == "int" else code.b.zext)(value, kind)


def rounds(code: Writer, node: Rounds) -> Any:
    """Return the length of a range; differences may need all bits of an unsigned number."""
    b, type_ = code.b, node.start.type
    start, stop, step = (code.value(each) for each in (node.start, node.stop, node.step))
    zero, one = number(type_, 0), number(type_, 1)
    is_signed = type_.kind == "int"
    compare = b.icmp_signed if is_signed else b.icmp_unsigned
    if isinstance(node.step, Constant) and node.step.value > 0:  # most ranges: shorter code
        way = b.sub(stop, start)
        counted = way if node.step.value == 1 else b.add(b.udiv(b.sub(way, one), step), one)
        return b.select(compare("<", start, stop), counted, zero)
    is_down = compare("<", step, zero) if is_signed else I1(0)
    has_any = b.select(is_down, compare(">", start, stop), compare("<", start, stop))
    has_any = b.and_(has_any, b.icmp_unsigned("!=", step, zero))
    way = b.select(is_down, b.sub(start, stop), b.sub(stop, start))
    size = b.select(is_down, b.neg(step), step)
    safe = b.select(b.icmp_unsigned("==", size, zero), one, size)
    counted = b.add(b.udiv(b.sub(way, one), safe), one)
    return b.select(has_any, counted, zero)
