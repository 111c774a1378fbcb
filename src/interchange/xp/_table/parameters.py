"""Descriptions of the parameters of the functions, except element-wise operands.

Source: array API standard 2025.12; the texts are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._row import Row


KINDS: Final = {
    "Array": "Array",
    "Axes": "int | tuple[int, ...] | None",
    "Scalar": "number",
    "Sequence[Array]": "sequence of Array",
    "Sequence[int]": "sequence of int",
    "complex": "number",
    "tuple[Sequence[int], Sequence[int]]": "two sequences of int",
}
"""Annotation -> its text; others are used unchanged."""

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
"""Parameter -> its kind, if the annotation is Any or str."""

_HOST: Final = "Device of the result; the host when left out."
_THERE: Final = "Device of the result; that of `x` when left out."
_FLOAT: Final = "Element type of the result; the default floating-point type when left out."
_COPY: Final = "True: always copy.  False: never copy, raise an error if needed.  None, or left out: copy if needed."
_REDUCED: Final = "The axis, or axes, to reduce; all axes when left out."

COMMON: Final = {
    "empty_like.device": _THERE,
    "full_like.device": _THERE,
    "ones_like.device": _THERE,
    "zeros_like.device": _THERE,
    "astype.device": _THERE,
    "asarray.device": "Device of the result; when left out, that of `obj`, and the host for Python numbers.",
    "device": _HOST,
    "empty.dtype": _FLOAT,
    "eye.dtype": _FLOAT,
    "ones.dtype": _FLOAT,
    "zeros.dtype": _FLOAT,
    "fft.fftfreq.dtype": _FLOAT,
    "fft.rfftfreq.dtype": _FLOAT,
    "asarray.copy": _COPY,
    "reshape.copy": _COPY,
    "keepdims": "Whether to keep the reduced axes with length 1.",
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
"""Parameter of a function, or of every function that has it -> its description."""


ELEMENT_KINDS: Final = {
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
"""Kind of element types -> its text."""


def words(function: str, row: Row, parameter: str) -> str:
    """Return the description of a parameter of a function.

    Parameters
    ----------
    function : str
        A key of the table, such as ``"linalg.qr"``.
    row : Row
        The function's row of the table.
    parameter : str
        Its name.
    """
    said = row.parameters.get(parameter) or _operand(row.operands, parameter)
    return said or COMMON.get(f"{function}.{parameter}") or COMMON[parameter]


def _operand(operands: tuple[str, ...], parameter: str) -> str | None:
    """Return the description of an operand of an element-wise function, or None."""
    kind, *parts = operands or ("",)
    if not kind or parameter not in {"x", "x1", "x2"}:
        return None
    if parameter == "x":
        return f"{(parts or ['The elements'])[0]}, {ELEMENT_KINDS[kind]}."
    one, other = parts or ("The first operand", "The second operand")
    if parameter == "x1":
        return f"{one}, {ELEMENT_KINDS[kind]}."
    return f"{other}, likewise; broadcast with `x1`."
