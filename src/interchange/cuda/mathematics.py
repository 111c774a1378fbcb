"""Functions of `math` in kernels, and those of NumPy with another name.

Source: CUDA Python Specification 0.2; CUDA C++ Programming Guide, "Mathematical Functions".
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from . import ir, numbers
from .context import Values
from .operators import typed_math
from .types import bool_, int32

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from .context import Context

_NAMES: Final = (
    (1, ("acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp expm1 exp2 fabs log log10"
        " log1p log2 sqrt cbrt ceil floor trunc isnan isinf isfinite erf erfc gamma lgamma")),
    (2, "atan2 pow copysign fmod hypot remainder nextafter"),
)  # fmt: skip
MATH: Final = {
    getattr(math, name): (name, count)
    for count, names in _NAMES
    for name in names.split()
    if hasattr(math, name)  # exp2 and cbrt from Python 3.11 on
}
"""Function of the standard library -> its name, and its number of arguments."""
_FAR: Final = 1 << 20  # more than the distance of two exponents
_NOT_NUMPYS: Final = ("remainder", "pow", "gamma", "lgamma", "erf", "erfc")
NUMPY: Final = {
    **{name: (name, count) for name, count in MATH.values() if name not in _NOT_NUMPYS},
    **{f"arc{name[1:]}": MATH[getattr(math, name)]
       for name in ("acos", "asin", "atan", "acosh", "asinh", "atanh", "atan2")},
    "rint": ("rint", 1), "exp2": ("exp2", 1), "cbrt": ("cbrt", 1),
}  # fmt: skip
"""Name in NumPy -> name of the function, and its number of arguments."""


def call(reader: Context, node: ast.Call, name: str, count: int) -> ir.Expression:
    """Return a call of a function of math."""
    counts = (1, 2) if name == "log" else (count,)
    values = reader.agreed(numbers.given(reader, node, name, *counts))
    common = reader.typed(node, typed_math, [value.type for value in values])
    arguments = tuple(reader.cast(value, common) for value in values)
    if len(arguments) > count:
        logs = [reader.put(ir.Math(common, name, (each,))) for each in arguments]
        return ir.Binary(common, "/", logs[0], logs[1])
    return ir.Math(bool_ if name.startswith("is") else common, name, arguments)


def _float(reader: Context, node: ast.Call, value: ir.Expression) -> ir.Expression:
    """Return a number in the float type of its function of math."""
    (value,) = reader.agreed([value])
    common = reader.typed(node, typed_math, [value.type])
    return reader.put(reader.cast(value, common))


def _scaled(factor: float, name: str, reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number times a constant."""
    value = _float(reader, node, *numbers.given(reader, node, name, 1))
    constant = ir.Cast(value.type, ir.Constant(value.type, factor))
    return ir.Binary(value.type, "*", value, constant)


def _frexp(reader: Context, node: ast.Call) -> Values:
    """Return a number from 0.5 to 1, and the exponent of 2."""
    value = _float(reader, node, *numbers.given(reader, node, "frexp", 1))
    fraction = reader.put(ir.Math(value.type, "frexp.fraction", (value,)))
    return Values((fraction, reader.put(ir.Math(int32, "frexp.exponent", (value,)))))


def _modf(reader: Context, node: ast.Call) -> Values:
    """Return the fractional and the integral part, both with the sign of the number."""
    value = _float(reader, node, *numbers.given(reader, node, "modf", 1))
    fraction = reader.put(ir.Math(value.type, "modf.fraction", (value,)))
    return Values((fraction, reader.put(ir.Math(value.type, "trunc", (value,)))))


def _ldexp(reader: Context, node: ast.Call) -> ir.Expression:
    """Return a number times a power of 2."""
    given, exponent = numbers.given(reader, node, "ldexp", 2)
    value = _float(reader, node, given)
    if not exponent.type.is_integer:
        reader.refuse(node, f"ldexp() with an exponent of {exponent.type}", "CPY-TYPE-2")
    count, type_ = exponent, exponent.type
    if type_ is not int32 and type_.bits >= int32.bits:
        for sign, bound in ((">", _FAR), ("<", -_FAR))[: 2 if type_.kind == "int" else 1]:
            limit = ir.Constant(type_, bound)
            test = ir.Binary(bool_, sign, count, limit)
            count = reader.put(ir.Choice(type_, test, limit, count))
    return ir.Math(value.type, "ldexp", (value, reader.cast(count, int32)))


def _whole(name: str, count: int, reader: Context, node: ast.Call) -> ir.Expression:
    """Return a function of integers."""
    values = reader.agreed(numbers.given(reader, node, name, count))
    type_ = values[0].type
    for value in values[1:]:
        type_ = reader.joined(node, type_, value.type)
    if not type_.is_integer:
        reader.refuse(node, f"{name}() of {type_}", "CPY-TYPE-2")
    left = reader.cast(values[0], type_)
    return ir.Binary(type_, name, left, reader.cast(values[-1], type_))


FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Any]]] = {
    math.degrees: partial(_scaled, 180 / math.pi, "degrees"),
    math.radians: partial(_scaled, math.pi / 180, "radians"),
    math.frexp: _frexp, math.ldexp: _ldexp, math.modf: _modf,
    math.gcd: partial(_whole, "gcd", 2), math.isqrt: partial(_whole, "isqrt", 1),
}  # fmt: skip
"""Function of the standard library -> what converts a call of it."""
NUMPY_FUNCTIONS: Final[dict[str, Any]] = {
    "degrees": FUNCTIONS[math.degrees], "rad2deg": FUNCTIONS[math.degrees],
    "radians": FUNCTIONS[math.radians], "deg2rad": FUNCTIONS[math.radians],
    "frexp": _frexp, "ldexp": _ldexp, "modf": _modf, "gcd": FUNCTIONS[math.gcd],
}  # fmt: skip
