"""The special cases of the standard's functions of real numbers, as a table.

Source: array API standard 2025.12, the "Special cases" of each function.  A row is the function,
its arguments and the result; zeros are compared with their sign.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Final

ONE: Final = {
    "abs": ((nan, nan), (-0.0, 0.0), (inf, inf), (-inf, inf)),
    "acos": ((nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)),
    "acosh": ((nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)),
    "asin": ((nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)),
    "asinh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)),
    "atan": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)),
    "atanh": ((nan, nan), (-1.5, nan), (1.5, nan), (-1.0, -inf), (1.0, inf), (-0.0, -0.0)),
    "ceil": ((nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (3.0, 3.0)),
    "cos": ((nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)),
    "cosh": ((nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)),
    "exp": ((nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)),
    "expm1": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)),
    "floor": ((nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-3.0, -3.0)),
    "isfinite": ((inf, False), (-inf, False), (nan, False), (1.0, True), (-0.0, True)),
    "isinf": ((inf, True), (-inf, True), (nan, False), (1.0, False)),
    "isnan": ((nan, True), (inf, False), (1.0, False)),
    "log": ((nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)),
    "log10": ((nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)),
    "log1p": (
        *((nan, nan), (-1.5, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)),
        (e - 1, 1.0),
    ),
    "log2": ((nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)),
    "negative": ((nan, nan), (0.0, -0.0), (-0.0, 0.0), (inf, -inf)),
    "reciprocal": ((nan, nan), (inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf)),
    "round": (
        *((nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0)),
        *((0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (3.0, 3.0)),
    ),
    "sign": ((nan, nan), (-2.0, -1.0), (0.0, 0.0), (2.0, 1.0), (inf, 1.0), (-inf, -1.0)),
    "signbit": ((0.0, False), (-0.0, True), (inf, False), (-inf, True), (-1.0, True), (nan, False)),
    "sin": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)),
    "sinh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)),
    "sqrt": ((nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)),
    "square": ((nan, nan), (-0.0, 0.0), (inf, inf), (-inf, inf)),
    "tan": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)),
    "tanh": ((nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)),
    "trunc": ((nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-2.5, -2.0)),
}

_SUM: Final = (
    *((nan, 1.0, nan), (1.0, nan, nan), (inf, -inf, nan), (-inf, inf, nan)),
    *((inf, inf, inf), (-inf, -inf, -inf), (inf, 1.0, inf), (1.0, -inf, -inf)),
    *((-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (0.0, 0.0, 0.0)),
    *((-0.0, 2.0, 2.0), (2.0, 0.0, 2.0), (2.0, -2.0, 0.0)),
)
_QUOTIENT: Final = (
    *((nan, 1.0, nan), (1.0, nan, nan), (inf, inf, nan), (inf, -inf, nan), (-inf, inf, nan)),
    *((0.0, 0.0, nan), (-0.0, 0.0, nan), (0.0, -0.0, nan), (-0.0, -0.0, nan)),
    *((0.0, 2.0, 0.0), (-0.0, -2.0, 0.0), (0.0, -2.0, -0.0), (-0.0, 2.0, -0.0)),
    *((2.0, 0.0, inf), (2.0, -0.0, -inf), (-2.0, 0.0, -inf), (-2.0, -0.0, inf)),
)

TWO: Final = {
    "add": _SUM,
    "atan2": (*((nan, 1.0, nan), (1.0, nan, nan), (2.0, 0.0, pi / 2), (2.0, -0.0, pi / 2)),
        *((0.0, 2.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, pi), (0.0, -2.0, pi)),
        *((-0.0, 2.0, -0.0), (-0.0, 0.0, -0.0), (-0.0, -0.0, -pi), (-0.0, -2.0, -pi)),
        *((-2.0, 0.0, -pi / 2), (-2.0, -0.0, -pi / 2), (2.0, inf, 0.0), (2.0, -inf, pi)),
        *((-2.0, inf, -0.0), (-2.0, -inf, -pi), (inf, 2.0, pi / 2), (-inf, 2.0, -pi / 2)),
        *((inf, inf, pi / 4), (inf, -inf, 3 * pi / 4), (-inf, inf, -pi / 4)),
        (-inf, -inf, -3 * pi / 4)),
    "copysign": (*((2.0, nan, 2.0), (0.0, -1.0, -0.0), (-0.0, 1.0, 0.0), (2.0, -0.0, -2.0)),
        *((-2.0, 0.0, 2.0), (inf, -0.0, -inf), (nan, 1.0, nan))),
    "divide": (*_QUOTIENT,
        *((inf, 2.0, inf), (inf, -2.0, -inf), (-inf, 2.0, -inf), (-inf, -2.0, inf)),
        *((2.0, inf, 0.0), (2.0, -inf, -0.0), (-2.0, inf, -0.0), (-2.0, -inf, 0.0))),
    "floor_divide": (*_QUOTIENT,
        *((5.0, 2.0, 2.0), (-5.0, 2.0, -3.0), (5.0, -2.0, -3.0), (2.0, inf, 0.0)),
        *((-2.0, inf, -1.0), (2.0, -inf, -1.0), (-2.0, -inf, 0.0))),
    "hypot": (
        *((inf, 1.0, inf), (inf, nan, inf), (-inf, nan, inf), (nan, inf, inf), (nan, -inf, inf)),
        *((1.0, -inf, inf), (nan, 1.0, nan), (1.0, nan, nan), (nan, nan, nan), (3.0, -4.0, 5.0))),
    "logaddexp": ((nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (1.0, inf, inf)),
    "maximum": ((nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (-inf, 1.0, 1.0)),
    "minimum": ((nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, 1.0), (-inf, 1.0, -inf)),
    "multiply": (
        *((nan, 1.0, nan), (1.0, nan, nan), (inf, 0.0, nan), (-inf, -0.0, nan), (0.0, inf, nan)),
        *((inf, inf, inf), (inf, -inf, -inf), (-inf, -inf, inf), (inf, -2.0, -inf)),
        *((2.0, -inf, -inf), (-0.0, 2.0, -0.0), (-0.0, -2.0, 0.0), (0.0, -2.0, -0.0))),
    "nextafter": ((nan, 1.0, nan), (1.0, nan, nan), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0)),
    "pow": (
        *((nan, 0.0, 1.0), (nan, -0.0, 1.0), (1.0, nan, 1.0), (2.0, nan, nan), (nan, 1.0, nan)),
        *((2.0, 0.0, 1.0), (inf, -0.0, 1.0), (2.0, inf, inf), (-2.0, inf, inf), (2.0, -inf, 0.0)),
        *((1.0, inf, 1.0), (1.0, -inf, 1.0), (-1.0, inf, 1.0), (-1.0, -inf, 1.0)),
        *((0.5, inf, 0.0), (-0.5, inf, 0.0), (0.5, -inf, inf), (-0.5, -inf, inf)),
        *((inf, 2.0, inf), (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf)),
        *((-inf, 2.5, inf), (-inf, -3.0, -0.0), (-inf, -2.0, 0.0), (-inf, -2.5, 0.0)),
        *((0.0, 2.0, 0.0), (0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0)),
        *((-0.0, -3.0, -inf), (-0.0, -2.0, inf), (-0.0, 2.5, 0.0), (-2.0, 0.5, nan))),
    "remainder": (
        *((nan, 1.0, nan), (1.0, nan, nan), (inf, inf, nan), (inf, 2.0, nan), (-inf, 2.0, nan)),
        *((0.0, 0.0, nan), (2.0, 0.0, nan), (-2.0, -0.0, nan), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0)),
        *((0.0, -2.0, -0.0), (-0.0, -2.0, -0.0), (2.0, inf, 2.0), (2.0, -inf, -inf)),
        *((-2.0, inf, inf), (-2.0, -inf, -2.0), (5.0, 3.0, 2.0), (-5.0, 3.0, 1.0))),
    "subtract": tuple(((x1, -x2, result) for x1, x2, result in _SUM)),
}  # fmt: skip

OF_NOTHING: Final = {
    "all": True,
    "any": False,
    "prod": 1.0,
    "sum": 0.0,
    "mean": nan,
    "std": nan,
    "var": nan,
}
"""What reductions of no element give."""

OF_A_NAN: Final = ("max", "mean", "min", "prod", "std", "sum", "var")
"""Reductions that are NaN as soon as one element is."""
