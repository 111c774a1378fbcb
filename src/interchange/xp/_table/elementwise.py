"""What the element-wise functions do.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row

ELEMENTWISE: Final = {
    "abs": Row(
        "Return the magnitude of each element.", "xp.abs(xp.asarray([-1, 2])).tolist()", "[1, 2]"
    ),
    "acos": Row(
        "Return the angle whose cosine each element is [radians].",
        "xp.acos(xp.asarray([1.0])).tolist()",
        "[0.0]",
    ),
    "acosh": Row(
        "Return the inverse hyperbolic cosine of each element.",
        "xp.acosh(xp.asarray([1.0])).tolist()",
        "[0.0]",
    ),
    "add": Row("Return the sums of elements.", "xp.add(xp.asarray([1, 2]), 3).tolist()", "[4, 5]"),
    "asin": Row(
        "Return the angle whose sine each element is [radians].",
        "xp.asin(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "asinh": Row(
        "Return the inverse hyperbolic sine of each element.",
        "xp.asinh(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "atan": Row(
        "Return the angle whose tangent each element is [radians].",
        "xp.atan(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "atan2": Row(
        "Return the angle of the point (`x2`, `x1`), in its quadrant [radians].",
        "xp.atan2(xp.asarray([0.0]), xp.asarray([1.0])).tolist()",
        "[0.0]",
    ),
    "atanh": Row(
        "Return the inverse hyperbolic tangent of each element.",
        "xp.atanh(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "bitwise_and": Row(
        "Return the bits that both elements have.",
        "xp.bitwise_and(xp.asarray([6, 3]), 5).tolist()",
        "[4, 1]",
    ),
    "bitwise_invert": Row(
        "Return each element with every bit turned.",
        "xp.bitwise_invert(xp.asarray([0, 5])).tolist()",
        "[-1, -6]",
    ),
    "bitwise_left_shift": Row(
        "Return the elements of `x1` with their bits moved up by `x2`.",
        "xp.bitwise_left_shift(xp.asarray([1, 3]), 2).tolist()",
        "[4, 12]",
    ),
    "bitwise_or": Row(
        "Return the bits that one of the elements has.",
        "xp.bitwise_or(xp.asarray([6, 3]), 1).tolist()",
        "[7, 3]",
    ),
    "bitwise_right_shift": Row(
        "Return the elements of `x1` with their bits moved down by `x2`.",
        "xp.bitwise_right_shift(xp.asarray([4, 9]), 2).tolist()",
        "[1, 2]",
    ),
    "bitwise_xor": Row(
        "Return the bits in which elements differ.",
        "xp.bitwise_xor(xp.asarray([6, 3]), 5).tolist()",
        "[3, 6]",
    ),
    "ceil": Row(
        "Return the smallest whole number that is not less than each element.",
        "xp.ceil(xp.asarray([1.2, -1.2])).tolist()",
        "[2.0, -1.0]",
    ),
    "clip": Row(
        "Return elements, brought between two bounds.",
        "xp.clip(xp.asarray([1, 5, 9]), 2, 7).tolist()",
        "[2, 5, 7]",
    ),
    "conj": Row(
        "Return the complex conjugate of each element.",
        "xp.conj(xp.asarray([1 + 2j])).tolist()",
        "[(1-2j)]",
    ),
    "copysign": Row(
        "Return the magnitude of `x1` with the sign of `x2`.",
        "xp.copysign(xp.asarray([1.0, 2.0]), -1.0).tolist()",
        "[-1.0, -2.0]",
    ),
    "cos": Row(
        "Return the cosine of each angle [radians].", "xp.cos(xp.asarray([0.0])).tolist()", "[1.0]"
    ),
    "cosh": Row(
        "Return the hyperbolic cosine of each element.",
        "xp.cosh(xp.asarray([0.0])).tolist()",
        "[1.0]",
    ),
    "divide": Row(
        "Return the quotients of elements.",
        "xp.divide(xp.asarray([1.0, 3.0]), 2).tolist()",
        "[0.5, 1.5]",
    ),
    "equal": Row(
        "Return where elements are equal.",
        "xp.equal(xp.asarray([1, 2]), 2).tolist()",
        "[False, True]",
    ),
    "exp": Row(
        "Return e to the power of each element.", "xp.exp(xp.asarray([0.0])).tolist()", "[1.0]"
    ),
    "expm1": Row(
        "Return e to the power of each element, less 1, also where that is tiny.",
        "xp.expm1(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "floor": Row(
        "Return the largest whole number that is not greater than each element.",
        "xp.floor(xp.asarray([1.7, -1.2])).tolist()",
        "[1.0, -2.0]",
    ),
    "floor_divide": Row(
        "Return the quotients of elements, rounded down.",
        "xp.floor_divide(xp.asarray([7, -7]), 2).tolist()",
        "[3, -4]",
    ),
    "greater": Row(
        "Return where elements of `x1` are greater.",
        "xp.greater(xp.asarray([1, 3]), 2).tolist()",
        "[False, True]",
    ),
    "greater_equal": Row(
        "Return where elements of `x1` are not less.",
        "xp.greater_equal(xp.asarray([1, 2]), 2).tolist()",
        "[False, True]",
    ),
    "hypot": Row(
        "Return the length of the hypotenuse over two sides.",
        "xp.hypot(xp.asarray([3.0]), xp.asarray([4.0])).tolist()",
        "[5.0]",
    ),
    "imag": Row(
        "Return the imaginary part of each element.",
        "xp.imag(xp.asarray([1 + 2j])).tolist()",
        "[2.0]",
    ),
    "isfinite": Row(
        "Return where elements are neither infinite nor NaN.",
        "xp.isfinite(xp.asarray([1.0, xp.inf])).tolist()",
        "[True, False]",
    ),
    "isinf": Row(
        "Return where elements are infinite.",
        "xp.isinf(xp.asarray([1.0, xp.inf])).tolist()",
        "[False, True]",
    ),
    "isnan": Row(
        "Return where elements are NaN.",
        "xp.isnan(xp.asarray([1.0, xp.nan])).tolist()",
        "[False, True]",
    ),
    "less": Row(
        "Return where elements of `x1` are less.",
        "xp.less(xp.asarray([1, 3]), 2).tolist()",
        "[True, False]",
    ),
    "less_equal": Row(
        "Return where elements of `x1` are not greater.",
        "xp.less_equal(xp.asarray([2, 3]), 2).tolist()",
        "[True, False]",
    ),
    "log": Row(
        "Return the natural logarithm of each element.",
        "xp.log(xp.asarray([1.0])).tolist()",
        "[0.0]",
    ),
    "log10": Row(
        "Return the logarithm of each element to base 10.",
        "xp.log10(xp.asarray([100.0])).tolist()",
        "[2.0]",
    ),
    "log1p": Row(
        "Return the natural logarithm of each element plus 1, also where that is tiny.",
        "xp.log1p(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "log2": Row(
        "Return the logarithm of each element to base 2.",
        "xp.log2(xp.asarray([8.0])).tolist()",
        "[3.0]",
    ),
    "logaddexp": Row(
        "Return the logarithm of the sum of exponentials.",
        "xp.logaddexp(xp.asarray([0.0]), -xp.inf).tolist()",
        "[0.0]",
    ),
    "logical_and": Row(
        "Return where both elements are true.",
        "xp.logical_and(xp.asarray([True, False]), True).tolist()",
        "[True, False]",
    ),
    "logical_not": Row(
        "Return where elements are false.",
        "xp.logical_not(xp.asarray([True, False])).tolist()",
        "[False, True]",
    ),
    "logical_or": Row(
        "Return where one of the elements is true.",
        "xp.logical_or(xp.asarray([True, False]), False).tolist()",
        "[True, False]",
    ),
    "logical_xor": Row(
        "Return where one element is true and the other is not.",
        "xp.logical_xor(xp.asarray([True, False]), True).tolist()",
        "[False, True]",
    ),
    "maximum": Row(
        "Return the greater of two elements.",
        "xp.maximum(xp.asarray([1, 5]), 3).tolist()",
        "[3, 5]",
    ),
    "minimum": Row(
        "Return the lesser of two elements.", "xp.minimum(xp.asarray([1, 5]), 3).tolist()", "[1, 3]"
    ),
    "multiply": Row(
        "Return the products of elements.", "xp.multiply(xp.asarray([1, 2]), 3).tolist()", "[3, 6]"
    ),
    "negative": Row(
        "Return each element with the other sign.",
        "xp.negative(xp.asarray([1, -2])).tolist()",
        "[-1, 2]",
    ),
    "nextafter": Row(
        "Return the number next to `x1` on the way to `x2`.",
        "(xp.nextafter(xp.asarray([0.0]), 1.0) > 0).tolist()",
        "[True]",
    ),
    "not_equal": Row(
        "Return where elements differ.",
        "xp.not_equal(xp.asarray([1, 2]), 2).tolist()",
        "[True, False]",
    ),
    "positive": Row(
        "Return each element as it is.", "xp.positive(xp.asarray([1, -2])).tolist()", "[1, -2]"
    ),
    "pow": Row(
        "Return elements of `x1` to the power of those of `x2`.",
        "xp.pow(xp.asarray([2, 3]), 2).tolist()",
        "[4, 9]",
    ),
    "real": Row(
        "Return the real part of each element.", "xp.real(xp.asarray([1 + 2j])).tolist()", "[1.0]"
    ),
    "reciprocal": Row(
        "Return 1 divided by each element.", "xp.reciprocal(xp.asarray([4.0])).tolist()", "[0.25]"
    ),
    "remainder": Row(
        "Return what is left of `x1` by a division that rounds down.",
        "xp.remainder(xp.asarray([7, -7]), 3).tolist()",
        "[1, 2]",
    ),
    "round": Row(
        "Return the whole number next to each element, the even one of two.",
        "xp.round(xp.asarray([1.5, 2.5])).tolist()",
        "[2.0, 2.0]",
    ),
    "sign": Row(
        "Return -1, 0 or 1 by the sign of each element.",
        "xp.sign(xp.asarray([-3, 0, 5])).tolist()",
        "[-1, 0, 1]",
    ),
    "signbit": Row(
        "Return where elements have a sign, zeros too.",
        "xp.signbit(xp.asarray([-0.0, 0.0])).tolist()",
        "[True, False]",
    ),
    "sin": Row(
        "Return the sine of each angle [radians].", "xp.sin(xp.asarray([0.0])).tolist()", "[0.0]"
    ),
    "sinh": Row(
        "Return the hyperbolic sine of each element.",
        "xp.sinh(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "sqrt": Row(
        "Return the square root of each element.", "xp.sqrt(xp.asarray([4.0])).tolist()", "[2.0]"
    ),
    "square": Row(
        "Return the square of each element.", "xp.square(xp.asarray([3])).tolist()", "[9]"
    ),
    "subtract": Row(
        "Return the differences of elements.",
        "xp.subtract(xp.asarray([5, 2]), 3).tolist()",
        "[2, -1]",
    ),
    "tan": Row(
        "Return the tangent of each angle [radians].", "xp.tan(xp.asarray([0.0])).tolist()", "[0.0]"
    ),
    "tanh": Row(
        "Return the hyperbolic tangent of each element.",
        "xp.tanh(xp.asarray([0.0])).tolist()",
        "[0.0]",
    ),
    "trunc": Row(
        "Return the whole number next to each element on the way to 0.",
        "xp.trunc(xp.asarray([1.7, -1.7])).tolist()",
        "[1.0, -1.0]",
    ),
}
