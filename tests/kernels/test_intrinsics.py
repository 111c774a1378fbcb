"""Intrinsics as rows of the table: their types, and their code on both targets.

Source: PTX ISA 8.8, "mul"; LLVM Language Reference, "llvm.maxnum" and "llvm.readcyclecounter".
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import float64, int32, int64
from interchange.cuda.intrinsics import Intrinsic

from .drawn_kernels import SCOPE, run_reference
from .ptx_kernels import any_ptx
from .reference_numbers import Refused
from .test_differential import assert_same
from .test_rulings import program_of

HIGH = Intrinsic(
    "high", "Return the upper half of a product.", (int32, int32), int32,
    ptx="mul.hi.s32 $0, $1, $2;",
    host=lambda b, x, y: b.ashr(b.mul(x, y), x.type(31)),  # for products of at most 32 bits
    reference=lambda x, y: x * y >> 32,
)  # fmt: skip
LARGER = Intrinsic(
    "larger", "Return the larger number.", (float64, float64), float64,
    ptx="llvm.maxnum.f64", host="fmax", reference=max,
)  # fmt: skip
CLOCK = Intrinsic(
    "clock", "Return the number of cycles.", (), int64,
    ptx="mov.u64 $0, %clock64;", host="llvm.readcyclecounter", is_pure=False,
)  # fmt: skip
RESULTS = {
    "high(a, 7)": (int32, -1),
    "high(a, -7.9)": (int32, 0),
    "larger(a, u[0])": (float64, 0),
    "larger(larger(a, 2.5), u[0])": (float64, 2.5),
}


@pytest.fixture(autouse=True)
def _in_scope(monkeypatch):
    for row in (HIGH, LARGER):
        monkeypatch.setitem(SCOPE, row.name, row)


@pytest.mark.parametrize("call", RESULTS)
def test_a_row_is_computed_by_both_targets_and_the_reference(call):
    """Arguments are cast to the types of the parameters."""
    program = program_of(f"r0 = {call}")._replace(arguments=(np.int32(-5), np.zeros(4, "i8")))

    type_, value = RESULTS[call]

    assert assert_same(program)
    assert run_reference(program, [type_])[1:] == [value]


@pytest.mark.parametrize(
    ("call", "rule"),
    [("high(a)", "CPY-CALL-1"), ("high(a, b=2)", "CPY-CALL-1"), ("high(a, 1j)", "CPY-TYPE-1")],
)
def test_arguments_are_checked_against_the_row(call, rule):
    """The compiler and the reference interpreter refuse the same calls."""
    program = program_of(f"r0 = {call}")

    assert not assert_same(program)
    with pytest.raises(Refused, match=rule):
        run_reference(program, [int32])


def test_an_impure_intrinsic_is_executed_at_every_call_in_order():
    """A pure one whose result is not used is removed."""

    @cuda.jit
    def kernel(out):
        CLOCK()
        out[0] = CLOCK()
        LARGER(1.0, out[0])
        out[1] = CLOCK()

    out = np.zeros(2, "i8")
    kernel[1, 1](out)
    ptx = any_ptx(kernel, cuda.ArrayType(int64, 1, in_c_order=True))

    assert 0 < out[0] <= out[1]
    assert (ptx.count("%clock64"), ptx.count("max.f64")) == (3, 0)


def test_an_intrinsic_has_no_value_outside_of_a_kernel():
    """The error has the name of the row."""
    with pytest.raises(Exception, match=r"cuda\.high\(\).*CPY-NAME-2"):
        HIGH(1, 2)
