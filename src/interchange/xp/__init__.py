"""The array-API namespace over any memory: the names of the standard, and float16.

Source: array API standard 2025.12.  This module has no code, since some names are those of
built-ins.
"""

from interchange._functions.importing import from_dlpack

from . import fft, linalg
from ._missing_names import __getattr__
from ._table import FUNCTIONS
from .constants import e, inf, nan, newaxis, pi
from .creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .data_type_functions import can_cast, finfo, iinfo, isdtype, result_type
from .data_types import (
    bool_ as bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .elementwise import (
    abs_ as abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow_ as pow,
    real,
    reciprocal,
    remainder,
    round_ as round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from .indexing import take, take_along_axis
from .inspection import Info as __array_namespace_info__
from .linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    astype,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .searching import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from .sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from .sorting import argsort, sort
from .statistical import (
    cumulative_prod,
    cumulative_sum,
    max_ as max,
    mean,
    min_ as min,
    prod,
    std,
    sum_ as sum,
    var,
)
from .utility import all_ as all, any_ as any, diff

__array_api_version__ = "2025.12"

__all__ = [  # noqa: PLE0604 - names, which a linter cannot see
    *("__array_api_version__", "__array_namespace_info__", "e", "inf", "nan", "newaxis", "pi"),
    *("bool", "complex64", "complex128", "float16", "float32", "float64", "int8", "int16", "int32"),
    *("int64", "uint8", "uint16", "uint32", "uint64", "fft", "linalg"),
    *FUNCTIONS,
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
