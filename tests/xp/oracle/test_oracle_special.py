"""Special cases that the standard writes down, held against its text and not against a library.

Source: array API standard 2025.12; for complex numbers, which it defines as C99 does, Python's own
`cmath` is the second oracle.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from xp_oracle.special import OF_A_NAN, OF_NOTHING, ONE, TWO
from xp_oracle.worlds import OURS, STRICT, Arr

CASES = [(path, *case) for table in (ONE, TWO) for path, cases in table.items() for case in cases]
ROUND = {"float32": 1e-6, "float64": 1e-15}


def same(one, other, close):
    """Whether two numbers are one: both NaN, or close and with the same sign."""
    if isinstance(other, bool) or math.isnan(other):
        return bool(one) is other if isinstance(other, bool) else math.isnan(one)
    signs = math.copysign(1, one) == math.copysign(1, other)
    return signs and math.isclose(one, other, rel_tol=close, abs_tol=0)


@pytest.mark.parametrize("dtype", ROUND)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_special_case_is_as_the_standard_says(case, dtype):
    """Special cases hold in arrays of one element and of many.

    NumPy computes these in different ways.
    """
    path, *given, expected = case
    for shape in ((), (9,)):
        arrays = [Arr(np.full(shape, one, dtype)) for one in given]
        ours = OURS.call(path, *arrays).value.values

        assert all(same(one, expected, ROUND[dtype]) for one in ours.flat), (ours, expected)


@pytest.mark.parametrize("path", OF_NOTHING)
def test_a_reduction_of_nothing_is_as_the_standard_says(path):
    """The neutral element, or NaN."""
    found = OURS.call(path, Arr(np.ones((0,)))).value.values

    assert same(found.item(), OF_NOTHING[path], 0)


@pytest.mark.parametrize("path", OF_A_NAN)
def test_one_nan_makes_a_reduction_nan(path):
    """One NaN makes a reduction NaN, at any position."""
    for place in range(3):
        values = np.ones(3)
        values[place] = np.nan

        assert math.isnan(OURS.call(path, Arr(values)).value.values.item())


# ---------------------------------------------------------------- complex numbers

COMPLEX = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10"),
    *("sin", "sinh", "sqrt", "tan", "tanh"),
)
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan)
GRID = [complex(real, imaginary) for real in PARTS for imaginary in PARTS]


def by_python(path, number):
    """Return the result of `cmath`, or nothing if it raises."""
    try:
        return getattr(cmath, path)(number)
    except (ValueError, OverflowError):
        return None


def parts_agree(one, other):
    """Whether two parts are the same number, ignoring the sign where C99 leaves it open."""
    if math.isnan(other) or math.isnan(one):
        return math.isnan(other) and math.isnan(one)
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)


@pytest.mark.parametrize("path", COMPLEX)
def test_a_function_of_complex_numbers_is_as_in_c99(path):
    """Complex functions agree with C99 on a grid of zeros, ones, infinities and NaN.

    Where NumPy does not, they agree with NumPy.
    """
    for number in GRID:
        x = Arr(np.asarray(number))
        theirs, ours = (world.call(path, x).value.values.item() for world in (STRICT, OURS))
        expected = by_python(path, number)
        if expected is None:
            expected = theirs

        agreed = [
            parts_agree(ours.real, one.real) and parts_agree(ours.imag, one.imag)
            for one in (expected, theirs)
        ]
        assert any(agreed), f"{path}({number}) is {ours}, not {expected}"


@pytest.mark.parametrize("path", COMPLEX)
def test_a_function_of_complex_numbers_keeps_to_its_symmetry(path):
    """The result for a conjugate is the conjugate of the result."""
    for number in GRID:
        if not cmath.isfinite(number) or not number.imag:
            continue
        one, other = (
            OURS.call(path, Arr(np.asarray(each))).value.values.item()
            for each in (number, number.conjugate())
        )

        assert parts_agree(one.real, other.real)
        assert parts_agree(one.imag, -other.imag)
