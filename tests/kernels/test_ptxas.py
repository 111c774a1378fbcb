"""PTX is written in a form that NVIDIA's assembler translates correctly.

Source: ptxas 13.0, which translated the forms that are searched for here incorrectly on an H100.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda.llvm.ptx import to_ptx
from interchange.cuda.llvm.ptxas import widen
from interchange.cuda.types import int16, int32, int64, uint16

from .ptx_kernels import ARCHITECTURES, assembled, find_ptxas, unlinked_ptx
from .ptx_machine import Machine

pytestmark = pytest.mark.interop

NARROW = re.compile(r"\b(min|max)\.[su]16\b")
NUMBERS = (-(2**15), -300, -1, 0, 1, 7, 9, 300, 2**15 - 1)


@cuda.jit
def lesser(a, b, out):
    c = a if a < b else b  # noqa: FURB136 - kernels have no min
    if c == b:
        out[0] = 1
    out[1] = c


@pytest.mark.parametrize("type_", [int16, uint16])
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_no_extreme_of_16_bits_is_left(type_, architecture):
    """From sm_90 on, comparisons of its result would use the wrong bits."""
    text = to_ptx(lesser.typed(type_, type_, int32[::1]), architecture)

    assert "wide0" in text
    assert NARROW.search(text) is None


CODE = """
.version 7.8
.target sm_90
.address_size 64

.visible .entry run(
	.param .u64 .ptr .global .align 2 run_param_0,
	.param .u64 run_param_1,
	.param .u64 run_param_2
)
{{
	.reg .b16 	%rs<4>;
	.reg .b64 	%rd<2>;

	ld.param.b64 	%rd1, [run_param_0];
	ld.global.b16 	%rs1, [%rd1];
	ld.global.b16 	%rs2, [%rd1+2];
	{name}.{sign}16 	%rs3, %rs1, {operand};
	st.global.b16 	[%rd1+4], %rs3;
	ret;
}}
"""


@pytest.mark.parametrize("right", NUMBERS)
@pytest.mark.parametrize("is_register", [True, False], ids=["a register", "a number"])
@pytest.mark.parametrize("sign", ["s", "u"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_an_extreme_in_32_bits_is_the_same(name, sign, is_register, right):
    """The results are equal for every pair, also with a negated operand."""
    operand = "%rs2" if is_register else str(right)
    text = widen(CODE.format(name=name, sign=sign, operand=operand))
    machine = Machine(text)
    dtype = {"s": np.int16, "u": np.uint16}[sign]
    for left in NUMBERS:
        x = np.array([left, right, 0], np.int16).view(dtype)
        machine.launch("run", (1,), (1,), [x])

        assert x[2] == {"min": np.minimum, "max": np.maximum}[name](x[0], x[1])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "code", ["neg.s16 \t%rs3, %rs1", "sub.s16 \t%rs3, 0, %rs1", "abs.s16 \t%rs3, %rs1"]
)
def test_a_sign_in_32_bits_is_the_same(code, number):
    """The negation of the lowest number is itself."""
    text = CODE.format(name="max", sign="s", operand="%rs2")
    text = widen(re.sub(r"max\.s16 \t[^;]*", code, text))
    x = np.array([number, 0, 0], np.int16)
    Machine(text).launch("run", (1,), (1,), [x])

    assert "wide0" in text
    assert x[2] == (np.abs(x) if code.startswith("abs") else -x)[0]


@cuda.jit
def opposite(x, out):
    y = -x
    out[0] = y
    out[1] = 1 if y < 5 else 0


def test_no_sign_of_16_bits_is_changed():
    """The result would be taken for a number that does not fit 16 bits, on every GPU."""
    text = to_ptx(opposite.typed(int16, int64[::1]), "sm_90")

    assert "wide0" in text
    assert re.search(r"\b(neg|abs)\.s16\b", text) is None


def test_other_text_stays_as_it_is():
    """Similar names and other widths are not changed."""
    text = "\tmax.s32 \t%r1, %r2, %r3;\n\tmax.s16x2 \t%r1, %r2, %r3;\n\tmax.f16 \t%rs1, %rs2, %rs3;"

    assert widen(text) == text


@cuda.jit(device=True, inline="never")
def scaled(x, i):
    """Write an element of an array, and return its new value less one."""
    x[i] = x[i] * 3 + 1
    return x[i] - 1


@cuda.jit(device=True, inline="never")
def pair_sum(value):
    """Exchange numbers with another lane."""
    return value + cuda.shfl_xor_sync(0xFFFFFFFF, value, 1)


def of_functions(x, out):
    """The branches before and after the exchange are chosen by the same number."""
    i = cuda.grid(1)
    kind = 0
    if x[i] > 0:
        out[i] = scaled(x, i)
        kind = 1
    total = pair_sum(x[i])
    out[i] += total if kind == 1 else 2 * total


@pytest.mark.parametrize(
    "options",
    [{"max_registers": 24}, {"launch_bounds": (128, 4)}, {"launch_bounds": (128, 4, 2)},
     {"launch_bounds": 64, "max_registers": 32}],
)  # fmt: skip
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_directives_of_kernels_that_call_functions_are_assembled(options, architecture, tmp_path):
    """They are those of the kernel, and an architecture without clusters has none for them."""
    ptxas = find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    kernel = cuda.jit(of_functions, **options)
    text = kernel.inspect_ptx(int32[::1], int32[::1], architecture=architecture)
    has_clusters = int(architecture[3:]) >= 90 and options.get("launch_bounds") == (128, 4, 2)

    assert ".func" in text
    assert (".maxclusterrank 2" in text) is has_clusters
    assert assembled(ptxas, text, architecture, tmp_path)[0] == ""


def test_functions_that_wait_for_lanes_are_no_functions_of_ptx():
    """LLVM knows that shuffles must not be moved into a branch, and would not know it of calls."""
    text = unlinked_ptx(cuda.jit(of_functions), int32[::1], int32[::1])
    kernel = text.split(".entry of_functions")[1]

    assert "pair_sum" not in text
    assert "scaled" in text
    assert kernel.count("shfl.sync") == 1
    x = np.arange(-16, 16, dtype=np.int32)
    given, out = x.copy(), np.zeros(32, np.int32)
    Machine(text).launch("of_functions", (1,), (32,), [given, out])
    y = np.where(x > 0, 3 * x + 1, x)
    total = y + y[np.arange(32) ^ 1]

    assert given.tolist() == y.tolist()
    assert out.tolist() == np.where(x > 0, y - 1 + total, 2 * total).tolist()
