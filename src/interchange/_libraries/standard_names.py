"""Names of the standard that more than one floor reads: operators, element types.

Source: array API standard 2025.12, Array object; Data types.
"""

from __future__ import annotations

import operator
from typing import Any, Final

OPERATORS: Final = {
    "add": "add",
    "bitwise_and": "and_",
    "bitwise_left_shift": "lshift",
    "bitwise_or": "or_",
    "bitwise_right_shift": "rshift",
    "bitwise_xor": "xor",
    "divide": "truediv",
    "equal": "eq",
    "floor_divide": "floordiv",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "matmul": "matmul",
    "multiply": "mul",
    "not_equal": "ne",
    "pow": "pow",
    "remainder": "mod",
    "subtract": "sub",
}
"""Function of the standard -> function of the module ``operator``, for two operands."""

COMPARISONS: Final = frozenset(
    {"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"}
)
"""Operators without a form in place."""

INPLACE: Final[dict[str, Any]] = {
    name: getattr(operator, f"i{word.rstrip('_')}")
    for name, word in OPERATORS.items()
    if name not in COMPARISONS
}
"""Function of the standard -> function that does it in place."""

VIEWS: Final = frozenset(
    {
        "asarray",
        "astype",
        "broadcast_arrays",
        "broadcast_to",
        "expand_dims",
        "flip",
        "imag",
        "linalg.diagonal",
        "matrix_transpose",
        "meshgrid",
        "moveaxis",
        "permute_dims",
        "real",
        "reshape",
        "squeeze",
        "unstack",
    }
)
"""Functions whose result may share the memory of what they are given."""

FRESH: Final = frozenset(
    {
        "all",
        "any",
        "ceil",
        "conj",
        "diff",
        "floor",
        "linalg.matrix_power",
        "positive",
        "round",
        "trunc",
    }
)
"""Functions that some library answers with what it was given, where nothing is to be done."""

SPREADING: Final = frozenset({"broadcast_arrays", "broadcast_to", "meshgrid"})
"""Functions whose result may have one element in several places."""

STANDARD_DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
"""The element types that the standard computes with."""
