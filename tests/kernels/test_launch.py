"""Arguments and sizes that a launch accepts or refuses."""

from __future__ import annotations

import array
import math

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import complex64, float32, int32, void

from .comparing import run_in_threads
from .test_sources import defined

pytestmark = pytest.mark.interop  # that extra installs LLVM


@cuda.jit
def fill(out, value):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = value


@cuda.jit
def block_sizes(out, sizes):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 3
        sizes[0], sizes[1] = cuda.gridDim.x, cuda.blockDim.x


@cuda.jit
def number_threads(out):
    x, y, z = cuda.grid(3)
    out[z, y, x] = x + 10 * y + 100 * z + 1000 * cuda.blockIdx.x


@pytest.mark.parametrize("n", [1, 7, 255, 256, 257, 100_003])
def test_every_element_is_reached(n):
    """The result does not depend on the numbers of blocks and workers."""
    out = np.zeros(n, "i4")
    fill[-(-n // 64), 64](out, 3)

    assert (out == 3).all()


@pytest.mark.parametrize("n", [0, 1, 31, 33, 256, 257, 10_001])
def test_a_launch_for_a_number_of_threads_chooses_its_sizes(n):
    """Blocks are whole warps of up to 256 threads, or as large as requested."""
    for given in ({}, {"tpb": 7}, {"stream": 0, "sharedmem": 16}):
        out, sizes = np.zeros(n, "i4"), np.zeros(2, "i8")
        block_sizes.forall(n, **given)(out, sizes)

        assert (out == 3).all()
        grid, block = sizes
        assert not n or (grid - 1) * block < n <= grid * block
        assert not n or block == given.get("tpb", min(256, -(-n // 32) * 32))


@pytest.mark.parametrize(
    "given", [(-1,), (1.5,), (True,), (5, -1), (5, 2000), (5, 1.5), (5, 32, 0, -1), (10**13,)]
)
def test_impossible_numbers_of_threads_are_refused(given):
    """The error is that of a launch."""
    with pytest.raises(ix.InterchangeError, match=r"block_sizes.forall\(\).*CPY-LAUNCH-1"):
        block_sizes.forall(*given)


def test_the_number_of_axes_is_a_constant():
    """A literal, or a constant of the program."""
    two = 2

    @cuda.jit
    def kernel(out):
        x, y = cuda.grid(two)
        width, height = cuda.gridsize(two)
        out[y, x] = x + 10 * y + 100 * width + 1000 * height + cuda.gridsize(1) - cuda.grid(1)

    out = np.zeros((4, 6), "i8")
    kernel[(3, 2), (2, 2)](out)
    y, x = np.indices(out.shape)

    assert (out == x + 10 * y + 600 + 4000 + 6 - x).all()
    for axes in (0, 4, True, 1.5):

        @cuda.jit
        def wrong(out):
            out[0] = cuda.grid(axes)  # noqa: B023 - read at once

        with pytest.raises(cuda.KernelError, match="CPY-CALL-1"):
            wrong[1, 1](out)


def test_three_axes_of_grid_and_block():
    """x varies fastest, and every thread runs once."""
    out = np.zeros((4, 6, 8), "i8")
    number_threads[(2, 3, 2), (4, 2, 2)](out)
    z, y, x = np.indices(out.shape)

    assert (out == x + 10 * y + 100 * z + 1000 * (x // 4)).all()


TAKEN = {
    "NumPy": lambda: np.zeros(8, "f4"),
    "bytearray": lambda: memoryview(bytearray(32)).cast("f"),
    "array.array": lambda: array.array("f", [0] * 8),
    "Array": lambda: ix.asarray(np.zeros(8, "f4")),
    "every second": lambda: np.zeros(16, "f4")[::2],
    "reversed": lambda: np.zeros(8, "f4")[::-1],
}


@pytest.mark.parametrize("kind", TAKEN)
def test_arrays_of_any_library_are_written_in_place(kind):
    """Nothing is copied."""
    out = TAKEN[kind]()
    fill[1, 8](out, 2.5)

    assert ix.asarray(out).tolist() == [2.5] * 8


def test_tensors_of_torch_are_written_in_place():
    """No copy is made."""
    torch = pytest.importorskip("torch")
    out = torch.zeros(8)
    fill[1, 8](out, 2.5)

    assert out.tolist() == [2.5] * 8


def test_arrays_of_jax_are_read_and_never_written():
    """JAX arrays are immutable."""
    jnp = pytest.importorskip("jax.numpy")

    with pytest.raises(ix.ReadOnlyError, match=r"\[CPY-ARG-2\]"):
        fill[1, 8](jnp.zeros(8), 1.0)


def test_an_empty_array_and_one_without_axes():
    """An empty array is not accessed; an array without axes has one element."""

    @cuda.jit
    def first(out, empty):
        out[()] = empty.size + 1

    out = np.zeros((), "i4")
    first[1, 1](out, np.zeros((0, 3)))

    assert out == 1


def test_code_is_compiled_once_per_types():
    """The types are those of elements, the number of axes, and the order."""

    @cuda.jit
    def one(out):
        out[0] = 1

    for out in (np.zeros(3), np.zeros(5), np.zeros(6)[::2], np.zeros(3, "f4")):
        one[1, 1](out)

    assert len(one._compiled) == 3


def test_a_signature_is_compiled_at_once_and_casts_numbers():
    """Other types of arguments are refused."""

    @cuda.jit(void(int32[:], float32))
    def one(out, x):
        out[0] = x

    out = np.zeros(1, "i4")
    one[1, 1](out, 3)

    assert (len(one._compiled), out[0]) == (1, 3)
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-ARG-1\]"):
        one[1, 1](np.zeros(1, "f4"), 3)


def test_the_form_of_two_arguments_is_a_signature_too():
    """The examples of the CUDA Array Interface use this form."""

    @cuda.jit(void, int32[::1])
    def initialize(x):
        i = cuda.grid(1)
        if i < len(x):
            x[i] = 3

    x = np.zeros(10, "i4")
    initialize[4, 8](x)

    assert (x == 3).all()


SIZES = {
    "no block": lambda: fill[1],
    "too many": lambda: fill[1, 1, 0, 0, 0],
    "zero blocks": lambda: fill[0, 1],
    "negative": lambda: fill[1, -1],
    "a float": lambda: fill[1, 1.5],
    "a bool": lambda: fill[True, 1],
    "a text": lambda: fill["1", 1],
    "four axes": lambda: fill[(1, 1, 1, 1), 1],
    "too large a block": lambda: fill[1, 1025],
    "too large a block in all": lambda: fill[1, (32, 64)],
    "too deep a block": lambda: fill[1, (1, 1, 65)],
    "too wide a grid": lambda: fill[2**31, 1],
    "too high a grid": lambda: fill[(1, 65536), 1],
    "an array of two": lambda: fill[np.array([2, 2]), 1],
    "an array of a float": lambda: fill[np.array(1.5), 1],
    "shared memory of a float": lambda: fill[1, 1, None, np.array(1.5)],
    "no sizes": lambda: fill(np.zeros(3), 1),
}


@pytest.mark.parametrize("what", SIZES)
def test_sizes_that_no_device_has_are_refused(what):
    """The sizes are refused before anything runs."""
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-LAUNCH-1\]"):
        SIZES[what]()


ARGUMENTS = {
    "too few": ((np.zeros(3),), "CPY-ARG-1"),
    "too many": ((np.zeros(3), 1, 2), "CPY-ARG-1"),
    "a list": (([1, 2], 1), "IX-PROTOCOL-1"),
    "None": ((None, 1), "CPY-NAME-1"),
    "float8": ((ix.from_pointer(4096, (3,), "float8_e4m3fn", device="cpu"), 1), "CPY-NPM-1"),
    "read-only": ((b"abc", 1), "CPY-ARG-2"),
    "on a GPU and the host": (
        (ix.from_pointer(4096, (3,), "float64", device="cuda:0"), np.zeros(3)),
        "CPY-ARG-3",
    ),
    "a complex number for floats": ((np.zeros(3), 1j), "CPY-TYPE-1"),
    "unaligned": ((np.frombuffer(bytearray(17), "u1")[1:].view("f8"), 1), "CPY-ARG-1"),
    "an int of 65 bits": ((np.zeros(3), 2**65), "IX-PROTOCOL-1"),
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_arguments_that_no_kernel_takes_are_refused(what):
    """The error has a rule, and nothing is written."""
    arguments, rule = ARGUMENTS[what]

    with pytest.raises(ix.InterchangeError, match=rf"\[{rule}\]"):
        fill[1, 3](*arguments)


@pytest.mark.parametrize(
    ("arguments", "name", "hint"),
    [
        ((b"abc", 1), "out", "pass a copy, `interchange.asarray(out, copy=True)`"),
        ((np.zeros(3), "a"), "value", "pass its bytes, `interchange.asarray(value.encode())`"),
    ],
)
def test_the_error_of_an_argument_has_its_name(arguments, name, hint):
    """The name of the parameter, not its place, also in the fix."""
    with pytest.raises(ix.InterchangeError, match=f"argument {name!r}") as caught:
        fill[1, 3](*arguments)
    assert caught.value.hint == hint


@cuda.jit(void(int32[:], int32))
def set_int(out, value):
    out[0] = value


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float32("nan"), 1.5, 2**31])
def test_a_number_that_an_int_cannot_hold_is_refused(number):
    """The signature requires the int."""
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-ARG-1\]"):
        set_int[1, 1](np.zeros(1, "i4"), number)


@pytest.mark.parametrize("number", [1e300, -1e300, 3.4028235677973366e38, 3.4028235677973362e38, 3])
def test_a_number_is_rounded_to_the_float_of_a_signature(number):
    """As in a cast, too large numbers become infinite."""

    @cuda.jit(void(float32[:], float32, complex64))
    def put(out, real, pair):
        out[0] = real
        out[1] = pair.real

    out = np.zeros(2, "f4")
    put[1, 1](out, number, complex(number, 0))
    with np.errstate(over="ignore"):
        assert (out == np.float32(number)).all()


def test_an_array_of_unknown_writability_is_refused():
    """A capsule before 1.0 has no flag; a caller that knows passes it."""
    block = np.zeros(3)
    unknown = ix.from_dlpack(block.__dlpack__())

    with pytest.raises(ix.ReadOnlyError, match="assume_writable"):
        fill[1, 3](unknown, 1)
    fill[1, 3](ix.asarray(unknown, assume_writable=True), 1)
    assert (block == 1).all()


def divergent(out):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    out[cuda.threadIdx.x] = 1


def apart(out):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    out[cuda.threadIdx.x] = 1


@pytest.mark.parametrize("function", [divergent, apart])
def test_a_barrier_that_some_threads_do_not_reach_is_an_error(function):
    """On a GPU the launch would hang, also if the others wait at another barrier."""
    with pytest.raises(ix.ExchangeError, match=r"\[CPY-BARRIER-1\]"):
        cuda.jit(function)[1, 32](np.zeros(32))


def test_a_barrier_in_a_loop_is_met_again():
    """All threads wait in every iteration."""

    @cuda.jit
    def turns(out):
        memory = cuda.shared.array(8, int32)
        t = cuda.threadIdx.x
        memory[t] = t
        for _ in range(3):
            cuda.syncthreads()
            x = memory[(t + 1) % 8]
            cuda.syncthreads()
            memory[t] = x
        out[t] = memory[t]

    out = np.zeros(8, "i4")
    turns[1, 8](out)

    assert (out == (np.arange(8) + 3) % 8).all()


@pytest.mark.parametrize("waits", [False, True])
def test_an_index_out_of_bounds_is_found_in_debug_mode(waits):
    """The error has the line; elements within bounds were written."""

    def plain(out):
        i = cuda.grid(1)
        out[i] = 1

    def waiting(out):
        i = cuda.grid(1)
        cuda.syncthreads()
        out[i] = 1

    function = waiting if waits else plain
    out = np.zeros(40)[:32]
    with pytest.raises(cuda.KernelError) as caught:
        cuda.jit(function, debug=True)[2, 20](out)

    assert caught.value.rule == "CPY-INDEX-3"
    assert "out[i] = 1" in str(caught.value)
    assert (out.base[32:] == 0).all()


def shifted(x, i):
    """Read past the end in the last thread."""
    return x[i + 1]


def test_an_index_out_of_bounds_is_found_in_a_function_that_is_called():
    """The line is that of the called function."""

    def outer(x, out):
        i = cuda.grid(1)
        out[i] = shifted(x, i)

    with pytest.raises(cuda.KernelError) as caught:
        cuda.jit(outer, debug=True)[1, 4](np.zeros(4), np.zeros(4))

    assert "in shifted()" in str(caught.value)
    assert "return x[i + 1]" in str(caught.value)


def test_a_frame_of_a_coroutine_may_be_large():
    """Variables that live across a barrier are kept for every thread, whatever their size."""
    names = [f"v{k}" for k in range(300)]
    lines = ["def large(x, out):", "    i = cuda.grid(1)"]
    lines += [f"    {name} = x[(i + {k}) % 64]" for k, name in enumerate(names)]
    lines += ["    cuda.syncthreads()", "    total = 0.0"]
    lines += [*(f"    total += {name}" for name in names), "    out[i] = total"]
    x = np.arange(64.0)
    for debug in (False, True):  # arrays of variables, and frames of coroutines
        kernel, out = cuda.jit(defined("\n".join(lines), "large"), debug=debug), np.zeros(64)
        kernel[1, 64](x, out)

        compiled = next(iter(kernel._compiled.values()))
        assert compiled.frame_size + sum(each.per_thread for each in compiled.pieces) > 1024
        assert (out == 4 * x.sum() + [x[(i + np.arange(44)) % 64].sum() for i in range(64)]).all()


def test_launches_of_several_threads_do_not_meet():
    """Each launch has separate shared memory."""

    @cuda.jit
    def rotate(out, value):
        memory = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        memory[t] = value + t
        cuda.syncthreads()
        out[cuda.grid(1)] = memory[(t + 1) % 64]

    wrong = []

    def work(number):
        value = 1000.0 * number
        for _ in range(20):
            out = np.zeros(64 * 8, "f4")
            rotate[8, 64](out, value)
            expected = np.tile(value + (np.arange(64) + 1) % 64, 8)
            if not (out == expected).all():
                wrong.append(value)

    run_in_threads(4, work)

    assert wrong == []


def test_what_is_named_in_kernels_only_has_no_value_outside():
    """CPY-NAME-2: names of kernels raise an error outside of kernels."""
    for use in (cuda.syncthreads, lambda: cuda.grid(1), lambda: range(cuda.threadIdx.x)):
        with pytest.raises(ix.ArgumentError, match=r"\[CPY-NAME-2\]"):
            use()


def test_what_has_no_source_is_no_kernel():
    """CPY-NPM-4: a function without source is refused."""
    for function in (lambda x: x, math.sin):
        with pytest.raises(ix.ArgumentError, match=r"\[CPY-NPM-4\]"):
            cuda.jit(function)


@cuda.jit
def with_defaults(out, factor=2.0, more=1):
    out[0] += factor + more


def test_a_launch_may_leave_out_arguments_with_defaults():
    """Also in launches that are repeated; too few arguments are refused as before."""
    out = np.zeros(1)
    for _ in range(3):
        with_defaults[1, 1](out)
        with_defaults[1, 1](out, 3.0)
        with_defaults[1, 1](out, 3.0, 4)
    assert out[0] == 3 * (3 + 4 + 7)
    with pytest.raises(ix.InterchangeError, match=r"\[CPY-ARG-1\]"):
        with_defaults[1, 1]()
