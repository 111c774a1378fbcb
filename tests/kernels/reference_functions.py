"""Built-in functions and those of NumPy in the reference interpreter.

Source: the Python Language Reference, "Built-in Functions"; NumPy, "Universal functions".
"""

from __future__ import annotations

import ast
import builtins
import math

import numpy as np

from interchange.cuda.types import (
    BY_NAME,
    PART_OF,
    bool_,
    complex128,
    float64,
    int32,
    int64,
    uint64,
)

from . import reference_numbers as numbers
from .reference_numbers import Refused, cast

_COUNTS = {
    "abs": 1, "int": 1, "float": 1, "bool": 1, "complex": (1, 2), "round": 1, "divmod": 2, "pow": 2,
    "sign": 1, "clip": 3, "where": 3, "maximum": 2, "minimum": 2, "fmax": 2, "fmin": 2,
    "logical_and": 2, "logical_or": 2, "logical_xor": 2, "logical_not": 1, "square": 1, "frexp": 1,
    "modf": 1, "ldexp": 2, "gcd": 2, "isqrt": 1, "trunc": 1, "rint": 1, "floor_divide": 2,
    "power": 2, "negative": 1,
}  # fmt: skip
_OPERATORS = {"pow": ast.Pow(), "power": ast.Pow(), "floor_divide": ast.FloorDiv()}


def as_type(called):
    """Return the type of a class of NumPy's scalars."""
    is_class = isinstance(called, type) and issubclass(called, np.generic)
    return BY_NAME[np.dtype(called).name] if is_class else None


def name_of(called):
    """Return the name of a function that is known here."""
    name = getattr(called, "__name__", "")
    name = {"absolute": "abs"}.get(name, name)
    is_one = any(getattr(place, name, None) is called for place in (builtins, np))
    if getattr(math, name, None) is called:
        is_one = name in {"frexp", "modf", "ldexp", "gcd", "isqrt"}
    return name if is_one and name in {*_COUNTS, "min", "max", "sum"} else ""


def is_known(called):
    """Return whether a function is computed here."""
    return bool(name_of(called))


def call(reader, called, terms):
    """Return the result of a function of some terms."""
    from .reference_expressions import Term

    name = name_of(called)
    if name in {"min", "max", "sum"}:
        return _of_many(reader, name, terms, Term)
    counts = _COUNTS[name]
    if len(terms) not in (counts if isinstance(counts, tuple) else (counts,)):
        raise Refused("CPY-CALL-1")
    given = [reader.as_number(term) for term in terms]
    if name in _OPERATORS:
        return reader.binary(_OPERATORS[name], *given)
    if name == "divmod":
        return _divmod(reader, given, Term)
    types = [term.type for term in given]
    if name == "round" and types[0] in numbers.PLAIN:
        return given[0]
    type_, results, act = _FUNCTIONS[name](types)
    operands = type_ if isinstance(type_, (list, tuple)) else [type_] * len(given)

    def run(env):
        values = [term.run(env) for term in given]
        return act(*map(cast, values, types, operands))

    return Term(results, run)


def _of_many(reader, name, terms, make):
    """Return the minimum, the maximum or the sum of numbers, or of the items of a tuple."""
    if not terms:
        raise Refused("CPY-CALL-1")
    if type(terms[0].type) is tuple:
        types, run_all = terms[0].type, terms[0].run
    else:
        given = [reader.as_number(term) for term in terms]
        types, run_all = [g.type for g in given], lambda env: [g.run(env) for g in given]
    if name == "sum":
        raise Refused("CPY-CALL-1")
    type_ = numbers.common(types)
    if type_.kind == "complex" and len(types) > 1:
        raise Refused("CPY-TYPE-3")

    def run(env):
        values = [cast(*each, type_) for each in zip(run_all(env), types, strict=True)]
        best = values[0]
        for value in values[1:]:
            if numbers.compare("<" if name == "min" else ">", value, best):
                best = value
        return best

    return make(type_, run)


def conjugate(term):
    """Return the conjugate of a number."""
    run = term.run
    if term.type not in PART_OF:
        return term._replace(constant=None, type=numbers.settled(term.type))

    def conjugated(env):
        real, imag = run(env)
        return real, -imag

    return term._replace(constant=None, run=conjugated)


def _absolute(types):
    type_ = numbers.agreed(types)[0]
    if type_ in PART_OF:
        return type_, PART_OF[type_], lambda z: np.hypot(*z)
    if type_ is bool_:
        return int32, int32, lambda x: x
    if type_.kind == "float":
        return type_, type_, np.abs
    return type_, type_, lambda x: numbers.wrap(abs(x), type_)


def _to(target):
    def typed(types):
        numbers.storable(types[0], target)
        return target, target, lambda x: x

    return typed


def _int(types):
    return _to(uint64 if numbers.PLAIN.get(types[0], types[0]) is uint64 else int64)(types)


def _complex(types):
    if len(types) == 1:
        return complex128, complex128, lambda z: z
    for type_ in types:
        numbers.storable(type_, float64)
    return float64, complex128, lambda x, y: (x, y)


def _round(types):
    type_ = types[0]
    if type_.kind == "complex":
        raise Refused("CPY-TYPE-3")
    if type_.kind == "float":
        return type_, int64, lambda x: numbers.saturated(np.rint(np.float64(x)), int64)
    found = int32 if type_ is bool_ else type_
    return found, found, lambda x: x


def _divmod(reader, given, make):
    """Return quotient and remainder of numbers that are computed once."""
    kept = {}
    once = [
        make(each.type, lambda _, place=place: kept["all"][place], each.constant)
        for place, each in enumerate(given)
    ]
    both = [reader.binary(sign, *once) for sign in (ast.FloorDiv(), ast.Mod())]

    def run(env):
        kept["all"] = [each.run(env) for each in given]
        return tuple(each.run(env) for each in both)

    return make(tuple(numbers.settled(each.type) for each in both), run)


def _sign(types):
    type_ = numbers.agreed(types)[0]
    if type_.kind in {"bool", "complex"}:
        raise Refused("CPY-TYPE-3")
    as_type_ = (lambda x: x) if type_.is_integer else (lambda x: numbers.as_float(x, type_))
    return type_, type_, lambda x: as_type_(1) if x > 0 else as_type_(-1) if x < 0 else x


def _real(types):
    type_ = numbers.common(types)
    if type_.kind == "complex":
        raise Refused("CPY-TYPE-3")
    return type_


def _clip(types):
    def act(x, low, high):
        x = max(x, low)
        return min(x, high)

    return _real(types), _real(types), act


def _extreme(act):
    def typed(types):
        return _real(types), _real(types), act

    return typed


def _where(types):
    type_ = numbers.common(types[1:])
    return [bool_, type_, type_], type_, lambda test, x, y: x if test else y


def _logical(act):
    return lambda _: (bool_, bool_, act)


def _square(types):
    operands, result = numbers.binary_types("*", *types * 2)
    if types[0] in numbers.PLAIN:
        operands = result = numbers.settled(types[0])
    return operands, result, lambda x: numbers.binary("*", operands, result, x, x)


def _negative(types):
    type_ = numbers.agreed(types)[0]
    type_ = int32 if type_ is bool_ else type_
    return type_, type_, lambda x: numbers.unary("-", type_, x)


def _frexp(types):
    type_ = numbers.promoted(types)

    def act(x):
        fraction, exponent = np.frexp(x)
        return fraction, int(exponent) if np.isfinite(x) else 0

    return type_, (type_, int32), act


def _modf(types):
    type_ = numbers.promoted(types)
    return type_, (type_, type_), lambda x: tuple(type_(part) for part in np.modf(x))


def _ldexp(types):
    type_ = numbers.promoted(types[:1])
    if not types[1].is_integer:
        raise Refused("CPY-TYPE-2")

    def act(x, count):
        return np.ldexp(x, min(max(count, -(2**20)), 2**20))

    return [type_, numbers.settled(types[1])], type_, act


def _whole(act):
    def typed(types):
        type_ = numbers.common(types)
        if not type_.is_integer:
            raise Refused("CPY-TYPE-2")
        return type_, type_, lambda *values: numbers.wrap(act(*values), type_)

    return typed


def _float(act):
    def typed(types):
        type_ = numbers.promoted(types)
        return type_, type_, act

    return typed


_FUNCTIONS = {
    "abs": _absolute, "int": _int, "float": _to(float64), "bool": lambda _: (bool_, bool_, bool),
    "complex": _complex, "round": _round, "sign": _sign, "clip": _clip,
    "where": _where, "square": _square, "negative": _negative, "frexp": _frexp, "modf": _modf,
    "ldexp": _ldexp,
    "maximum": _extreme(lambda x, y: x if x >= y or x != x else y),  # noqa: PLR0124 - NaN
    "minimum": _extreme(lambda x, y: x if x <= y or x != x else y),  # noqa: PLR0124
    "fmax": _extreme(lambda x, y: x if x >= y or y != y else y),  # noqa: PLR0124
    "fmin": _extreme(lambda x, y: x if x <= y or y != y else y),  # noqa: PLR0124
    "logical_and": _logical(lambda x, y: x and y), "logical_or": _logical(lambda x, y: x or y),
    "logical_xor": _logical(lambda x, y: x is not y), "logical_not": _logical(lambda x: not x),
    "gcd": _whole(math.gcd), "isqrt": _whole(lambda x: math.isqrt(max(x, 0))),
    "trunc": _float(np.trunc), "rint": _float(np.rint),
}  # fmt: skip
