"""PTX instructions for integers, comparisons and conversions, and the table of all instructions.

Source: PTX ISA 8.8, "Instruction Set".
"""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .ptx_floats import IN_DOUBLE, ROUNDING, exactly, float_rule, modified, pair_rule, rounded
from .ptx_types import FLOATS, TYPES, Opcode, Rule, Type, encoder, limits

if TYPE_CHECKING:
    from collections.abc import Callable

UNSPECIFIED = 0xA5A5_A5A5_A5A5_A5A5
"""The result of operations that PTX leaves undefined: no result should depend on it."""

# ---------------------------------------------------------------- integers


def _quotient(a: int, b: int) -> int:
    """Divide with truncation; division by 0 is undefined, and LLVM may compute it without use."""
    if b == 0:
        return UNSPECIFIED
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _rest(a: int, b: int) -> int:
    """Return the remainder of a division."""
    return a - b * _quotient(a, b) if b else UNSPECIFIED


_INTEGER = {
    "add": operator.add, "sub": operator.sub, "div": _quotient, "min": min, "max": max,
    "rem": _rest, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "not": operator.invert, "neg": operator.neg, "abs": abs, "cnot": lambda a: int(a == 0),
    "popc": lambda a: a.bit_count(),
}  # fmt: skip
_OF_ONE = ("not", "neg", "abs", "cnot", "popc", "clz", "brev")
_COUNT_TYPE = Type("u", 32)


def _integer_rule(op: Opcode) -> Rule:
    op.allow("")
    result = _COUNT_TYPE if op.name in {"popc", "clz"} else op.type
    if op.name in {"shl", "shr"}:
        return Rule(result, (op.type, _COUNT_TYPE), _shift(op))
    bits = op.type.bits
    act = {
        "clz": lambda a: bits - a.bit_length(),
        "brev": lambda a: int(f"{a:0{bits}b}"[::-1], 2),
    }.get(op.name) or _INTEGER[op.name]
    return Rule(result, (op.type,) * (1 if op.name in _OF_ONE else 2), act)


def _shift(op: Opcode) -> Callable[[int, int], int]:
    """Return a shift; a shift by the width or more shifts out all bits."""
    bits = op.type.bits
    if op.name == "shl":
        return lambda a, n: a << min(n, bits)
    return lambda a, n: a >> min(n, bits)


def _product_rule(op: Opcode) -> Rule:
    """Return ``mul`` or ``mad`` of integers: the low half, the high half, or both."""
    op.allow("lo hi wide")
    bits = op.type.bits
    if len(op.flags) != 1:
        op.refuse()
    result = Type(op.type.kind, 2 * bits) if op.has("wide") else op.type
    down = bits if op.has("hi") else 0
    if op.name == "mul":
        return Rule(result, (op.type,) * 2, lambda a, b: a * b >> down)
    return Rule(result, (op.type, op.type, result), lambda a, b, c: (a * b >> down) + c)


def _funnel_rule(op: Opcode) -> Rule:
    """Return ``shf``: a shift of two registers, of which one is kept."""
    op.allow("l r wrap clamp")
    is_left, is_wrapped = op.has("l"), op.has("wrap")

    def act(low: int, high: int, count: int) -> int:
        n = count & 31 if is_wrapped else min(count, 32)
        both = high << 32 | low
        return (both << n) >> 32 if is_left else both >> n

    return Rule(op.type, (op.type, op.type, _COUNT_TYPE), act)


def _permute_rule(op: Opcode) -> Rule:
    """Return ``prmt``: four of eight bytes."""
    op.allow("")

    def act(low: int, high: int, selector: int) -> int:
        data = (high << 32 | low).to_bytes(8, "little")
        chosen = [selector >> 4 * place & 15 for place in range(4)]
        parts = [data[n & 7] if n < 8 else 255 * (data[n & 7] >> 7) for n in chosen]
        return int.from_bytes(bytes(parts), "little")

    return Rule(op.type, (TYPES["b32"],) * 3, act)


def _field_rule(op: Opcode) -> Rule:
    """Return ``bfe`` (a field of bits) or ``bfi`` (put one in)."""
    op.allow("")
    kind, bits = op.type

    def extract(value: int, place: int, count: int) -> int:
        place, count = place & 255, min(count & 255, bits)
        field = (value >> place) & ((1 << count) - 1)
        top = min(place + count - 1, bits - 1)
        is_filled = kind == "s" and count and value >> top & 1
        kept = max(0, min(count, bits - place))
        return field | (-1 << kept) if is_filled else field

    def insert(field: int, into: int, place: int, count: int) -> int:
        mask = ((1 << (count & 255)) - 1) << (place & 255)
        return (into & ~mask) | (field << (place & 255) & mask)

    numbers = (op.type,) * (1 if op.name == "bfe" else 2)
    act = extract if op.name == "bfe" else insert
    return Rule(op.type, (*numbers, _COUNT_TYPE, _COUNT_TYPE), act)


# ---------------------------------------------------------------- comparisons and choices

_ORDERED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "lo": operator.lt, "ls": operator.le,
    "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_JOINS = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def _comparison(op: Opcode, name: str) -> Callable[[Any, Any], bool]:
    if op.type.kind != "f":
        return _ORDERED[name] if name in _ORDERED else op.refuse()
    if name in {"num", "nan"}:
        return lambda a, b: bool(np.isnan(a) or np.isnan(b)) == (name == "nan")
    compare = _ORDERED.get(name.removesuffix("u")) or op.refuse()
    if_nan = name.endswith("u")
    return lambda a, b: if_nan if np.isnan(a) or np.isnan(b) else bool(compare(a, b))


def _compare_rule(op: Opcode) -> Rule:
    """Return ``setp`` or ``set``; both may join another predicate."""
    name, *joins = [flag for flag in op.flags if flag != "ftz"]
    if len(joins) > 1 or set(joins) - set(_JOINS):
        op.refuse()
    compare, operands = _comparison(op, name), (op.type,) * 2
    act: Callable[..., Any] = compare
    if joins:
        join, operands = _JOINS[joins[0]], (*operands, TYPES["pred"])
        act = lambda a, b, p: join(compare(a, b), bool(p))  # noqa: E731
    if op.name == "setp":
        return Rule(TYPES["pred"], operands, act)
    result = op.types[0]
    true = np.float32(1) if result.kind == "f" else -1
    return Rule(result, operands, lambda *numbers: true if act(*numbers) else type(true)(0))


def _choice_rule(op: Opcode) -> Rule:
    op.allow("")
    bits = Type("b", op.type.bits)
    return Rule(bits, (bits, bits, TYPES["pred"]), lambda a, b, p: a if p else b)


# ---------------------------------------------------------------- conversions

_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def _cvt_rule(op: Opcode) -> Rule:
    op.allow("rn rz rm rp rni rzi rmi rpi ftz sat")
    if len(op.types) != 2:
        op.refuse()
    target, source = op.types
    if target.kind == "x2":
        return _cvt_pair_rule(op)
    if source.kind == "f":
        act = _float_to_float(op) if target.kind == "f" else _float_to_integer(op)
    elif target.kind == "f":
        mode = op.one_of(ROUNDING) or op.refuse()
        act = lambda number: rounded(Fraction(number), target.bits, mode)  # noqa: E731
    elif op.has("sat"):
        low, high = limits(target)
        act = lambda number: min(max(number, low), high)  # noqa: E731
    else:
        act = int
    is_float = "f" in (source.kind, target.kind)
    return Rule(target, (source,), modified(op, act) if is_float and target.kind == "f" else act)


def _cvt_pair_rule(op: Opcode) -> Rule:
    """Return the conversion of two floats to halves, the first in the upper half of a register."""
    rule = _cvt_rule(Opcode(op.text.replace("x2", "")))
    width, encode = op.types[0].bits // 2, encoder(rule.result)
    return Rule(
        op.types[0],
        rule.operands * 2,
        lambda high, low: encode(rule.act(high)) << width | encode(rule.act(low)),
    )


def _float_to_float(op: Opcode) -> Callable[[Any], Any]:
    target, source = op.types
    whole = op.one_of(_TO_INTEGER)
    if whole:
        act, float_ = _TO_INTEGER[whole], FLOATS[target.bits]
        return lambda number: float_(act(number))
    mode = op.one_of(ROUNDING)
    if target.bits < source.bits and not mode:
        op.refuse()
    if mode in {"", "rn"} or target.bits >= source.bits:
        return FLOATS[target.bits]
    return partial(exactly, lambda number: number, target.bits, mode)


def _float_to_integer(op: Opcode) -> Callable[[Any], int]:
    """Return a conversion that clamps, whether ``.sat`` is written or not."""
    target, source = op.types
    act = _TO_INTEGER[op.one_of(_TO_INTEGER) or op.refuse()]
    low, high = limits(target)
    if_nan = 1 << (target.bits - 1) if 64 in {target.bits, source.bits} else 0

    def convert(number: Any) -> int:
        if np.isnan(number):
            return if_nan
        if np.isinf(number):
            return high if number > 0 else low
        return min(max(int(act(number)), low), high)

    return convert


# ---------------------------------------------------------------- all of them


def _by_type(op: Opcode) -> Rule:
    """Return the rule of an opcode that has one meaning for floats and one for integers."""
    if op.type.kind in {"f", "x2"}:
        return float_rule(op) if op.type.kind == "f" else pair_rule(op)
    return _product_rule(op) if op.name in {"mul", "mad"} else _integer_rule(op)


_RULES: dict[str, Callable[[Opcode], Rule]] = {
    **dict.fromkeys(("add", "sub", "mul", "mad", "fma", "div"), _by_type),
    **dict.fromkeys(("min", "max", "neg", "abs"), _by_type),
    **dict.fromkeys(("sqrt", "copysign", *IN_DOUBLE), float_rule),
    **dict.fromkeys(("rem", "and", "or", "xor", "not", "cnot", "shl", "shr"), _integer_rule),
    **dict.fromkeys(("popc", "clz", "brev"), _integer_rule),
    **dict.fromkeys(("setp", "set"), _compare_rule),
    **dict.fromkeys(("bfe", "bfi"), _field_rule),
    "shf": _funnel_rule, "prmt": _permute_rule, "selp": _choice_rule, "cvt": _cvt_rule,
}  # fmt: skip


def rule_of(op: Opcode) -> Rule:
    """Return the function that computes an opcode.

    Raises
    ------
    UnknownOpcodeError
        It is not known, or one of its modifiers is not.
    """
    make = _RULES.get(op.name)
    return make(op) if make else op.refuse()
