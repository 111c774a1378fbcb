"""Numbers in the reference interpreter: the types, casts and results of operations.

Source: CUDA Python Specification 0.2, "Type Inference" and "Basic Arithmetic Operations",
independent of the compiler.  A bool is a bool, an integer an int within the bounds of its type,
a float NumPy's scalar, and a complex number the pair of its parts.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np

from interchange.cuda.types import (
    BY_NAME,
    PART_OF,
    ScalarType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
    uint64,
)

_ORDERS = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip


def compare(name, x, y):
    """Return a comparison of two numbers of one type."""
    if isinstance(x, tuple):
        is_equal = bool(x[0] == y[0]) and bool(x[1] == y[1])
        return is_equal is (name == "==")
    return bool(_ORDERS[name](x, y))


_TRIGONOMETRIC = ("cos", "sin", "tan", "cosh", "sinh", "tanh")
_OTHERS = (
    *("exp", "expm1", "fabs", "log", "log10", "log1p", "sqrt", "ceil", "floor", "isnan", "isinf"),
    *("exp2", "log2", "cbrt", "trunc", "isfinite"),
)
_PYTHONS = ("erf", "erfc", "gamma", "lgamma")


def _of_python(name):
    """Return a function of the standard library, with the results of C for its errors."""

    def call(*values):
        if name == "lgamma" and np.isfinite(values[0]) and values[0] > 0:
            return np.float64(mpmath.loggamma(mpmath.mpf(float(values[0]))))  # Python's is inexact
        try:
            return np.float64(getattr(math, name)(*map(float, values)))
        except OverflowError:
            is_below = values[0] < 0 and int(np.floor(values[0])) % 2
            return np.float64(-np.inf if name == "gamma" and is_below else np.inf)
        except ValueError:
            is_pole = values[0] == 0 if name == "gamma" else name == "lgamma"
            return np.copysign(np.inf, values[0] if name == "gamma" else 1) if is_pole else np.nan

    return call


ONE_ARGUMENT = {
    **{name: getattr(np, name) for name in (*_TRIGONOMETRIC, *_OTHERS)},
    **{f"a{name}": getattr(np, f"arc{name}") for name in _TRIGONOMETRIC},
    **{name: _of_python(name) for name in _PYTHONS},
}
TWO_ARGUMENTS = {
    "atan2": np.arctan2, "pow": np.power, "copysign": np.copysign, "fmod": np.fmod,
    "hypot": np.hypot, "remainder": _of_python("remainder"), "nextafter": np.nextafter,
}  # fmt: skip


LITERALS = {t: ScalarType(t.name, t.kind, t.bits) for t in (int32, int64, uint64)}
"""Types of int literals, which take the type of the operand they are used with."""
PLAIN = {literal: type_ for type_, literal in LITERALS.items()}


class Refused(Exception):  # noqa: N818 - no error of the reference
    """The program is not valid; the error has the rule."""

    def __init__(self, rule):
        super().__init__(rule)
        self.rule = rule


# ---------------------------------------------------------------- types


def literal(value):
    """Return the type of a literal."""
    if isinstance(value, (bool, float, complex)):
        return {bool: bool_, float: float64, complex: complex128}[type(value)]
    if not isinstance(value, int):
        raise Refused("CPY-NPM-1")
    for type_, written in LITERALS.items():
        low, high = bounds(type_)
        if low <= value <= high:
            return written
    raise Refused("CPY-NPM-1")


def bounds(type_):
    """Return the minimum and the maximum of an integer type."""
    if type_.kind == "uint":
        return 0, 2**type_.bits - 1
    return -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1


def settled(type_):
    """Return the type of a variable: that of a literal is int64."""
    return {LITERALS[int32]: int64}.get(type_, PLAIN.get(type_, type_))


def agreed(types):
    """Return types without those of literals."""
    if all(t in PLAIN for t in types):
        return [*map(settled, types)]
    return [PLAIN.get(t, t) for t in types]


def common(types):
    """Return the type of a value that has one of several types, depending on the path."""
    return functools.reduce(joined, agreed(types))


def generic(*types):
    """Return the most generic of several types."""
    types = agreed(types)
    if any(t.kind == "complex" for t in types):
        is_wide = float64 in {PART_OF.get(t, t) for t in types}
        return complex128 if is_wide else complex64
    floats = {t for t in types if t.kind == "float"}
    if len(floats) > 1 and max(t.bits for t in floats) == 16:
        return float32
    integers = [t for t in types if t.is_integer]
    if floats:
        return max(floats, key=lambda t: t.bits)
    return max(integers, key=lambda t: (t.bits, t.kind == "uint"), default=int32)


def promoted(types):
    """Return the float type of a division, or of a function of math."""
    if any(t.kind == "complex" for t in types):
        raise Refused("CPY-TYPE-3")
    return float64 if any(t.bits == 64 for t in agreed(types)) else float32


def joined(a, b):
    """Return the common type of a name that has one of two types, depending on the path."""
    return a if a is b else generic(a, b)


def binary_types(operator, a, b):
    """Return the type of the operands, and that of the result."""
    common = generic(a, b)
    if common.kind == "complex":
        if operator not in {"+", "-", "*", "/", "**"}:
            raise Refused("CPY-TYPE-3")
        return common, common
    if operator == "/":
        return (promoted([a, b]),) * 2
    if operator == "//":
        bits = max(32, common.bits)
        unsigned = common.kind == "uint" and common.bits >= 32
        return common, BY_NAME[f"{'u' if unsigned else ''}int{bits}"]
    if a is b is bool_ and operator in {"&", "|", "^"}:
        return bool_, bool_
    if operator in {"&", "|", "^", "<<", ">>"} and common.kind == "float":
        raise Refused("CPY-TYPE-2")
    return common, common


# ---------------------------------------------------------------- values


def wrap(number, type_):
    """Return an int wrapped to the width of a type."""
    number &= 2**type_.bits - 1
    is_negative = type_.kind == "int" and number >> (type_.bits - 1)
    return number - 2**type_.bits if is_negative else number


def as_float(number, type_):
    """Return a number rounded to a float type."""
    if isinstance(number, int) and type_ is float32:  # not through a double
        whole = np.uint64(number) if number >= 2**63 else np.int64(number)
        return whole.astype(np.float32)
    if type_ is bfloat16:
        return to_bfloat16(number)
    return getattr(np, type_.name)(number)


def to_bfloat16(number):
    """Return a number rounded once to bfloat16."""
    if not isinstance(number, int) and (not np.isfinite(number) or number == 0):
        return ml_dtypes.bfloat16(number)
    exact = Fraction(int(number) if isinstance(number, (bool, int)) else float(number))
    if not exact:
        return ml_dtypes.bfloat16(0)
    unit = Fraction(2) ** max(_exponent(exact) - 7, -133)
    size = abs(round(exact / unit) * unit)
    size = math.copysign(float(size) if size < 2**128 else math.inf, exact)
    return ml_dtypes.bfloat16(size)


def _exponent(exact):
    """Return the exponent of the largest power of 2 that a number reaches."""
    size = abs(exact)
    found = size.numerator.bit_length() - size.denominator.bit_length()
    return found if Fraction(2) ** found <= size else found - 1


def saturated(number, type_):
    """Return a float truncated to an integer and clamped to its bounds; 0 for NaN."""
    low, high = bounds(type_)
    if np.isnan(number):
        return 0
    if np.isinf(number):
        return high if number > 0 else low
    return min(max(int(float(number)), low), high)  # bfloat16's own conversion overflows


def cast(value, source, target):
    """Return a value cast to another type."""
    if source is target:
        return value
    if target.kind == "complex":
        part = PART_OF[target]
        if source.kind == "complex":
            return tuple(cast(each, PART_OF[source], part) for each in value)
        return cast(value, source, part), as_float(0.0, part)
    if target.kind == "bool":
        return any(part != 0 for part in value) if source.kind == "complex" else bool(value != 0)
    if target.kind == "float":
        return as_float(value, target)
    return saturated(value, target) if source.kind == "float" else wrap(int(value), target)


def storable(source, target):
    """Refuse a value that cannot be stored in a type."""
    if source.kind == "complex" != target.kind:
        raise Refused("CPY-TYPE-1")


def binary(operator, operands, result, x, y):
    """Return an operation of two numbers of one type."""
    if operands.kind == "complex":
        return _complex(operator, x, y)
    act = _float if operands.kind == "float" else _integer
    found = act(operator, operands, x, y)
    return found if operands is result else cast(found, operands, result)


def _complex(operator, x, y):
    (a, b), (c, d) = x, y
    if operator == "/":
        return _quotient(a, b, c, d)
    if operator == "*":
        return a * c - b * d, a * d + b * c
    return (a + c, b + d) if operator == "+" else (a - c, b - d)


def _quotient(a, b, c, d):
    """Return a quotient of complex numbers; by 0 each part is divided by 0."""
    part = type(a)
    a, b, c, d = map(np.float64, (a, b, c, d))
    if c == d == 0:
        return part(a / abs(c)), part(b / abs(c))
    if part is np.float32:
        size = c * c + d * d
        return part((a * c + b * d) / size), part((b * c - a * d) / size)
    scale = np.float64(1)
    if max(abs(a), abs(b)) >= 2.0**1023:
        a, b, scale = a * 0.5, b * 0.5, scale * 2
    elif max(abs(a), abs(b)) <= 2.0**-968:
        a, b, scale = a * 2.0**105, b * 2.0**105, scale * 2.0**-105
    if max(abs(c), abs(d)) >= 2.0**1023:
        c, d, scale = c * 0.5, d * 0.5, scale * 0.5
    elif max(abs(c), abs(d)) <= 2.0**-968:
        c, d, scale = c * 2.0**105, d * 2.0**105, scale * 2.0**105
    is_flat = abs(d) <= abs(c)
    if not is_flat:
        a, b, c, d = b, a, d, c
    ratio = d / c
    inverse = 1 / (c + d * ratio)
    real, imag = (_part(*each, c, d, ratio, inverse) for each in ((a, b), (b, -a)))
    return real * scale, (imag if is_flat else -imag) * scale


def _part(p, q, u, v, ratio, inverse):
    """Return one part of a quotient."""
    if ratio != 0 or np.isnan(ratio):
        product = q * ratio
        if product != 0 or np.isnan(product):
            return (p + product) * inverse
        return p * inverse + q * inverse * ratio
    return (p + v * (q / u)) * inverse


def power(type_, x, y):
    """Return an int to the power of another: of a negative one 1 / x, rounded to 0."""
    if y < 0:
        return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
    return wrap(pow(x, y, 1 << type_.bits), type_)


def _float(operator, _, x, y):
    if operator == "**":
        return type(x)(np.power(np.float64(x), np.float64(y)))
    if operator == "/":
        return x / y
    if operator in {"//", "%"}:
        floor = np.floor(x / y)
        return floor if operator == "//" else x - floor * y
    return {"+": x.__add__, "-": x.__sub__, "*": x.__mul__}[operator](y)


def _integer(operator, type_, x, y):
    if operator == "**":
        return power(type_, x, y)
    if operator in {"//", "%"}:
        if y == 0:
            return 0
        return wrap(x // y if operator == "//" else x % y, type_)
    if operator in {"<<", ">>"}:
        distance = y if 0 <= y < type_.bits else type_.bits
        return wrap(x << distance if operator == "<<" else x >> distance, type_)
    act = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}[operator]
    found = wrap(getattr(x, f"__{act}__")(y), type_)
    return bool(found) if type_ is bool_ else found


def unary(operator, type_, value):
    """Return the negative, or the complement, of a number."""
    if type_.kind == "complex":
        return tuple(-part for part in value)
    if type_.kind == "float":
        return -value
    return wrap(-value if operator == "-" else ~value, type_)


def mathematics(name, type_, values):
    """Return a function of math, computed in double precision."""
    if name == "nextafter":
        return np.nextafter(*values)
    function = ONE_ARGUMENT.get(name) or TWO_ARGUMENTS[name]
    found = function(*map(np.float64, values))
    return bool(found) if name.startswith("is") else as_float(found, type_)


# ---------------------------------------------------------------- arrays


def from_element(element, type_):
    """Return an element of a NumPy array as a value."""
    if type_.kind == "complex":
        return element.real, element.imag
    if type_.kind == "float":
        return element
    return bool(element) if type_.kind == "bool" else int(element)


def to_element(value, type_):
    """Return a value as an element of a NumPy array."""
    if type_.kind != "complex":
        return value
    found = np.zeros((), type_.name)
    found.real, found.imag = value
    return found[()]


ATOMIC = {
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "min": min,
    "max": max,
    "nanmin": lambda old, value: value if _is_nan(old) else min(old, value),
    "nanmax": lambda old, value: value if _is_nan(old) else max(old, value),
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda _, value: value,
    "inc": lambda old, value: 0 if old >= value else old + 1,
    "dec": lambda old, value: value if old == 0 or old > value else old - 1,
    "cas": lambda old, wanted, value: value if old == wanted else old,
}
"""Atomic operation -> the new element, from the old one and the values."""


def _is_nan(number):
    return number != number  # noqa: PLR0124 - NaN
