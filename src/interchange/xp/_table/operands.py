"""What the operands of the element-wise functions are: element types, and the part of each.

Source: array API standard 2025.12, Element-wise Functions; the words are ours.
"""

from __future__ import annotations

from typing import Final

KINDS: Final = {
    "any": "of any type",
    "numeric": "of a numeric type",
    "real": "of a real type",
    "integer": "of an integer type",
    "bits": "of an integer type or bool",
    "bool": "of bools",
    "floating": "of a floating-point type",
    "real floating": "of a real floating-point type",
    "complex": "of a complex type",
}
"""Kind of element types -> how it is said."""

OPERANDS: Final[dict[str, tuple[str, ...]]] = {
    "abs": ("numeric",),
    "acos": ("floating", "The cosines"),
    "acosh": ("floating", "The hyperbolic cosines"),
    "add": ("numeric",),
    "asin": ("floating", "The sines"),
    "asinh": ("floating", "The hyperbolic sines"),
    "atan": ("floating", "The tangents"),
    "atan2": ("real floating", "The second coordinates of the points", "The first coordinates"),
    "atanh": ("floating", "The hyperbolic tangents"),
    "bitwise_and": ("bits",),
    "bitwise_invert": ("bits",),
    "bitwise_left_shift": ("integer", "What is shifted", "How far, from 0 on [bits]"),
    "bitwise_or": ("bits",),
    "bitwise_right_shift": ("integer", "What is shifted", "How far, from 0 on [bits]"),
    "bitwise_xor": ("bits",),
    "ceil": ("real",),
    "clip": ("real", "What is limited"),
    "conj": ("numeric",),
    "copysign": ("real floating", "The magnitudes", "The signs"),
    "cos": ("floating", "Angles [radians]"),
    "cosh": ("floating",),
    "divide": ("floating", "What is divided", "The divisors"),
    "equal": ("any",),
    "exp": ("floating", "The exponents"),
    "expm1": ("floating", "The exponents"),
    "floor": ("real",),
    "floor_divide": ("real", "What is divided", "The divisors"),
    "greater": ("real", "What should be greater", "What should be less"),
    "greater_equal": ("real", "What should be greater, or equal", "What should be less, or equal"),
    "hypot": ("real floating", "The one side of right angles", "The other side"),
    "imag": ("complex",),
    "isfinite": ("numeric",),
    "isinf": ("numeric",),
    "isnan": ("numeric",),
    "less": ("real", "What should be less", "What should be greater"),
    "less_equal": ("real", "What should be less, or equal", "What should be greater, or equal"),
    "log": ("floating",),
    "log10": ("floating",),
    "log1p": ("floating",),
    "log2": ("floating",),
    "logaddexp": ("real floating", "The logarithms of the one summands", "Those of the others"),
    "logical_and": ("bool",),
    "logical_not": ("bool",),
    "logical_or": ("bool",),
    "logical_xor": ("bool",),
    "maximum": ("real",),
    "minimum": ("real",),
    "multiply": ("numeric",),
    "negative": ("numeric",),
    "nextafter": ("real floating", "Where the steps begin", "In which direction they go"),
    "not_equal": ("any",),
    "positive": ("numeric",),
    "pow": ("numeric", "The bases", "The exponents"),
    "real": ("numeric",),
    "reciprocal": ("floating", "The divisors"),
    "remainder": ("real", "What is divided", "The divisors"),
    "round": ("numeric",),
    "sign": ("numeric",),
    "signbit": ("real floating",),
    "sin": ("floating", "Angles [radians]"),
    "sinh": ("floating",),
    "sqrt": ("floating",),
    "square": ("numeric",),
    "subtract": ("numeric", "From what is subtracted", "What is subtracted"),
    "tan": ("floating", "Angles [radians]"),
    "tanh": ("floating",),
    "trunc": ("real",),
}
"""Function -> the kind of its elements, and what its operands are, if the summary is not enough."""


def operand(function: str, parameter: str) -> str | None:
    """Return what an operand of an element-wise function is, or None for another parameter."""
    kind, *parts = OPERANDS.get(function, ("",))
    if not kind or parameter not in {"x", "x1", "x2"}:
        return None
    if parameter == "x":
        return f"{(parts or ['The elements'])[0]}, {KINDS[kind]}."
    one, other = parts or ("The one operand", "The other operand")
    if parameter == "x1":
        return f"{one}, {KINDS[kind]}."
    return f"{other}, likewise; broadcast with `x1`."
