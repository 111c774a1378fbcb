"""What the parameters of the functions are, those of element-wise operands aside.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

from .arguments import ARGUMENTS
from .extension_arguments import EXTENSION_ARGUMENTS
from .operands import operand

KINDS: Final = {
    "Array": "Array",
    "Axes": "int | tuple[int, ...] | None",
    "Scalar": "number",
    "Sequence[Array]": "sequence of Array",
    "Sequence[int]": "sequence of int",
    "complex": "number",
    "tuple[Sequence[int], Sequence[int]]": "two sequences of int",
}
"""Annotation -> how it is said; others are said as they are."""

UNTYPED: Final = {
    "arrays_and_dtypes": "Array, number, DType or what names one",
    "device": "Device, str or tuple[int, int]",
    "dtype": "DType or what names one",
    "fill_value": "number",
    "from_": "Array, DType or what names one",
    "indexing": '{"xy", "ij"}',
    "kind": "DType, str or tuple of these",
    "matrix_norm.ord": 'float, "fro", "nuc" or None',
    "max": "Array or number",
    "min": "Array or number",
    "mode": '{"reduced", "complete"}',
    "norm": '{"backward", "ortho", "forward"}',
    "obj": "number, nested sequence of numbers, array or buffer of any library",
    "rtol": "Array or number",
    "side": '{"left", "right"}',
    "to": "DType or what names one",
    "type": "Array, DType or what names one",
    "x1": "Array or number",
    "x2": "Array or number",
}
"""Parameter -> its kind, where the annotation is Any or str."""

_HOST: Final = "Where the result is; on the host when left out."
_THERE: Final = "Where the result is; where `x` is when left out."
_FLOAT: Final = "Element type of the result; the default floating-point type when left out."
_COPY: Final = "True: always copy.  False: never, or an error.  None, or left out: if needed."
_REDUCED: Final = "Along which axis, or axes; over all elements when left out."

COMMON: Final = {
    "empty_like.device": _THERE,
    "full_like.device": _THERE,
    "ones_like.device": _THERE,
    "zeros_like.device": _THERE,
    "astype.device": _THERE,
    "asarray.device": "Where the result is; where `obj` is when left out, numbers on the host.",
    "device": _HOST,
    "empty.dtype": _FLOAT,
    "eye.dtype": _FLOAT,
    "ones.dtype": _FLOAT,
    "zeros.dtype": _FLOAT,
    "fft.fftfreq.dtype": _FLOAT,
    "fft.rfftfreq.dtype": _FLOAT,
    "asarray.copy": _COPY,
    "reshape.copy": _COPY,
    "keepdims": "Whether the axes that are reduced stay, with length 1.",
    "all.axis": _REDUCED,
    "any.axis": _REDUCED,
    "count_nonzero.axis": _REDUCED,
    "max.axis": _REDUCED,
    "mean.axis": _REDUCED,
    "min.axis": _REDUCED,
    "prod.axis": _REDUCED,
    "std.axis": _REDUCED,
    "sum.axis": _REDUCED,
    "var.axis": _REDUCED,
}
"""Parameter of a function, or of every one that has it -> what it is."""


def words(function: str, parameter: str) -> str:
    """Return what a parameter of a function is.

    Parameters
    ----------
    function : str
        A key of the table, such as ``"linalg.qr"``.
    parameter : str
        Its name.
    """
    own = ARGUMENTS.get(function) or EXTENSION_ARGUMENTS.get(function) or {}
    full = f"{function}.{parameter}"
    said = own.get(parameter) or operand(function, parameter) or COMMON.get(full)
    return said or COMMON[parameter]
