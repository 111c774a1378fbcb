"""What kernels compute, beside a reader of the language that was written apart from the compiler.

Source: CUDA Python Specification 0.2.  Programs are drawn as text; types and values are compared.
"""

from __future__ import annotations

import linecache
import math
import os

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import cuda
from interchange.cuda.types import BY_NAME, SCALARS, ArrayType, complex128

from . import reference
from .drawn import Choices, Drawn
from .statements import Statements

pytestmark = pytest.mark.interop

SCOPE = {
    "math": math,
    "cuda": cuda,
    **{type_.name: type_ for type_ in SCALARS if type_.kind != "bool"},
    "bool_": BY_NAME["bool"],
}
EXPRESSIONS = 8
"""In one kernel."""
PROGRAMS = int(os.environ.get("INTERCHANGE_TEST_PROGRAMS", "10000"))
"""How many the longest tests run, of expressions and of statements."""
PARTS = 20
"""Of these tests."""


def kernel_of(text, *, debug=False):
    """Return the kernel of a text, whose lines Python knows."""
    file = "<drawn program>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {**SCOPE, "__name__": "drawn"}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - drawn here
    return cuda.jit(debug=debug)(scope["program"])


def type_of(value):
    """Return the type of an argument."""
    element, in_c_order = BY_NAME[str(value.dtype)], value.flags.c_contiguous
    return ArrayType(element, value.ndim, in_c_order) if value.ndim else element


def laid_out(value, *, strided):
    """Return a copy of an array, in C order or backwards with gaps; of a number itself."""
    if not value.ndim or not strided:
        return value.copy()
    room = np.zeros([2 * length for length in value.shape], value.dtype)
    found = room[(slice(None, None, -2),) * value.ndim]
    found[...] = value
    return found


def arguments_of(program, elements):
    """Return fresh arguments, those for results at the end."""
    given = [laid_out(value, strided=program.strided) for value in program.arguments]
    return [*given, *(np.zeros(1, element.name) for element in elements)]


def types_of(program, elements):
    """Return the types of all arguments, with those of the results."""
    return tuple(map(type_of, arguments_of(program, elements)))


def outcome(act, error):
    """Return what was read, or the rule by which it was refused."""
    try:
        return act(), None
    except error as refused:
        return None, getattr(refused, "rule", None) or refused.args[0]


def run_reference(program, elements):
    """Return all arrays after the reference ran, and its numbers of results."""
    types, arguments = types_of(program, elements), arguments_of(program, elements)
    reader = reference.read(program.text, "program", types, SCOPE)
    reference.run(reader, program.names, types, arguments)
    return [value for value in arguments if value.ndim]


def run_kernel(kernel, program, elements):
    """Return all arrays after the kernel ran on the CPU."""
    arguments = arguments_of(program, elements)
    kernel[1, 1](*arguments)
    return [value for value in arguments if value.ndim]


def assert_same(program):
    """Compare a program's types and values; return whether it is in the language."""
    kernel = kernel_of(program.text, debug=program.debug)
    unknown = types_of(program, [complex128] * len(program.results))  # stores any number
    read, refused = outcome(
        lambda: reference.read(program.text, "program", unknown, SCOPE), reference.Refused
    )
    typed, why = outcome(lambda: kernel.inspect_types(*unknown), cuda.KernelError)
    assert why == refused, f"{program.text}\ncompiler: {why}, reference: {refused}"
    if refused is not None:
        return False
    found = {name: typed[name] for name in program.results}
    expected = {name: [read.defined[name]] for name in program.results}
    assert found == expected, program.text
    elements = [read.defined[name] for name in program.results]
    arrays = run_kernel(kernel, program, elements)
    for name, one, other in zip(
        [name for name in program.names if name[0] in "uo"],
        arrays,
        run_reference(program, elements),
        strict=True,
    ):
        assert same_numbers(one, other), (
            f"{program.text}{program.arguments}\n{name}: compiler {one}, reference {other}"
        )
    return True


def same_numbers(one, other):
    """Whether two arrays hold the same bits; one that is no number is as good as another."""
    if one.dtype.kind == "c":
        return same_numbers(one.real, other.real) and same_numbers(one.imag, other.imag)
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    same_sign = np.signbit(one) == np.signbit(other)
    return bool((np.isnan(one) & np.isnan(other) | ((one == other) & same_sign)).all())


@given(data=st.data())
def test_expressions_have_the_types_and_values_of_the_language(data):
    """Operators, casts, comparisons, elements and exact functions, of numbers of all types."""
    assert_same(Statements(Drawn(data.draw, st.integers)).expressions(2))


@given(data=st.data())
def test_statements_do_what_the_language_says(data):
    """Redefinitions, branches, loops, ways out of them, elements, and functions."""
    assert_same(Statements(Drawn(data.draw, st.integers)).program())


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("what", ["expressions", "statements"])
def test_many_programs_do_what_the_language_says(what, part):
    """Each is found again by its number; most are in the language."""
    share = PROGRAMS // PARTS // (EXPRESSIONS if what == "expressions" else 1)
    accepted = 0
    for seed in range(part * share, (part + 1) * share):
        drawn = Statements(Choices(seed))
        program = drawn.expressions(EXPRESSIONS) if what == "expressions" else drawn.program()
        try:
            accepted += assert_same(program)
        except Exception as error:
            raise AssertionError(f"{what} {seed}\n{program.text}") from error
    assert accepted >= share // 2
