"""`xp.float16`: an extension of the standard's element types."""

from __future__ import annotations

import math

import numpy as np
import pytest

import interchange as ix
from interchange import xp


@pytest.fixture
def half():
    """Return an Array of half precision."""
    return xp.asarray([0.5, 1.5, 2.5], dtype=xp.float16)


def test_it_is_the_type_of_arrays_of_half_precision():
    """The name is the type that such arrays have already."""
    assert xp.float16 is ix.asarray(np.zeros(2, "f2")).dtype
    assert "float16" in xp.__all__


def test_it_is_not_among_the_types_of_the_standard():
    """Array-agnostic code loops over these."""
    assert "float16" not in xp.__array_namespace_info__().dtypes()
    assert "float16" not in xp.__array_namespace_info__().dtypes(kind="real floating")


@pytest.mark.parametrize("kind", ["real floating", "numeric", xp.float16, ("bool", xp.float16)])
def test_it_is_of_the_kinds_of_real_numbers(kind):
    """As the other floating-point types."""
    assert xp.isdtype(xp.float16, kind)


@pytest.mark.parametrize("kind", ["integral", "complex floating", "bool", xp.float32])
def test_it_is_of_no_other_kind(kind):
    """And it is no other type."""
    assert not xp.isdtype(xp.float16, kind)


def test_its_limits_are_those_of_numpy(half):
    """For the type, and for arrays of it."""
    wanted = np.finfo(np.float16)

    for found in (xp.finfo(xp.float16), xp.finfo(half)):
        assert (found.bits, found.dtype) == (16, xp.float16)
        assert found[1:5] == (wanted.eps, wanted.max, wanted.min, wanted.smallest_normal)


@pytest.mark.parametrize("create", [xp.zeros, xp.ones, xp.empty])
def test_arrays_of_it_are_created(create):
    """With `dtype`."""
    assert create((2, 3), dtype=xp.float16).dtype is xp.float16


def test_it_is_promoted_as_by_numpy():
    """The backend decides."""
    for name in ("int8", "float16", "float32", "float64", "complex64"):
        wanted = np.result_type(np.float16, name)
        assert xp.result_type(xp.float16, ix.DType.of(name)) == wanted.name
    assert xp.can_cast(xp.float16, xp.float32)
    assert not xp.can_cast(xp.float32, xp.float16)


def test_functions_keep_it(half):
    """Arithmetic, functions and reductions have results of the same type."""
    native = np.asarray(half)

    for found, wanted in [
        (half + half, native + native),
        (half * 2.0, native * 2.0),
        (xp.sin(half), np.sin(native)),
        (xp.sum(half), np.sum(native)),
        (xp.mean(half), np.mean(native)),
        (xp.sort(half, descending=True), native[::-1]),
        (xp.matmul(half, half), native @ native),
    ]:
        assert found.dtype is xp.float16
        assert np.array_equal(np.asarray(found), wanted)


def test_numbers_are_cast_to_it():
    """Numbers beyond its range are infinite."""
    with np.errstate(over="ignore"):
        found = xp.astype(xp.asarray([0.1, 1e5]), xp.float16)

    assert found.tolist() == [float(np.float16(0.1)), math.inf]
