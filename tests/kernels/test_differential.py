"""Comparison of kernels with a reference interpreter that is independent of the compiler.

Source: CUDA Python Specification 0.2.  Programs are random text; types and values are compared,
those of machine code for this CPU and of PTX, which is interpreted.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import cuda
from interchange.cuda.debugging import WORDS

from . import reference
from .comparing import is_same, left_by, on_host, wrong
from .drawn import Drawn
from .drawn_kernels import (
    EXPRESSIONS,
    arguments_of,
    arrays_among,
    drawn_cases,
    drawn_program,
    elements_of,
    kernel_of,
    run_reference,
    types_for_any,
    types_of,
)
from .ptx_kernels import ARCHITECTURES, any_ptx, assembled, find_ptxas, leaves
from .ptx_machine import Machine
from .statements import Statements

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::interchange.cuda.KernelWarning"),
]

PROGRAMS = int(os.environ.get("INTERCHANGE_TEST_PROGRAMS", "200"))
"""Numbers of programs in the longest tests, of expressions and of statements."""
PARTS = 50
"""Numbers of programs in these tests."""
KINDS = ("expressions", "statements")


def outcome(act, error):
    """Return the program, or the rule by which it was refused."""
    try:
        return act(), None
    except error as refused:
        return None, getattr(refused, "rule", None) or refused.args[0]


def run_kernel(kernel, program, elements):
    """Return all arrays after a run of the kernel on the CPU."""
    arguments = arguments_of(program, elements)
    kernel[(*program.launch, None, program.dynamic)](*arguments)
    return arrays_among(arguments)


def run_ptx(kernel, program, elements, architecture):
    """Return all arrays after a run of the PTX of the kernel."""
    arguments = arguments_of(program, elements)
    types, checks = types_of(program, elements), program.debug
    machine = Machine(any_ptx(kernel, *types, architecture=architecture, checks=checks))
    report = np.zeros(WORDS, np.int32)
    last = [np.int64(machine.map("global", report))] if checks else []
    grid, block = program.launch
    flat = [leaf for each in arguments for leaf in leaves(each)]
    machine.launch("program", (grid,), (block,), [*flat, *last], program.dynamic)
    assert not report.any(), program.text
    return arrays_among(arguments)


def assert_same(program, architecture="sm_75"):
    """Compare a program's types and its values on both targets; return whether it is valid."""
    kernel = kernel_of(program.text, debug=program.debug)
    elements, refused = outcome(lambda: elements_of(program), reference.Refused)
    typed, why = outcome(lambda: kernel.inspect_types(*types_for_any(program)), cuda.KernelError)
    assert why == refused, f"{program.text}\ncompiler: {why}, reference: {refused}"
    if refused is not None:
        return False
    assert [typed[name] for name in program.results] == [[each] for each in elements], program.text
    assert_arrays_same(program, elements, run_kernel(kernel, program, elements), "CPU")
    on_gpu = run_ptx(kernel, program, elements, architecture)
    assert_arrays_same(program, elements, on_gpu, architecture)
    return True


def assert_arrays_same(program, elements, found, target):
    """Compare the arrays of a target with those of the reference."""
    pairs = zip(program.names, arguments_of(program, elements), strict=True)
    names = [name for name, value in pairs if isinstance(value, np.ndarray)]
    for name, one, other in zip(names, found, run_reference(program, elements), strict=True):
        assert is_same(one, other), (
            f"{program.text}{program.arguments}\n{name}: {target} {one}, reference {other}"
        )


@given(data=st.data(), architecture=st.sampled_from(ARCHITECTURES))
def test_expressions_have_the_types_and_values_of_the_language(data, architecture):
    """These are operators, casts, comparisons, elements and exact functions of all types."""
    assert_same(Statements(Drawn(data.draw, st.integers)).expressions(2), architecture)


@given(data=st.data(), architecture=st.sampled_from(ARCHITECTURES))
def test_statements_do_what_the_language_says(data, architecture):
    """The statements are redefinitions, branches, loops, exits of loops, elements and functions."""
    assert_same(Statements(Drawn(data.draw, st.integers)).program(), architecture)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("what", KINDS)
def test_many_programs_do_what_the_language_says(what, part, record_property):
    """Each program has a number that reproduces it."""
    share = math.ceil(PROGRAMS / PARTS / (EXPRESSIONS if what == "expressions" else 1))
    accepted = 0
    for seed in range(part * share, (part + 1) * share):
        program = drawn_program(what, seed)
        try:
            accepted += assert_same(program, ARCHITECTURES[seed % len(ARCHITECTURES)])
        except Exception as error:
            raise AssertionError(f"{what} {seed}\n{program.text}") from error
    record_property("equal on both targets", accepted)
    record_property("refused alike", share - accepted)


@pytest.mark.parametrize("what", KINDS)
def test_most_programs_are_valid(what):
    """Random programs that are refused show only that both refuse them."""
    programs = [drawn_program(what, seed) for seed in range(100)]
    refused = [outcome(lambda one=one: elements_of(one), reference.Refused)[1] for one in programs]

    assert refused.count(None) > 50


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("what", KINDS)
def test_the_assembler_takes_drawn_programs(what, architecture, tmp_path):
    """There is no warning, whatever LLVM generates."""
    ptxas = find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")

    for seed in range(max(2, PROGRAMS // 100)):
        program = drawn_program(what, seed)
        elements, refused = outcome(lambda program=program: elements_of(program), reference.Refused)
        if refused is None:
            kernel = kernel_of(program.text)
            ptx = any_ptx(kernel, *types_of(program, elements), architecture=architecture)
            messages, size = assembled(ptxas, ptx, architecture, tmp_path)
            assert messages == "", f"{what} {seed}\n{program.text}"
            assert size > 0


@pytest.mark.parametrize("what", KINDS)
def test_a_launcher_finds_what_the_reference_says(what):
    """The launcher of the CPU is tested with the cases for any launcher."""
    cases = list(drawn_cases(what, range(5)))

    for name, text, kernel, case in cases:
        found = left_by(on_host(kernel, case.dynamic), case)
        assert wrong(case, found, case.expected) == [], f"{name}\n{text}"
    assert cases
