"""Floats of 16 bits in kernels: arithmetic, casts and arguments.

Source: IEEE 754, binary16; CUDA Python Specification 0.2, "Type Inference".
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from interchange import cuda
from interchange.cuda.types import HALVES, bfloat16

from .reference_numbers import to_bfloat16

pytestmark = pytest.mark.interop

DTYPES = [np.dtype(type_.name) for type_ in HALVES]
NUMBERS = [
    0.0, -0.0, 1.0, 65504.0, 65519.99, 65520.0, 2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2**-50),
    1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-50, 1 + 2.0**-8, 1 + 2.0**-8 - 2.0**-50, 3e38, 3.4e38, 1e39,
    2.0**-133, 2.0**-134, 2.0**-134 * (1 + 2**-52), np.inf, -np.inf, np.nan, 1e-300, -1e308,
]  # fmt: skip


@cuda.jit
def computed(a, b, out):
    i = cuda.grid(1)
    out[0, i], out[1, i], out[2, i] = a[i] + b[i], a[i] - b[i], a[i] * b[i]
    out[3, i] = -a[i]


@cuda.jit
def stored(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@cuda.jit
def passed(x, out):
    out[0] = x


def is_equal(found, wanted):
    """Return whether numbers are the same, with their signs."""
    with np.errstate(invalid="ignore"):
        one, other = (np.asarray(each).astype(np.float64) for each in (found, wanted))
    return np.array_equal(one, other, equal_nan=True) and np.array_equal(
        np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(other)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_operation_is_rounded_once(dtype):
    """The operands are any bits, infinite and subnormal numbers among them."""
    bits = np.random.default_rng(0).integers(0, 2**16, (2, 4096), np.uint16)
    a, b = bits.view(dtype)
    out = np.zeros((4, 4096), dtype)
    computed[32, 128](a, b, out)

    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        wanted = [(each).astype(np.float32).astype(dtype) for each in (x + y, x - y, x * y, -x)]
    assert is_equal(out, wanted)


def exactly(numbers, dtype):
    """Return numbers rounded once."""
    if dtype.name != "bfloat16":
        with np.errstate(over="ignore"):  # a larger integer is infinite, whatever its rounding
            return np.array(numbers, np.float64).astype(dtype)
    return np.array([to_bfloat16(number) for number in numbers])


@pytest.mark.parametrize("source", [np.float64, np.int64, np.uint64, np.int32])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_cast_is_rounded_once(dtype, source):
    """Of float64 and integers, not through a float32 that is rounded as well."""
    draw = np.random.default_rng(1)
    if source is np.float64:
        wide = np.ldexp(draw.standard_normal(2000), draw.integers(-150, 140, 2000))
        x = np.concatenate([NUMBERS, wide])
    else:
        x = draw.integers(0, 2**63, 2000, np.uint64) >> draw.integers(0, 63, 2000, np.uint64)
        x = np.concatenate([x, x + 1, np.uint64(2) ** np.arange(60, dtype=np.uint64) * 257])
        x = (x * np.uint64(2) + 1 if source is np.uint64 else x).astype(source)
    out = np.zeros(len(x), dtype)
    stored[len(x), 1](x, out)

    assert is_equal(out, exactly(x.tolist(), dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_half_is_an_argument(dtype):
    """Numbers of NumPy and of Python, which a signature rounds."""
    out = np.zeros(1, np.float32)
    passed[1, 1](dtype.type(-1.5), out)

    assert out[0] == -1.5
    type_ = HALVES[DTYPES.index(dtype)]
    typed = cuda.jit(cuda.void(type_, cuda.float32[:]))(passed.__wrapped_kernel__)
    for number in NUMBERS:
        typed[1, 1](number, out)
        assert is_equal(out, exactly([number], dtype))


def test_bits_of_torch_are_halves():
    """A tensor of torch is passed as it is, in both types."""
    torch = pytest.importorskip("torch")
    for type_ in (torch.float16, torch.bfloat16):
        x, out = torch.arange(8).to(type_) / 7, torch.zeros(4, 8, dtype=type_)
        computed[1, 8](x, x, out)

        assert torch.equal(out, torch.stack([x + x, x - x, x * x, -x]))


def test_a_half_is_rounded_where_python_makes_it():
    """cuda.bfloat16(x) is a number of ml_dtypes."""
    assert bfloat16(1.5) == ml_dtypes.bfloat16(1.5)
    assert isinstance(cuda.float16(1), np.float16)
