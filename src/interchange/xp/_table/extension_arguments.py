"""What the parameters of the extensions' functions are.

Source: array API standard 2025.12, Linear Algebra and Fourier transform Extensions; our words.
"""

from __future__ import annotations

from typing import Final

from .arguments import ARGUMENTS

_SQUARE: Final = {"x": "Square matrices in the last two axes, of a floating-point type."}
_HERMITIAN: Final = {
    "x": "Hermitian matrices in the last two axes, of a floating-point type, of which one triangle"
    " is read.",
}
_MATRICES: Final = {"x": "Matrices in the last two axes, of a floating-point type."}
_DIAGONAL: Final = "Which diagonal; 0 is the main one, positive ones are above it."
_RTOL: Final = (
    "Singular values that are at most this part of the largest one count as zero; an array says it"
    " for each matrix.  When left out, the greater extent times the distance of 1 to the next"
    " number."
)
_AXIS: Final = "Along which axis."
_NORM: Final = (
    'Which transform is divided by the number of elements: "forward", its inverse ("backward"), or'
    ' each by the square root ("ortho").'
)
_FREQUENCIES: Final = {
    "n": "How many samples there are.",
    "d": "The distance of two samples.",
}


def _along_axis(kind: str, length: str) -> dict[str, str]:
    """Return the parameters of a transform along one axis."""
    return {"x": f"The array, of a {kind} type.", "n": length, "axis": _AXIS, "norm": _NORM}


def _along_axes(kind: str, lengths: str) -> dict[str, str]:
    """Return the parameters of a transform along several axes."""
    axes = "Along which axes; the last that `s` has lengths for, or all, when left out."
    return {"x": f"The array, of a {kind} type.", "s": lengths, "axes": axes, "norm": _NORM}


_CUT: Final = (
    "Length of the axis that is transformed [elements]: `x` is cut, or gets zeros at its end; that"
    " of `x` when left out."
)
_GROWN: Final = (
    "Length of the axis in the result [elements]; 2 * (m - 1), where `x` has m, when left out."
)
_ALL_CUT: Final = (
    "Length of each axis that is transformed [elements]: `x` is cut, or gets zeros at its end;"
    " those of `x` when left out."
)
_ALL_GROWN: Final = (
    "Length of each of these axes in the result [elements]; when left out, those of `x`, and of"
    " the last one, where `x` has m, 2 * (m - 1)."
)
_SHIFTED: Final = {
    "x": "The array, of a floating-point type.",
    "axes": "Along which axes; along all when left out.",
}
_VECTORS: Final = "Vectors of 3 elements along `axis`, of a numeric type"

EXTENSION_ARGUMENTS: Final[dict[str, dict[str, str]]] = {
    "linalg.cholesky": {
        "x": "Hermitian, positive definite matrices in the last two axes, of a floating-point"
        " type.",
        "upper": "Whether the factor is an upper triangle, and no lower one.",
    },
    "linalg.cross": {
        "x1": f"{_VECTORS}.",
        "x2": f"{_VECTORS}; the other axes are broadcast with those of `x1`.",
        "axis": "Along which axis the vectors are.",
    },
    "linalg.det": _SQUARE,
    "linalg.diagonal": {"x": "Matrices in the last two axes, of any type.", "offset": _DIAGONAL},
    "linalg.eig": _SQUARE,
    "linalg.eigh": _HERMITIAN,
    "linalg.eigvals": _SQUARE,
    "linalg.eigvalsh": _HERMITIAN,
    "linalg.inv": {"x": "Invertible matrices in the last two axes, of a floating-point type."},
    "linalg.matmul": ARGUMENTS["matmul"],
    "linalg.matrix_norm": {
        **_MATRICES,
        "ord": 'Which norm: of all elements ("fro", None), the sum of singular values ("nuc"), the'
        " greatest sum of magnitudes of a column (1) or of a row (inf), the greatest singular value"
        " (2); the least of these: -1, -inf, -2.",
    },
    "linalg.matrix_power": {**_SQUARE, "n": "The exponent; below 0, that of the inverse."},
    "linalg.matrix_rank": {**_MATRICES, "rtol": _RTOL},
    "linalg.matrix_transpose": ARGUMENTS["matrix_transpose"],
    "linalg.outer": {
        "x1": "A vector, of a numeric type, for the rows.",
        "x2": "A vector of any length, likewise, for the columns.",
    },
    "linalg.pinv": {**_MATRICES, "rtol": _RTOL},
    "linalg.qr": {
        **_MATRICES,
        "mode": '"reduced": the lesser extent is that of the inner axis; "complete": Q is square.',
    },
    "linalg.slogdet": _SQUARE,
    "linalg.solve": {
        "x1": "The coefficients: invertible matrices in the last two axes, of a floating-point"
        " type.",
        "x2": "The right sides, likewise: a vector, where there is one axis, or matrices with as"
        " many rows as `x1`, whose other axes are broadcast with those of `x1`.",
    },
    "linalg.svd": {
        **_MATRICES,
        "full_matrices": "Whether U and Vh are square; if not, they are as long as S is.",
    },
    "linalg.svdvals": _MATRICES,
    "linalg.tensordot": ARGUMENTS["tensordot"],
    "linalg.trace": {
        "x": "Matrices in the last two axes, of a numeric type.",
        "offset": _DIAGONAL,
        "dtype": ARGUMENTS["sum"]["dtype"],
    },
    "linalg.vecdot": ARGUMENTS["vecdot"],
    "linalg.vector_norm": {
        "x": "Vectors along `axis`, of a floating-point type.",
        "axis": "Along which axis, or axes, a vector is; all elements are one when left out.",
        "ord": "Which norm: the p-th root of the sum of magnitudes to the power p; 0: how many are"
        " not 0; inf, -inf: the greatest and the least magnitude.",
    },
    "fft.fft": _along_axis("complex", _CUT),
    "fft.fftfreq": _FREQUENCIES,
    "fft.fftn": _along_axes("complex", _ALL_CUT),
    "fft.fftshift": _SHIFTED,
    "fft.hfft": _along_axis("complex", _GROWN),
    "fft.ifft": _along_axis("complex", _CUT),
    "fft.ifftn": _along_axes("complex", _ALL_CUT),
    "fft.ifftshift": _SHIFTED,
    "fft.ihfft": _along_axis("real floating-point", _CUT),
    "fft.irfft": _along_axis("complex", _GROWN),
    "fft.irfftn": _along_axes("complex", _ALL_GROWN),
    "fft.rfft": _along_axis("real floating-point", _CUT),
    "fft.rfftfreq": _FREQUENCIES,
    "fft.rfftn": _along_axes("real floating-point", _ALL_CUT),
}
"""Function -> parameter -> what it is; what many functions share is in `parameters`."""
