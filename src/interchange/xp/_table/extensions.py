"""Descriptions of the functions of the extensions.

Source: array API standard 2025.12; the texts are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row
from .arrays import ARRAYS

_SQUARE: Final = {"x": "Square matrices in the last two axes, of a floating-point type."}
_HERMITIAN: Final = {
    "x": "Hermitian matrices in the last two axes, of a floating-point type; only one triangle is read."
}
_MATRICES: Final = {"x": "Matrices in the last two axes, of a floating-point type."}
_DIAGONAL: Final = "The diagonal; 0 is the main diagonal, positive numbers are above it."
_RTOL: Final = "Relative cutoff: singular values not greater than this times the largest are zero; an array has one for each matrix.  When left out, the greater extent times the machine epsilon."
_AXIS: Final = "The axis along which to operate."
_NORM: Final = 'Normalization: divide the forward transform ("forward"), the inverse transform ("backward") by n, or both by the square root of n ("ortho").'
_FREQUENCIES: Final = {"n": "Number of samples.", "d": "Sample spacing."}


def _along_axis(kind: str, length: str) -> dict[str, str]:
    """Return the parameters of a transform along one axis."""
    return {"x": f"The array, of a {kind} type.", "n": length, "axis": _AXIS, "norm": _NORM}


def _along_axes(kind: str, lengths: str) -> dict[str, str]:
    """Return the parameters of a transform along several axes."""
    axes = "The axes; when left out, the last len(`s`) axes, or all."
    return {"x": f"The array, of a {kind} type.", "s": lengths, "axes": axes, "norm": _NORM}


_CUT: Final = "Length of the transformed axis [elements]: `x` is cropped or zero-padded; that of `x` when left out."
_GROWN: Final = "Length of the axis in the output [elements]; 2 * (m - 1) for an input of length m when left out."
_ALL_CUT: Final = "Length of each transformed axis [elements]: `x` is cropped or zero-padded; those of `x` when left out."
_ALL_GROWN: Final = "Length of each transformed axis in the output [elements]; when left out, those of `x`, and 2 * (m - 1) for the last one, of length m."
_SHIFTED: Final = {
    "x": "The array, of a floating-point type.",
    "axes": "The axes; all axes when left out.",
}
_VECTORS: Final = "Vectors of 3 elements along `axis`, of a numeric type"

EXTENSIONS: Final = {
    "linalg.cholesky": Row("Return the Cholesky decomposition of matrices.",
        "xp.linalg.cholesky(xp.asarray([[4.0]])).tolist()", "[[2.0]]",
        parameters={
            "x": "Hermitian, positive definite matrices in the last two axes, of a floating-point"
            " type.",
            "upper": "Whether to return the upper triangular factor; otherwise the lower one."}),
    "linalg.cross": Row("Return the cross products of vectors.",
        "xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0])).tolist()", "[0, 0, 1]",
        parameters={"x1": f"{_VECTORS}.",
            "x2": f"{_VECTORS}; the other axes are broadcast with those of `x1`.",
            "axis": "The axis of the vectors."}),
    "linalg.det": Row("Return the determinants of matrices.",
        "xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).tolist()", "6.0", parameters=_SQUARE),
    "linalg.diagonal": Row("Return the diagonals of matrices.",
        "xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]])).tolist()", "[1, 4]",
        parameters={"x": "Matrices in the last two axes, of any type.", "offset": _DIAGONAL}),
    "linalg.eig": Row("Return the eigenvalues and eigenvectors of matrices, as complex numbers.",
        "xp.linalg.eig(xp.asarray([[2.0]])).eigenvalues.tolist()", "[(2+0j)]", parameters=_SQUARE),
    "linalg.eigh": Row(
        "Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.",
        "xp.linalg.eigh(xp.asarray([[2.0]])).eigenvalues.tolist()", "[2.0]",
        parameters=_HERMITIAN),
    "linalg.eigvals": Row("Return the eigenvalues of matrices, as complex numbers.",
        "xp.linalg.eigvals(xp.asarray([[2.0]])).tolist()", "[(2+0j)]", parameters=_SQUARE),
    "linalg.eigvalsh": Row("Return the eigenvalues of symmetric or Hermitian matrices.",
        "xp.linalg.eigvalsh(xp.asarray([[2.0]])).tolist()", "[2.0]", parameters=_HERMITIAN),
    "linalg.inv": Row("Return the inverses of matrices.",
        "xp.linalg.inv(xp.asarray([[2.0]])).tolist()", "[[0.5]]",
        parameters={"x": "Invertible matrices in the last two axes, of a floating-point type."}),
    "linalg.matmul": Row("Return the matrix product of two arrays.",
        "xp.linalg.matmul(xp.asarray([[1, 2]]), xp.asarray([[3], [4]])).tolist()", "[[11]]",
        parameters=ARRAYS["matmul"].parameters),
    "linalg.matrix_norm": Row("Return the norms of matrices.",
        "xp.linalg.matrix_norm(xp.asarray([[3.0, 4.0]])).tolist()", "5.0",
        parameters={**_MATRICES,
            "ord": 'The order of the norm: Frobenius ("fro", None), nuclear ("nuc"), greatest absolute column sum (1) or row sum (inf), greatest singular value (2); the least of these: -1, -inf, -2.'}),
    "linalg.matrix_power": Row("Raise square matrices to an integer power.",
        "xp.linalg.matrix_power(xp.asarray([[2.0]]), 3).tolist()", "[[8.0]]",
        parameters={**_SQUARE, "n": "The exponent; a negative one raises the inverse."}),
    "linalg.matrix_rank": Row("Return the ranks of matrices.",
        "xp.linalg.matrix_rank(xp.asarray([[1.0, 0.0], [0.0, 0.0]])).tolist()", "1",
        parameters={**_MATRICES, "rtol": _RTOL}),
    "linalg.matrix_transpose": Row("Return the transpose of each matrix.",
        "xp.linalg.matrix_transpose(xp.asarray([[1, 2]])).tolist()", "[[1], [2]]",
        parameters=ARRAYS["matrix_transpose"].parameters),
    "linalg.outer": Row("Return the outer product of two vectors.",
        "xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()", "[[3, 4], [6, 8]]",
        parameters={"x1": "The first vector, of a numeric type: the rows.",
            "x2": "The second vector, likewise, of any length: the columns."}),
    "linalg.pinv": Row("Return the pseudo-inverses of matrices.",
        "xp.linalg.pinv(xp.asarray([[2.0]])).shape", "(1, 1)",
        parameters={**_MATRICES, "rtol": _RTOL}),
    "linalg.qr": Row("Return the QR decomposition of matrices.",
        "xp.linalg.qr(xp.ones((3, 2))).R.shape", "(2, 2)",
        parameters={**_MATRICES,
            "mode": '"reduced": the inner axis has the smaller extent; "complete": Q is square.'}),
    "linalg.slogdet": Row(
        "Return the sign and the natural logarithm of the absolute value of the determinants of matrices.",
        "xp.linalg.slogdet(xp.asarray([[-1.0]])).sign.tolist()", "-1.0", parameters=_SQUARE),
    "linalg.solve": Row("Solve systems of linear equations.",
        "xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([4.0])).tolist()", "[2.0]",
        parameters={
            "x1": "The coefficient matrices: invertible, in the last two axes, of a floating-point type.",
            "x2": "The right-hand sides, likewise: a vector if 1-D, or matrices with as many rows as `x1`, whose other axes are broadcast with those of `x1`."}),
    "linalg.svd": Row("Return the singular value decompositions of matrices.",
        "xp.linalg.svd(xp.ones((2, 2))).U.shape", "(2, 2)",
        parameters={**_MATRICES,
            "full_matrices": "Whether U and Vh are square; otherwise their inner axis has the length of S."}),
    "linalg.svdvals": Row("Return the singular values of matrices.",
        "xp.linalg.svdvals(xp.asarray([[3.0]])).tolist()", "[3.0]", parameters=_MATRICES),
    "linalg.tensordot": Row("Return the tensor contraction of two arrays over given axes.",
        "xp.linalg.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1).tolist()", "11",
        parameters=ARRAYS["tensordot"].parameters),
    "linalg.trace": Row("Return the sums along the diagonals of matrices.",
        "xp.linalg.trace(xp.asarray([[1, 2], [3, 4]])).tolist()", "5",
        parameters={"x": "Matrices in the last two axes, of a numeric type.", "offset": _DIAGONAL,
            "dtype": ARRAYS["sum"].parameters["dtype"]}),
    "linalg.vecdot": Row("Return the dot products of vectors.",
        "xp.linalg.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()", "11",
        parameters=ARRAYS["vecdot"].parameters),
    "linalg.vector_norm": Row("Return the norms of vectors.",
        "xp.linalg.vector_norm(xp.asarray([3.0, 4.0])).tolist()", "5.0",
        parameters={"x": "Vectors along `axis`, of a floating-point type.",
            "axis": "The axis, or axes, of a vector; the flattened array when left out.",
            "ord": "The order p of the norm: the p-th root of the sum of abs(x)**p; 0: the number of elements other than 0; inf, -inf: the greatest and the least abs(x)."}),
    "fft.fft": Row("Return the discrete Fourier transform along an axis.",
        "xp.fft.fft(xp.asarray([1.0, 1.0])).tolist()", "[(2+0j), 0j]",
        parameters=_along_axis("complex", _CUT)),
    "fft.fftfreq": Row(
        "Return the sample frequencies of a discrete Fourier transform [cycles per unit of `d`].",
        "xp.fft.fftfreq(4).tolist()", "[0.0, 0.25, -0.5, -0.25]", parameters=_FREQUENCIES),
    "fft.fftn": Row("Return the discrete Fourier transform along several axes.",
        "xp.fft.fftn(xp.ones((2, 2))).shape", "(2, 2)",
        parameters=_along_axes("complex", _ALL_CUT)),
    "fft.fftshift": Row("Shift the zero-frequency component to the center of the spectrum.",
        "xp.fft.fftshift(xp.asarray([0, 1, -2, -1])).tolist()", "[-2, -1, 0, 1]",
        parameters=_SHIFTED),
    "fft.hfft": Row("Return the discrete Fourier transform of a signal with Hermitian symmetry.",
        "xp.fft.hfft(xp.asarray([1.0, 0.0])).shape", "(2,)",
        parameters=_along_axis("complex", _GROWN)),
    "fft.ifft": Row("Return the inverse discrete Fourier transform along an axis.",
        "xp.fft.ifft(xp.asarray([2.0, 0.0])).tolist()", "[(1+0j), (1+0j)]",
        parameters=_along_axis("complex", _CUT)),
    "fft.ifftn": Row("Return the inverse discrete Fourier transform along several axes.",
        "xp.fft.ifftn(xp.ones((2, 2))).shape", "(2, 2)",
        parameters=_along_axes("complex", _ALL_CUT)),
    "fft.ifftshift": Row("Invert `fftshift`: shift the zero-frequency component to the start.",
        "xp.fft.ifftshift(xp.asarray([-2, -1, 0, 1])).tolist()", "[0, 1, -2, -1]",
        parameters=_SHIFTED),
    "fft.ihfft": Row("Return the inverse of `hfft`.", "xp.fft.ihfft(xp.asarray([2.0, 2.0])).shape",
        "(2,)", parameters=_along_axis("real floating-point", _CUT)),
    "fft.irfft": Row("Return the inverse of `rfft`.",
        "xp.fft.irfft(xp.asarray([2.0, 0.0])).tolist()", "[1.0, 1.0]",
        parameters=_along_axis("complex", _GROWN)),
    "fft.irfftn": Row("Return the inverse of `rfftn`.", "xp.fft.irfftn(xp.ones((2, 2))).shape",
        "(2, 2)", parameters=_along_axes("complex", _ALL_GROWN)),
    "fft.rfft": Row(
        "Return the discrete Fourier transform of real input; only the non-negative frequencies.",
        "xp.fft.rfft(xp.asarray([1.0, 1.0])).tolist()", "[(2+0j), 0j]",
        parameters=_along_axis("real floating-point", _CUT)),
    "fft.rfftfreq": Row("Return the sample frequencies of `rfft` [cycles per unit of `d`].",
        "xp.fft.rfftfreq(4).tolist()", "[0.0, 0.25, 0.5]", parameters=_FREQUENCIES),
    "fft.rfftn": Row("Return the discrete Fourier transform of real input along several axes.",
        "xp.fft.rfftn(xp.ones((2, 2))).shape", "(2, 2)",
        parameters=_along_axes("real floating-point", _ALL_CUT)),
}  # fmt: skip
