"""The names of the standard by chapter, and what arrays each function is defined for.

Source: array API standard 2025.12, "API specification": the categories are those of the sentence
"should have a ... data type" of each parameter, the shapes those of the sentence "having shape".
"""

from __future__ import annotations

from typing import Final, NamedTuple

SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
REAL: Final = ("float64", "float32")
COMPLEX: Final = ("complex128", "complex64")
INTEGERS: Final = SIGNED + UNSIGNED

KINDS: Final = {
    "boolean": ("bool",),
    "integer": INTEGERS,
    "integer or boolean": ("bool", *INTEGERS),
    "real floating": REAL,
    "complex floating": COMPLEX,
    "floating": REAL + COMPLEX,
    "real numeric": REAL + INTEGERS,
    "numeric": REAL + COMPLEX + INTEGERS,
    "all": ("bool", *REAL, *COMPLEX, *INTEGERS),
}
DTYPES: Final = KINDS["all"]


class Row(NamedTuple):
    """What the array arguments of a function are drawn from."""

    kind: str  # key of `KINDS`
    # ``"wild"``: anything; ``"small"``: small numbers, infinities, NaN and negative zero, so that
    # no order of summation matters; ``"tame"``: small finite numbers
    values: str = "wild"
    # ``"any"``; ``"matrix"`` (a stack of them), ``"square"``, ``"vector"``, or the least number of
    # axes
    shape: str = "any"


def _rows(text: str, *row: str) -> dict[str, Row]:
    """Return the same row for every name in a text."""
    return dict.fromkeys(text.split(), Row(*row))


UNARY: Final = {
    **_rows("abs conj isfinite isinf isnan negative positive real round sign square", "numeric"),
    **_rows("acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p", "floating"),
    **_rows("log2 reciprocal sin sinh sqrt tan tanh", "floating"),
    **_rows("ceil floor trunc", "real numeric"),
    **_rows("bitwise_invert", "integer or boolean"),
    **_rows("imag", "complex floating"),
    **_rows("logical_not", "boolean"),
    **_rows("signbit", "real floating"),
}

BINARY: Final = {
    **_rows("add multiply pow subtract", "numeric"),
    **_rows("divide", "floating"),
    **_rows("atan2 copysign hypot logaddexp nextafter", "real floating"),
    **_rows("bitwise_and bitwise_or bitwise_xor", "integer or boolean"),
    **_rows("bitwise_left_shift bitwise_right_shift", "integer"),
    **_rows("equal not_equal", "all"),
    **_rows("greater greater_equal less less_equal", "real numeric"),
    **_rows("floor_divide maximum minimum remainder", "real numeric"),
    **_rows("logical_and logical_or logical_xor", "boolean"),
}

CREATION: Final = {
    **_rows("arange asarray empty eye from_dlpack full linspace ones zeros", "all"),
    **_rows("empty_like full_like ones_like zeros_like", "all"),
    **_rows("meshgrid", "all", "wild", "vector"),
    **_rows("tril triu", "all", "wild", "matrix"),
}

DATA_TYPES: Final = _rows("astype can_cast finfo iinfo isdtype result_type", "all")
BROADCASTING: Final = _rows("broadcast_arrays broadcast_shapes broadcast_to", "all")
INDEXING: Final = _rows("take take_along_axis", "all", "wild", "1")

LINEAR_ALGEBRA: Final = {
    **_rows("matmul tensordot vecdot", "numeric", "tame", "1"),
    **_rows("matrix_transpose", "all", "wild", "matrix"),
}

MANIPULATION: Final = {
    **_rows("concat stack unstack", "all", "wild", "1"),
    **_rows("expand_dims flip moveaxis permute_dims repeat reshape roll squeeze tile", "all"),
}

SEARCHING: Final = {
    **_rows("argmax argmin", "real numeric", "small"),
    **_rows("count_nonzero where", "all"),
    **_rows("nonzero", "all", "wild", "1"),
    **_rows("searchsorted", "real numeric", "tame", "vector"),
}

SETS: Final = {
    **_rows("unique_all unique_counts unique_inverse unique_values", "all", "tame"),
    **_rows("isin", "integer", "tame"),
}

SORTING: Final = _rows("argsort sort", "real numeric", "tame", "1")

STATISTICS: Final = {
    **_rows("cumulative_prod cumulative_sum", "numeric", "small", "1"),
    **_rows("max min", "real numeric"),
    **_rows("mean", "floating", "small"),
    **_rows("prod sum", "numeric", "small"),
    **_rows("std var", "real floating", "tame"),
}

UTILITY: Final = {**_rows("all any", "all"), **_rows("diff", "numeric", "small", "1")}

LINALG: Final = {
    **_rows("cholesky det eig eigh eigvals eigvalsh inv", "floating", "tame", "square"),
    **_rows("matrix_power slogdet", "floating", "tame", "square"),
    **_rows("matrix_norm matrix_rank pinv qr svd svdvals", "floating", "tame", "matrix"),
    **_rows("diagonal", "all", "wild", "matrix"),
    **_rows("trace", "numeric", "small", "matrix"),
    **_rows("matrix_transpose", "all", "wild", "matrix"),
    **_rows("cross", "numeric", "tame", "1"),
    **_rows("matmul tensordot vecdot", "numeric", "tame", "1"),
    **_rows("outer", "numeric", "small", "vector"),
    **_rows("solve", "floating", "tame", "square"),
    **_rows("vector_norm", "floating", "tame"),
}

FFT: Final = {
    **_rows("fft ifft irfft hfft", "complex floating", "tame", "1"),
    **_rows("fftn ifftn irfftn", "complex floating", "tame", "1"),
    **_rows("rfft rfftn ihfft", "real floating", "tame", "1"),
    **_rows("fftshift ifftshift", "floating", "wild", "1"),
    **_rows("fftfreq rfftfreq", "real floating"),
}

CONSTANTS: Final = ("e", "inf", "nan", "newaxis", "pi")
INSPECTION: Final = ("__array_namespace_info__", "__array_api_version__")

CHAPTERS: Final = {
    "creation": CREATION,
    "data types": DATA_TYPES,
    "broadcasting": BROADCASTING,
    "elementwise": {**UNARY, **BINARY, "clip": Row("real numeric")},
    "indexing": INDEXING,
    "linear algebra": LINEAR_ALGEBRA,
    "manipulation": MANIPULATION,
    "searching": SEARCHING,
    "sets": SETS,
    "sorting": SORTING,
    "statistics": STATISTICS,
    "utility": UTILITY,
}

FUNCTIONS: Final = {
    **{name: row for chapter in CHAPTERS.values() for name, row in chapter.items()},
    **{f"linalg.{name}": row for name, row in LINALG.items()},
    **{f"fft.{name}": row for name, row in FFT.items()},
}
"""Every function of the standard, by its path in the namespace."""

OPERATORS: Final = {
    "add": "numeric",
    "sub": "numeric",
    "mul": "numeric",
    "pow": "numeric",
    "truediv": "floating",
    "floordiv": "real numeric",
    "mod": "real numeric",
    "and": "integer or boolean",
    "or": "integer or boolean",
    "xor": "integer or boolean",
    "lshift": "integer",
    "rshift": "integer",
}
"""Operators with three forms: plain, reflected, in place (`matmul` has its own tests)."""

COMPARISONS: Final = {
    "eq": "all",
    "ne": "all",
    "lt": "real numeric",
    "le": "real numeric",
    "gt": "real numeric",
    "ge": "real numeric",
}
SIGNS: Final = {
    "abs": "numeric",
    "neg": "numeric",
    "pos": "numeric",
    "invert": "integer or boolean",
}
ATTRIBUTES: Final = ("T", "device", "dtype", "mT", "ndim", "shape", "size")
METHODS: Final = (
    *("__array_namespace__", "__dlpack__", "__dlpack_device__", "to_device"),
    *("__bool__", "__complex__", "__float__", "__index__", "__int__"),
    *("__getitem__", "__setitem__", "__matmul__", "__rmatmul__", "__imatmul__"),
    *(f"__{form}{name}__" for name in OPERATORS for form in ("", "r", "i")),
    *(f"__{name}__" for name in (*COMPARISONS, *SIGNS)),
)
