"""What the functions of the extensions do.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row

EXTENSIONS: Final = {
    # linalg
    "linalg.cholesky": Row(
        "Return the triangular factors of positive definite matrices.",
        "xp.linalg.cholesky(xp.asarray([[4.0]])).tolist()",
        "[[2.0]]",
    ),
    "linalg.cross": Row(
        "Return the cross products of vectors.",
        "xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0])).tolist()",
        "[0, 0, 1]",
    ),
    "linalg.det": Row(
        "Return the determinants of matrices.",
        "xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).tolist()",
        "6.0",
    ),
    "linalg.diagonal": Row(
        "Return the diagonals of matrices.",
        "xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]])).tolist()",
        "[1, 4]",
    ),
    "linalg.eig": Row(
        "Return the eigenvalues and eigenvectors of matrices, as complex numbers.",
        "xp.linalg.eig(xp.asarray([[2.0]])).eigenvalues.tolist()",
        "[(2+0j)]",
    ),
    "linalg.eigh": Row(
        "Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.",
        "xp.linalg.eigh(xp.asarray([[2.0]])).eigenvalues.tolist()",
        "[2.0]",
    ),
    "linalg.eigvals": Row(
        "Return the eigenvalues of matrices, as complex numbers.",
        "xp.linalg.eigvals(xp.asarray([[2.0]])).tolist()",
        "[(2+0j)]",
    ),
    "linalg.eigvalsh": Row(
        "Return the eigenvalues of symmetric or Hermitian matrices.",
        "xp.linalg.eigvalsh(xp.asarray([[2.0]])).tolist()",
        "[2.0]",
    ),
    "linalg.inv": Row(
        "Return the inverses of matrices.", "xp.linalg.inv(xp.asarray([[2.0]])).tolist()", "[[0.5]]"
    ),
    "linalg.matmul": Row(
        "Return products of matrices.",
        "xp.linalg.matmul(xp.asarray([[1, 2]]), xp.asarray([[3], [4]])).tolist()",
        "[[11]]",
    ),
    "linalg.matrix_norm": Row(
        "Return the norms of matrices.",
        "xp.linalg.matrix_norm(xp.asarray([[3.0, 4.0]])).tolist()",
        "5.0",
    ),
    "linalg.matrix_power": Row(
        "Return matrices to a whole power.",
        "xp.linalg.matrix_power(xp.asarray([[2.0]]), 3).tolist()",
        "[[8.0]]",
    ),
    "linalg.matrix_rank": Row(
        "Return the ranks of matrices.",
        "xp.linalg.matrix_rank(xp.asarray([[1.0, 0.0], [0.0, 0.0]])).tolist()",
        "1",
    ),
    "linalg.matrix_transpose": Row(
        "Return the transpose of each matrix.",
        "xp.linalg.matrix_transpose(xp.asarray([[1, 2]])).tolist()",
        "[[1], [2]]",
    ),
    "linalg.outer": Row(
        "Return the outer product of two vectors.",
        "xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()",
        "[[3, 4], [6, 8]]",
    ),
    "linalg.pinv": Row(
        "Return the pseudo-inverses of matrices.",
        "xp.linalg.pinv(xp.asarray([[2.0]])).shape",
        "(1, 1)",
    ),
    "linalg.qr": Row(
        "Return matrices as products of orthogonal and triangular ones.",
        "xp.linalg.qr(xp.ones((3, 2))).R.shape",
        "(2, 2)",
    ),
    "linalg.slogdet": Row(
        "Return sign and logarithm of the determinants of matrices.",
        "xp.linalg.slogdet(xp.asarray([[-1.0]])).sign.tolist()",
        "-1.0",
    ),
    "linalg.solve": Row(
        "Return the solutions of systems of linear equations.",
        "xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([4.0])).tolist()",
        "[2.0]",
    ),
    "linalg.svd": Row(
        "Return the singular value decompositions of matrices.",
        "xp.linalg.svd(xp.ones((2, 2))).U.shape",
        "(2, 2)",
    ),
    "linalg.svdvals": Row(
        "Return the singular values of matrices.",
        "xp.linalg.svdvals(xp.asarray([[3.0]])).tolist()",
        "[3.0]",
    ),
    "linalg.tensordot": Row(
        "Return sums of products over some axes.",
        "xp.linalg.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1).tolist()",
        "11",
    ),
    "linalg.trace": Row(
        "Return the sums of diagonals.",
        "xp.linalg.trace(xp.asarray([[1, 2], [3, 4]])).tolist()",
        "5",
    ),
    "linalg.vecdot": Row(
        "Return the dot products of vectors.",
        "xp.linalg.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()",
        "11",
    ),
    "linalg.vector_norm": Row(
        "Return the norms of vectors.",
        "xp.linalg.vector_norm(xp.asarray([3.0, 4.0])).tolist()",
        "5.0",
    ),
    # fft
    "fft.fft": Row(
        "Return the discrete Fourier transform along an axis.",
        "xp.fft.fft(xp.asarray([1.0, 1.0])).tolist()",
        "[(2+0j), 0j]",
    ),
    "fft.fftfreq": Row(
        "Return the frequencies of a transform [cycles per unit of `d`].",
        "xp.fft.fftfreq(4).tolist()",
        "[0.0, 0.25, -0.5, -0.25]",
    ),
    "fft.fftn": Row(
        "Return the discrete Fourier transform along several axes.",
        "xp.fft.fftn(xp.ones((2, 2))).shape",
        "(2, 2)",
    ),
    "fft.fftshift": Row(
        "Return a spectrum with frequency 0 in the middle.",
        "xp.fft.fftshift(xp.asarray([0, 1, -2, -1])).tolist()",
        "[-2, -1, 0, 1]",
    ),
    "fft.hfft": Row(
        "Return the transform of a signal with Hermitian symmetry.",
        "xp.fft.hfft(xp.asarray([1.0, 0.0])).shape",
        "(2,)",
    ),
    "fft.ifft": Row(
        "Return the inverse discrete Fourier transform along an axis.",
        "xp.fft.ifft(xp.asarray([2.0, 0.0])).tolist()",
        "[(1+0j), (1+0j)]",
    ),
    "fft.ifftn": Row(
        "Return the inverse discrete Fourier transform along several axes.",
        "xp.fft.ifftn(xp.ones((2, 2))).shape",
        "(2, 2)",
    ),
    "fft.ifftshift": Row(
        "Return a spectrum with frequency 0 first: undo `fftshift`.",
        "xp.fft.ifftshift(xp.asarray([-2, -1, 0, 1])).tolist()",
        "[0, 1, -2, -1]",
    ),
    "fft.ihfft": Row(
        "Return the inverse transform of the real spectrum of a Hermitian signal.",
        "xp.fft.ihfft(xp.asarray([2.0, 2.0])).shape",
        "(2,)",
    ),
    "fft.irfft": Row(
        "Return the real signal of half a spectrum.",
        "xp.fft.irfft(xp.asarray([2.0, 0.0])).tolist()",
        "[1.0, 1.0]",
    ),
    "fft.irfftn": Row(
        "Return the real signal of half a spectrum, along several axes.",
        "xp.fft.irfftn(xp.ones((2, 2))).shape",
        "(2, 2)",
    ),
    "fft.rfft": Row(
        "Return half the spectrum of a real signal; the other half mirrors it.",
        "xp.fft.rfft(xp.asarray([1.0, 1.0])).tolist()",
        "[(2+0j), 0j]",
    ),
    "fft.rfftfreq": Row(
        "Return the frequencies of half a spectrum [cycles per unit of `d`].",
        "xp.fft.rfftfreq(4).tolist()",
        "[0.0, 0.25, 0.5]",
    ),
    "fft.rfftn": Row(
        "Return half the spectrum of a real signal, along several axes.",
        "xp.fft.rfftn(xp.ones((2, 2))).shape",
        "(2, 2)",
    ),
}
