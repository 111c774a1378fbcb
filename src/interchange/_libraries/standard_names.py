"""Names of the standard that more than one layer uses: operators, element types.

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
"""Binary function of the standard -> function of the module ``operator``."""

COMPARISONS: Final = frozenset(
    {"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"}
)
"""Operators without an in-place form."""

INPLACE: Final[dict[str, Any]] = {
    name: getattr(operator, f"i{word.rstrip('_')}")
    for name, word in OPERATORS.items()
    if name not in COMPARISONS
}
"""Function of the standard -> its in-place function."""

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
"""Functions whose result may share the memory of their argument."""

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
"""Functions for which some library returns the argument itself if nothing changes."""

SPREADING: Final = frozenset({"broadcast_arrays", "broadcast_to", "meshgrid"})
"""Functions whose result may have one element in several positions."""

STANDARD_DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
"""The element types that the standard computes with."""
