"""Functions of math in kernels, compared with NumPy in double precision.

Source: CUDA Python Specification 0.2; CUDA C++ Programming Guide, "Mathematical Functions".
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange.cuda.types import BY_NAME

from .drawn import Program
from .drawn_kernels import kernel_of, run_reference, types_of
from .reference_numbers import ONE_ARGUMENT, TWO_ARGUMENTS
from .test_differential import run_kernel

pytestmark = pytest.mark.interop

ULPS = 4
NUMBERS = (
    -np.inf, -1e30, -300.5, -2.0, -1.0, -0.75, -1e-9, -0.0, 0.0, 1e-30, 0.25, 0.5, 1.0, 1.5, 2.0,
    3.0, 10.0, 88.0, 700.0, 1e5, 16777217.0, 1e18, np.inf, np.nan,
)  # fmt: skip
REALS = [name for name, type_ in BY_NAME.items() if type_.kind != "complex"]


def program_of(one, other):
    """Return a program that calls every function with an element of two arrays."""
    whole = np.nan_to_num(np.array(NUMBERS), posinf=99, neginf=-99)
    with np.errstate(all="ignore"):
        u, v = (whole.astype(type_) for type_ in (one, other))
        for array in (u, v):
            if array.dtype.kind == "f":
                array[:] = NUMBERS
    calls = [f"math.{name}(u[i])" for name in ONE_ARGUMENT]
    calls += [f"math.{name}(u[i], v[j])" for name in TWO_ARGUMENTS]
    results = tuple(f"r{place}" for place in range(len(calls)))
    lines = [f"    {result} = {call}" for result, call in zip(results, calls, strict=True)]
    lines += [f"    o{result}[0] = {result}" for result in results]
    names = ("u", "v", "i", "j", *(f"o{result}" for result in results))
    text = "\n".join([f"def program({', '.join(names)}):", *lines, ""])
    return Program(text, names, (u, v), results)


def is_near(one, other):
    """Return whether two results differ by no more than functions of CUDA C may."""
    if one.dtype.kind != "f":
        return bool(one == other)
    if np.isnan(other) or np.isinf(other):
        return bool(np.isnan(one) == np.isnan(other) and (np.isnan(one) or one == other))
    with np.errstate(all="ignore"):
        return bool(abs(one - other) <= ULPS * np.spacing(abs(other)))


def result_types(*types):
    """Return the types of all results, for functions of one number and of two."""
    wide = [BY_NAME["float64" if width == 64 else "float32"] for width in map(_width, types)]
    widest = max(wide, key=lambda type_: type_.bits)
    of_one = [BY_NAME["bool"] if name.startswith("is") else wide[0] for name in ONE_ARGUMENT]
    return [*of_one, *[widest] * len(TWO_ARGUMENTS)]


def _width(name):
    return BY_NAME[name].bits


@pytest.mark.exhaustive(but=["float32-float32", "float32-bool", "int64-float32", "float64-uint8"])
@pytest.mark.parametrize("one", REALS)
@pytest.mark.parametrize("other", ["float32", "int64", "float64"])
def test_functions_of_math_are_computed_in_the_type_of_a_division(one, other):
    """The error is at most four units in the last place, for all types and at their bounds."""
    drawn, elements = program_of(one, other), result_types(one, other)
    kernel, far = kernel_of(drawn.text), []
    for i in range(len(NUMBERS)):
        j = (i * 7 + 3) % len(NUMBERS)
        program = drawn._replace(arguments=(*drawn.arguments, np.int32(i), np.int32(j)))
        typed = kernel.inspect_types(*types_of(program, elements))
        assert [typed[name] for name in program.results] == [[element] for element in elements]
        found = run_kernel(kernel, program, elements)[2:]
        wanted = run_reference(program, elements)[2:]
        names = (*ONE_ARGUMENT, *TWO_ARGUMENTS)
        for name, got, right in zip(names, found, wanted, strict=True):
            if not is_near(got[0], right[0]):
                far.append((name, i, j, got[0], right[0]))
    assert far == []
