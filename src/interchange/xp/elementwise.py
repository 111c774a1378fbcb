"""Element-wise functions of one or two arrays.

Source: array API standard 2025.12, Element-wise Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, apply_all, binary, optional, unary
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array

    from ._signatures import Binary, Unary

abs_: Unary = unary("abs")
acos: Unary = unary("acos")
acosh: Unary = unary("acosh")
add: Binary = binary("add")
asin: Unary = unary("asin")
asinh: Unary = unary("asinh")
atan: Unary = unary("atan")
atan2: Binary = binary("atan2")
atanh: Unary = unary("atanh")
bitwise_and: Binary = binary("bitwise_and")
bitwise_invert: Unary = unary("bitwise_invert")
bitwise_left_shift: Binary = binary("bitwise_left_shift")
bitwise_or: Binary = binary("bitwise_or")
bitwise_right_shift: Binary = binary("bitwise_right_shift")
bitwise_xor: Binary = binary("bitwise_xor")
ceil: Unary = unary("ceil")
conj: Unary = unary("conj")
copysign: Binary = binary("copysign")
cos: Unary = unary("cos")
cosh: Unary = unary("cosh")
divide: Binary = binary("divide")
equal: Binary = binary("equal")
exp: Unary = unary("exp")
expm1: Unary = unary("expm1")
floor: Unary = unary("floor")
floor_divide: Binary = binary("floor_divide")
greater: Binary = binary("greater")
greater_equal: Binary = binary("greater_equal")
hypot: Binary = binary("hypot")
imag: Unary = unary("imag")
isfinite: Unary = unary("isfinite")
isinf: Unary = unary("isinf")
isnan: Unary = unary("isnan")
less: Binary = binary("less")
less_equal: Binary = binary("less_equal")
log: Unary = unary("log")
log10: Unary = unary("log10")
log1p: Unary = unary("log1p")
log2: Unary = unary("log2")
logaddexp: Binary = binary("logaddexp")
logical_and: Binary = binary("logical_and")
logical_not: Unary = unary("logical_not")
logical_or: Binary = binary("logical_or")
logical_xor: Binary = binary("logical_xor")
maximum: Binary = binary("maximum")
minimum: Binary = binary("minimum")
multiply: Binary = binary("multiply")
negative: Unary = unary("negative")
nextafter: Binary = binary("nextafter")
not_equal: Binary = binary("not_equal")
positive: Unary = unary("positive")
pow_: Binary = binary("pow")
real: Unary = unary("real")
reciprocal: Unary = unary("reciprocal")
remainder: Binary = binary("remainder")
round_: Unary = unary("round")
sign: Unary = unary("sign")
signbit: Unary = unary("signbit")
sin: Unary = unary("sin")
sinh: Unary = unary("sinh")
sqrt: Unary = unary("sqrt")
square: Unary = unary("square")
subtract: Binary = binary("subtract")
tan: Unary = unary("tan")
tanh: Unary = unary("tanh")
trunc: Unary = unary("trunc")


@document
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:  # noqa: A002 - the standard's words
    if min is None and max is None:
        return apply("clip", x)
    if min is None or max is None:
        return apply("clip", x, min=optional(min, x, "clip"), max=optional(max, x, "clip"))
    return apply_all("clip", (x, min, max))
