"""Functions of each element, alone or with another.

Source: array API standard 2025.12, Element-wise Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, apply_all, binary, optional, unary
from ._documentation import document

if TYPE_CHECKING:
    from interchange._array import Array

abs_ = unary("abs")
acos = unary("acos")
acosh = unary("acosh")
add = binary("add")
asin = unary("asin")
asinh = unary("asinh")
atan = unary("atan")
atan2 = binary("atan2")
atanh = unary("atanh")
bitwise_and = binary("bitwise_and")
bitwise_invert = unary("bitwise_invert")
bitwise_left_shift = binary("bitwise_left_shift")
bitwise_or = binary("bitwise_or")
bitwise_right_shift = binary("bitwise_right_shift")
bitwise_xor = binary("bitwise_xor")
ceil = unary("ceil")
conj = unary("conj")
copysign = binary("copysign")
cos = unary("cos")
cosh = unary("cosh")
divide = binary("divide")
equal = binary("equal")
exp = unary("exp")
expm1 = unary("expm1")
floor = unary("floor")
floor_divide = binary("floor_divide")
greater = binary("greater")
greater_equal = binary("greater_equal")
hypot = binary("hypot")
imag = unary("imag")
isfinite = unary("isfinite")
isinf = unary("isinf")
isnan = unary("isnan")
less = binary("less")
less_equal = binary("less_equal")
log = unary("log")
log10 = unary("log10")
log1p = unary("log1p")
log2 = unary("log2")
logaddexp = binary("logaddexp")
logical_and = binary("logical_and")
logical_not = unary("logical_not")
logical_or = binary("logical_or")
logical_xor = binary("logical_xor")
maximum = binary("maximum")
minimum = binary("minimum")
multiply = binary("multiply")
negative = unary("negative")
nextafter = binary("nextafter")
not_equal = binary("not_equal")
positive = unary("positive")
pow_ = binary("pow")
real = unary("real")
reciprocal = unary("reciprocal")
remainder = binary("remainder")
round_ = unary("round")
sign = unary("sign")
signbit = unary("signbit")
sin = unary("sin")
sinh = unary("sinh")
sqrt = unary("sqrt")
square = unary("square")
subtract = binary("subtract")
tan = unary("tan")
tanh = unary("tanh")
trunc = unary("trunc")


@document
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:  # noqa: A002 - the standard's words
    if min is None and max is None:
        return apply("clip", x)
    if min is None or max is None:
        return apply("clip", x, min=optional(min, x, "clip"), max=optional(max, x, "clip"))
    return apply_all("clip", (x, min, max))
