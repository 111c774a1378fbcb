"""The types of results, variables and attributes follow the specification."""

from __future__ import annotations

import math

import pytest

from interchange.cuda import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    intp,
    uint8,
    uint32,
    uint64,
)
from interchange.cuda.source import Source
from interchange.cuda.statements import typed_program
from interchange.cuda.types import SCALARS, ArrayType

from .test_sources import defined

BASIC = {
    (int8, int8): int8, (int8, int16): int16, (int16, int16): int16, (int32, int32): int32,
    (int32, int64): int64, (uint8, int8): uint8, (int32, uint32): uint32, (uint32, int64): int64,
    (int64, uint64): uint64, (bool_, int8): int8, (bool_, bool_): int32, (int16, float32): float32,
    (int64, float32): float32, (float32, float64): float64, (complex64, complex64): complex64,
    (complex128, complex128): complex128, (complex64, complex128): complex128,
    (complex64, float64): complex128, (complex64, int64): complex64, (float16, int64): float16,
    (float16, bfloat16): float32, (float16, complex64): complex64, (bfloat16, float64): float64,
}  # fmt: skip


def types_of(text, **arguments):
    """Return the types that a name has in a kernel, the last first."""
    lines = [f"def kernel({', '.join(arguments)}):", *(f"    {line}" for line in text.split("\n"))]
    function = defined("\n".join([*lines, ""]), math=math, scale=2.5)
    program = typed_program(Source(function), list(arguments.values()))
    return [slot.type for slot in program.variables["r"]]


def type_of(expression, **arguments):
    """Return the type of an expression."""
    return types_of(f"r = {expression}", **arguments)[-1]


@pytest.mark.parametrize("operator", ["+", "-", "*"])
@pytest.mark.parametrize("pair", BASIC, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_basic_operators_give_the_most_generic_type(pair, operator):
    """The result does not depend on the order of the operands."""
    a, b = pair

    assert type_of(f"a {operator} b", a=a, b=b) is BASIC[pair]
    assert type_of(f"b {operator} a", a=a, b=b) is BASIC[pair]


@pytest.mark.parametrize(
    ("operator", "a", "b", "wanted"),
    [
        ("//", int8, int8, int32), ("//", int16, int32, int32), ("//", int64, int8, int64),
        ("//", uint8, uint8, int32), ("//", uint64, int8, uint64), ("//", float32, float32, int32),
        ("//", float64, int8, int64), ("//", int64, float32, int32), ("/", int8, int8, float32),
        ("/", int16, int32, float32), ("/", int32, int64, float64), ("/", float32, int32, float32),
        ("/", float32, int64, float64), ("/", bool_, bool_, float32),
    ],
)  # fmt: skip
def test_a_quotient_has_32_bits_at_least(operator, a, b, wanted):
    """``//`` gives an integer as wide as the computation, ``/`` a float as wide as the widest."""
    assert type_of(f"a {operator} b", a=a, b=b) is wanted


@pytest.mark.parametrize("operator", ["&", "|", "^", "<<", ">>"])
def test_bitwise_operators_keep_integers(operator):
    """The result has the most generic type of the two."""
    assert type_of(f"a {operator} b", a=int8, b=int8) is int8
    assert type_of(f"a {operator} b", a=int8, b=int32) is int32


def test_literals_are_as_wide_as_an_address():
    """A variable that is given a literal is int64, or uint64 for larger ones."""
    texts = ("1", "2147483647", "-2147483648", "2147483648", "9223372036854775808", "1.0", "1j")
    wanted = [int64, int64, int64, int64, uint64, float64, complex128]

    assert [type_of(text) for text in texts] == wanted
    assert type_of("True") is bool_


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
def test_a_type_is_a_cast(scalar):
    """Every cast is valid except from complex to real."""
    assert type_of(f"cuda.{'bool_' if scalar is bool_ else scalar}(a)", a=int32) is scalar


def test_attributes_of_arrays_are_as_wide_as_an_address():
    """Elements have the element type."""
    a = ArrayType(int16, 2)
    texts = ("a.shape[0]", "a.strides[1]", "a.size", "a.ndim", "len(a)", "cuda.grid(1)")

    assert {type_of(text, a=a) for text in texts} == {intp}
    assert type_of("a[0, 1]", a=a) is int16
    assert type_of("cuda.threadIdx.x") is int32


def test_a_name_may_be_redefined_outside_of_loops():
    """The name is then a different variable."""
    assert types_of("r = cuda.int32(1)\nr = 2.5\nr = cuda.int8(3)") == [int32, float64, int8]


@pytest.mark.filterwarnings("ignore::interchange.cuda.KernelWarning")
@pytest.mark.parametrize("loop", ["for i in range(3):", "while n > 0:"])
def test_in_a_loop_a_name_keeps_its_type(loop):
    """The type is that of the block before the loop."""
    assert types_of(f"r = cuda.int32(1)\n{loop}\n    r = r + 0.75", n=int32) == [int32]


def test_two_branches_join_in_the_most_generic_type():
    """Each branch has its own type before."""
    text = "if n > 0:\n    r = 1\nelse:\n    r = 2.5"

    assert types_of(text, n=int32) == [int64, float64, float64]


def test_math_promotes_as_a_division_does():
    """float32 keeps its width."""
    wanted = {int8: float32, int64: float64, float32: float32, float64: float64}

    assert {type_: type_of("math.sin(a)", a=type_) for type_ in wanted} == wanted
    assert type_of("math.pow(a, b)", a=float32, b=int64) is float64
    assert type_of("math.isnan(a)", a=float32) is bool_


def test_constants_of_the_program_around_are_numbers():
    """Constants are read when the kernel is compiled."""
    assert type_of("scale") is float64
    assert type_of("math.pi") is float64


def test_two_parts_make_a_complex_number():
    """The parts can be read again."""
    assert type_of("cuda.complex64(1, 2.5)") is complex64
    assert type_of("a.imag", a=complex64) is float32


def test_comparisons_and_conditions_are_bools():
    """This includes chained comparisons."""
    for text in ("a < 1", "0 < a <= 2", "not a", "a < 1 and 2 < a", "~(a < 1)", "(a < 1) & True"):
        assert type_of(text, a=int32) is bool_


def test_and_or_have_the_most_generic_type_of_their_operands():
    """A conditional expression has the same type."""
    assert type_of("a and 2.5", a=int32) is float64
    assert type_of("a or a", a=int8) is int8
    assert type_of("a < 1 and a or 2", a=int8) is int32


def test_a_number_of_the_hardware_may_be_advanced_in_a_loop():
    """It is an ordinary number."""
    text = "r = cuda.threadIdx.x\nwhile r < 100:\n    r += cuda.blockDim.x"

    assert types_of(text) == [int32]


def test_arrays_have_an_axis_where_they_are_written_by_index():
    """float32[()] has no axes."""
    with pytest.raises(TypeError, match="one ':' per axis"):
        float32[()]
