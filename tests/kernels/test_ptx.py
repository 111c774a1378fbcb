"""PTX of kernels: NVIDIA's assembler accepts it, and its results are those of the CPU and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from interchange import cuda
from interchange._types.errors import ArgumentError
from interchange.cuda.calls import MATH

from .comparing import left_by, on_host, ulps, wrong
from .programs import PROGRAMS, Case, types_of
from .ptx_kernels import ARCHITECTURES, assembled, find_ptxas, unlinked_ptx
from .ptx_library import FUNCTIONS
from .ptx_machine import Machine, MachineError
from .ptx_types import UnknownOpcodeError

pytestmark = pytest.mark.interop

OF_ONE = (
    "acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp expm1 fabs log log10 log1p"
)
OF_ONE += " sqrt ceil floor exp2 log2 cbrt erf erfc gamma lgamma"
OF_TWO = "atan2 pow copysign fmod hypot remainder nextafter"
COMPUTED = {"trunc", "isnan", "isinf", "isfinite"}
MOST_ULPS = 4


@pytest.fixture(scope="module")
def ptxas():
    """Path of NVIDIA's assembler."""
    return find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for the files of the assembler."""
    return tmp_path_factory.mktemp("ptx")


def linked_ptx(kernel, *types, architecture="sm_75"):
    """Return the PTX of a kernel; skip the test if libdevice is needed and missing."""
    try:
        return kernel.inspect_ptx(*types, architecture=architecture)
    except ArgumentError as error:
        pytest.skip(str(error))


def kernel_of(function, count):
    """Return a kernel that applies a function of math."""

    @cuda.jit
    def of_one(x, y):
        i = cuda.grid(1)
        y[i] = function(x[i])

    @cuda.jit
    def of_two(x, y):
        i = cuda.grid(1)
        y[i] = function(x[i], y[i])

    return of_one if count == 1 else of_two


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_assembler_takes_a_program(name, architecture, ptxas, folder):
    """The PTX of every program is assembled for every architecture without a warning."""
    program = PROGRAMS[name]
    types = types_of(program.make(program.size).arguments)
    text = linked_ptx(program.kernel, *types, architecture=architecture)
    messages, size = assembled(ptxas, text, architecture, folder)

    assert messages == ""
    assert size > 0


@pytest.mark.parametrize("architecture", ["sm_75", "sm_120"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_the_same_in_ptx_on_the_cpu_and_in_numpy(name, architecture):
    """The bits are the same, except for the last few of math functions."""
    program = PROGRAMS[name]
    case = program.make(program.size)
    text = unlinked_ptx(program.kernel, *types_of(case.arguments), architecture=architecture)
    machine = Machine(text)

    on_gpu = left_by(lambda *launch: machine.launch(name, *launch), case)
    on_cpu = left_by(on_host(program.kernel), case)

    assert wrong(case, on_gpu, on_cpu) == []
    assert wrong(case, on_cpu, case.expected) == []


def test_a_program_of_math_computes_the_same_when_it_is_linked():
    """The math functions are those of a GPU, inlined."""
    program = PROGRAMS["black_scholes"]
    case = program.make(program.size)
    machine = Machine(linked_ptx(program.kernel, *types_of(case.arguments)))

    on_gpu = left_by(lambda *launch: machine.launch("black_scholes", *launch), case)

    assert wrong(case, on_gpu, case.expected) == []
    assert not any(opcode.startswith("call") for opcode in machine.opcodes)


@pytest.mark.parametrize("name", ["stencil", "matrix_product", "saxpy"])
def test_strides_are_followed_in_ptx(name):
    """Arrays with gaps and with negative strides give the same results."""
    program = PROGRAMS[name]
    case = program.make(program.size)
    apart = tuple(
        np.repeat(each, 2, axis=-1)[..., ::-2] if isinstance(each, np.ndarray) else each
        for each in case.arguments
    )
    backwards = {place: array[..., ::-1] for place, array in case.expected.items()}
    machine = Machine(linked_ptx(program.kernel, *types_of(apart)))
    for there, given in zip(apart, case.arguments, strict=True):
        if isinstance(given, np.ndarray):
            there[...] = given

    machine.launch(name, case.grid, case.block, apart)

    found = {place: apart[place] for place in backwards}
    assert wrong(case, found, case.expected) == []


def test_complex_numbers_are_aligned_as_their_parts_are():
    """An array may start at the alignment of a part: a GPU loads the number in two parts."""
    case = PROGRAMS["fourier"].make(PROGRAMS["fourier"].size)
    machine = Machine(linked_ptx(PROGRAMS["fourier"].kernel, *types_of(case.arguments)))
    x = np.frombuffer(bytearray(case.arguments[0].nbytes + 4), np.complex64, offset=4)
    x[:] = case.arguments[0]

    machine.launch("fourier", case.grid, case.block, (x, *case.arguments[1:]))

    assert wrong(case, {0: x}, case.expected) == []


# ---------------------------------------------------------------- functions of math


def arguments_of_math(dtype):
    """Return numbers of every size and sign, and all special values."""
    rng = np.random.default_rng(17)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -2.5, 1e30, 1e-30, -1e10, 88.5]
    parts = (rng.uniform(-1, 1, 8), rng.normal(size=6) * 50, rng.uniform(1, 1000, 5), special)
    return np.concatenate(parts).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*OF_ONE.split(), *OF_TWO.split()])
def test_a_function_of_math_is_as_close_on_a_gpu(name, dtype):
    """The results are within a few units in the last place of those of the C library."""
    kernel = kernel_of(getattr(math, name), 2 if name in OF_TWO.split() else 1)
    x = arguments_of_math(dtype)
    on_cpu, on_gpu = x[::-1].copy(), x[::-1].copy()
    machine = Machine(linked_ptx(kernel, *types_of((x, on_gpu))))

    kernel[1, x.size](x, on_cpu)
    machine.launch(kernel.__name__, (1,), (x.size,), (x, on_gpu))

    is_near_root = name == "lgamma" and dtype is np.float64  # where libdevice has no bound
    assert ulps(on_gpu, on_cpu) <= MOST_ULPS * (2 if is_near_root else 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_square_root_and_a_quotient_are_rounded_correctly(dtype):
    """The results follow IEEE 754 instead of the fast approximation of the hardware."""

    @cuda.jit
    def inverse_roots(x, y):
        i = cuda.grid(1)
        y[i] = x[i] / math.sqrt(y[i])

    opcodes = Machine(unlinked_ptx(inverse_roots, *types_of((np.ones(1, dtype),) * 2))).opcodes

    bits = 8 * np.dtype(dtype).itemsize
    assert {f"sqrt.rn.f{bits}", f"div.rn.f{bits}"} <= opcodes
    assert not any("approx" in opcode for opcode in opcodes)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_a_shift_by_the_width_or_more_shifts_everything_out(dtype):
    """A GPU only uses the lower half of the shift count, which may be smaller."""

    @cuda.jit
    def shifts(x, n, out):
        i = cuda.grid(1)
        out[i, 0] = x[i] << n[i]
        out[i, 1] = x[i] >> n[i]

    limits = np.iinfo(dtype)
    n = np.array(
        [1, limits.bits, limits.max, limits.max - 1, limits.min, limits.max // 2 + 1], dtype
    )
    x = np.full(n.size, limits.max // 3, dtype)
    expected = np.zeros((n.size, 2), dtype)
    expected[n == 0] = x[0]
    expected[n == 1] = x[0] << dtype(1), x[0] >> dtype(1)
    case = Case((1,), (n.size,), (x, n, np.zeros_like(expected)), {2: expected})
    machine = Machine(linked_ptx(shifts, *types_of(case.arguments)))

    on_gpu = left_by(lambda *launch: machine.launch("shifts", *launch), case)
    on_cpu = left_by(lambda grid, block, given: shifts[grid, block](*given), case)

    assert wrong(case, on_gpu, case.expected) == []
    assert wrong(case, on_cpu, case.expected) == []


# ---------------------------------------------------------------- the interpreter

HEAD = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 .ptr .global .align 4 run_param_0, .param .u64 n, .param .u64 s)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 16 .b8 held[16];
    ld.param.b64 %rd1, [run_param_0];
    mov.u32 %r1, %tid.x;
    """


def run(body, threads=2):
    """Run instructions over four ints, and return the ints."""
    x = np.arange(4, dtype=np.int32)
    Machine(HEAD + body + "\nret;\n}\n").launch("run", (1,), (threads,), (x,))
    return x.tolist()


def test_a_thread_stores_what_it_loads():
    """The value is stored in the memory of the array, at the thread's index."""
    body = """mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;
    ld.global.v2.b32 {%r2, %r3}, [%rd3]; st.global.v2.b32 [%rd3], {%r3, %r2};"""

    assert run(body) == [1, 0, 3, 2]


def test_a_parameter_of_a_kernel_has_an_address():
    """LLVM takes the address if one of two parameters is loaded."""
    body = """mov.b64 %rd2, n; add.s64 %rd3, %rd2, 4; setp.eq.s32 %p1, %r1, 0;
    selp.b64 %rd2, %rd2, %rd3, %p1; ld.param.b32 %r2, [%rd2];
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.b32 [%rd3], %r2;"""

    assert run(body) == [4, 0, 2, 3]  # both halves of the array's length


@pytest.mark.parametrize("opcode", ["div.u32", "rem.u32", "div.s32", "rem.s32"])
def test_a_quotient_by_zero_is_computed_where_it_is_not_used(opcode):
    """LLVM moves a division ahead of a branch: a GPU returns some number, and continues."""
    body = f"mov.b32 %r2, 0; {opcode} %r3, %r1, %r2; st.global.b32 [%rd1+12], %r2;"

    assert run(body) == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("st.global.b32 [%rd1+16], %r1;", "out of bounds"),
        ("ld.global.b32 %r2, [%rd1+-4];", "out of bounds"),
        ("ld.global.b32 %r2, [%rd1+2];", "not aligned"),
        ("ld.global.v2.b32 {%r2, %r3}, [%rd1+4];", "not aligned"),
        ("ld.shared.b32 %r2, [%rd1];", "nothing is there"),
        ("mov.b64 %rd2, held; st.shared.b32 [%rd2+16], %r1;", "out of bounds"),
        ("setp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L;\nbar.sync 0;\n$L:", "some threads wait"),
    ],
)
def test_what_a_gpu_would_not_report_is_an_error(body, what):
    """Access outside of memory or misaligned, and a barrier that not all threads reach."""
    with pytest.raises(MachineError, match=what):
        run(body)


@pytest.mark.parametrize(
    "opcode", ["tex.1d.v4.f32.s32", "add.sat.s32", "mul.s32", "cvt.rn.f16.f32", "bar.arrive"]
)
def test_an_opcode_that_is_not_known_is_refused_by_its_name(opcode):
    """It is refused when the kernel is read, even if the instruction is not reached."""
    with pytest.raises(UnknownOpcodeError, match=opcode.replace(".", r"\.")):
        run(f"bra $L;\n{opcode} %r2, %r1, %r1;\n$L:")


def test_every_function_of_math_has_a_stand_in():
    """The replacements have both precisions, so that kernels run without libdevice."""
    names = {{"gamma": "tgamma"}.get(name, name) for name, _ in MATH.values()}
    assert {f"__nv_{name}{end}" for name in names - COMPUTED for end in ("", "f")} <= set(FUNCTIONS)


@pytest.mark.parametrize(
    ("opcode", "number", "expected"),
    [
        ("cvt.rzi.s32.f32", "0f7F800000", 2**31 - 1),
        ("cvt.rzi.s32.f32", "0fCF800000", -(2**31)),
        ("cvt.rzi.s32.f32", "0f7FC00000", 0),
        ("cvt.rmi.f32.f32", "0fBF000000", 0xBF800000 - 2**32),
        ("cvt.rni.s32.f32", "0f40200000", 2),
        ("cvt.rn.f32.s32", "16777217", 0x4B800000),
        ("cvt.rp.f32.s32", "16777217", 0x4B800001),
        ("ex2.approx.ftz.f32", "0f40400000", 0x41000000),
    ],
)
def test_conversions_round_and_clamp_as_the_manual_says(opcode, number, expected):
    """Numbers that are too large are clamped, and NaN becomes 0."""
    body = f"mov.b32 %r2, {number}; {opcode} %r3, %r2; st.global.b32 [%rd1], %r3;"

    assert run(body)[0] == expected


def größe(x):  # noqa: PLC2401 - what is tested
    """A kernel whose name is not valid in PTX."""
    x[0] = 1


def _(x):
    """Another such kernel."""
    x[0] = 1


def WARP_SZ(x):  # noqa: N802 - a name of PTX's own
    """Another such kernel."""
    x[0] = 1


@pytest.mark.parametrize("function", [größe, _, WARP_SZ], ids=["letters", "underscore", "own"])
def test_a_kernel_has_a_name_that_ptx_can_have(function):
    """The name in PTX is valid, whatever the name in Python."""
    ptx = cuda.jit(function).inspect_ptx(cuda.float32[:])

    assert ".visible .entry kernel_" in ptx
    ptx.encode("ascii")
