"""PTX instructions for floats.

Source: PTX ISA 8.8, "Floating Point Instructions".  Approximate operations (``.approx``) are
rounded correctly here.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .ptx_types import FLOATS, PACKED, WIDE, Opcode, Rule, decoder, encoder

if TYPE_CHECKING:
    from collections.abc import Callable


def rounded(value: Fraction, bits: int, mode: str = "rn") -> Any:
    """Return an exact value rounded to a float: to nearest, to zero (rz), down (rm) or up (rp)."""
    near = FLOATS[bits](_to_double(value) if bits == 64 else _to_odd(value))
    if mode == "rn" or np.isnan(near):
        return near
    exact = Fraction(float(near)) if np.isfinite(near) else math.copysign(math.inf, near)
    is_over, is_under = exact > value, exact < value
    if is_over and (mode == "rm" or (mode == "rz" and value > 0)):
        return np.nextafter(near, FLOATS[bits](-np.inf))
    if is_under and (mode == "rp" or (mode == "rz" and value < 0)):
        return np.nextafter(near, FLOATS[bits](np.inf))
    return near


def _to_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _to_odd(value: Fraction) -> float:
    """Return a double that can be rounded again: an inexact one is odd."""
    near = _to_double(value)
    if math.isinf(near):
        return near
    return _made_odd(near, value - Fraction(near))


def _made_odd(near: float, rest: Any) -> float:
    """Return the odd one of the two doubles around the sum of `near` and a small remainder."""
    if not rest or PACKED[64].pack(near)[0] & 1:
        return near
    return math.nextafter(near, math.inf if rest > 0 else -math.inf)


def flushed(number: Any) -> Any:
    """Return 0 for a subnormal number."""
    small = np.abs(number) < np.finfo(number.dtype).tiny
    return np.copysign(number.dtype.type(0), number) if small else number


def saturated(number: Any) -> Any:
    """Return a float clamped to [0, 1], 0 for NaN."""
    type_ = type(number)
    return type_(0) if np.isnan(number) else min(max(number, type_(0)), type_(1))


# ---------------------------------------------------------------- floats


def exactly(act: Callable[..., Any], bits: int, mode: str, *numbers: Any) -> Any:
    """Return an exact operation, rounded once; NaN and 0 are computed by NumPy."""
    plain = act(*numbers)
    if not all(map(np.isfinite, numbers)):
        return plain
    try:
        exact = act(*(Fraction(float(number)) for number in numbers))
    except ZeroDivisionError:
        return plain
    return rounded(exact, bits, mode) if exact else plain


def _fused(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _fused_single(a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c`` of 32 bits, rounded once: the product is exact in double."""
    product, c = float(a) * float(b), float(c)
    near = product + c
    if not math.isfinite(near):
        return np.float32(near)
    back = near - product
    return np.float32(_made_odd(near, (product - (near - back)) + (c - back)))


def _less(a: Any, b: Any) -> Any:
    """Return the minimum; -0 is below 0, and a number is preferred to NaN."""
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return a if (a, not np.signbit(a)) < (b, not np.signbit(b)) else b


def _greater(a: Any, b: Any) -> Any:
    if np.isnan(a) or np.isnan(b):
        return b if np.isnan(a) else a
    return b if (a, not np.signbit(a)) < (b, not np.signbit(b)) else a


def _coarse(act: Callable[[Any], Any], number: Any) -> Any:
    """Return an approximate double operation, which uses only the upper half of the operand."""
    high = np.uint64(WIDE ^ 0xFFFFFFFF)
    result = act((number.view(np.uint64) & high).view(np.float64))
    return (result.view(np.uint64) & high).view(np.float64)


ROUNDING = ("rn", "rz", "rm", "rp")
_FLOAT_BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "fma": _fused, "mad": _fused,
}  # fmt: skip
_FLOAT_OTHER = {
    "min": _less, "max": _greater, "neg": operator.neg, "abs": np.abs, "sqrt": np.sqrt,
    "copysign": lambda sign, size: np.copysign(size, sign),
}  # fmt: skip
IN_DOUBLE = {
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x), "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
}  # fmt: skip
_COUNTS = {"fma": 3, "mad": 3, **dict.fromkeys(("min", "max", "copysign"), 2)}
_FLOAT_FLAGS = "rn rz rm rp ftz sat approx full"


def float_rule(op: Opcode) -> Rule:
    op.allow(_FLOAT_FLAGS)
    if len(op.types) == 2:
        return _mixed_rule(op)
    bits, mode = op.type.bits, op.one_of(ROUNDING, "rn")
    if op.name in _FLOAT_BINARY:
        plain = _FLOAT_BINARY[op.name]
        act = partial(exactly, plain, bits, mode)
        if mode == "rn" and plain is not _fused:
            act = plain
        elif mode == "rn" and bits == 32:
            act = _fused_single
    elif op.name in _FLOAT_OTHER:
        act = _FLOAT_OTHER[op.name]
    elif op.name in IN_DOUBLE:
        double, float_ = IN_DOUBLE[op.name], FLOATS[bits]
        act = lambda x: float_(double(np.float64(x)))  # noqa: E731
        if bits == 64 and op.has("approx"):
            act = partial(_coarse, act)
    else:
        op.refuse()
    if mode != "rn" and op.name not in _FLOAT_BINARY:
        op.refuse()
    count = _COUNTS.get(op.name, 2 if op.name in _FLOAT_BINARY else 1)
    return Rule(op.type, (op.type,) * count, modified(op, act))


def _mixed_rule(op: Opcode) -> Rule:
    """Return an operation of float32 whose first operands, all but the last, are narrower."""
    wide, narrow = op.types
    if op.name not in {"add", "sub", "fma"}:
        op.refuse()
    rule = float_rule(Opcode(op.text.removesuffix(f".f{narrow.bits}")))
    count = len(rule.operands)

    def act(*numbers: Any) -> Any:
        return rule.act(*map(FLOATS[wide.bits], numbers))

    return Rule(wide, (*[narrow] * (count - 1), wide), act)


def modified(op: Opcode, act: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation with the modifiers ``.ftz`` and ``.sat``."""
    if op.has("ftz"):
        inner = act
        act = lambda *numbers: flushed(inner(*map(flushed, numbers)))  # noqa: E731
    if op.has("sat"):
        whole = act
        return lambda *numbers: saturated(whole(*numbers))
    return act


def pair_rule(op: Opcode) -> Rule:
    """Return an operation on two floats in one register."""
    if op.name not in {"add", "sub", "mul", "fma", "neg", "abs"}:
        op.refuse()
    width = op.type.bits // 2
    rule = float_rule(Opcode(op.text.removesuffix("x2")))
    decode, encode = decoder(rule.result), encoder(rule.result)

    def act(*pairs: int) -> int:
        low, high = (
            encode(rule.act(*(decode(pair >> shift) for pair in pairs))) for shift in (0, width)
        )
        return high << width | low

    return Rule(op.type, (op.type,) * len(rule.operands), act)
