"""Functions of warps give the same results on the CPU, on the emulated driver and in PTX.

Source: CUDA C++ Programming Guide, "Warp Shuffle Functions", "Warp Vote Functions" and "Warp Match
Functions"; PTX ISA, "shfl.sync".  Expected results are computed by NumPy from their definitions.
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import KernelError, float32
from interchange.cuda.llvm.ptx import to_ptx

from .comparing import is_same, on_device, on_host
from .programs import types_of
from .ptx_machine import Machine
from .ptx_warps import WarpError

pytestmark = pytest.mark.interop  # that extra installs LLVM
FULL = 0xFFFFFFFF
EVEN = 0x55555555


def on_ptx(kernel, architecture="sm_75"):
    """Return a function that interprets the PTX of a kernel."""

    def launch(grid, block, given):
        text = to_ptx(kernel.typed(*types_of(given)), architecture)
        Machine(text).launch(kernel.__name__, grid, block, given)

    return launch


ON_DEVICE = pytest.param("device", marks=[pytest.mark.emulated, pytest.mark.gpu])


@pytest.fixture(params=["CPU", "sm_75", "sm_90", ON_DEVICE])
def run(request):
    """Return a function that runs a kernel on a target, and leaves the results in its arguments."""
    if request.param == "device":
        request.getfixturevalue("cuda_driver")
        make = on_device
    elif request.param == "CPU":
        make = on_host
    else:
        make = lambda kernel: on_ptx(kernel, request.param)  # noqa: E731

    def run(kernel, block, *arguments, grid=(1,)):
        make(kernel)(grid, block, list(arguments))

    return run


def lanes(count=64):
    """Return the index of each thread in its warp."""
    return np.arange(count) % 32


# ---------------------------------------------------------------- shuffles


@cuda.jit
def shuffles(x, y, out):
    i = cuda.threadIdx.x
    v, lane = x[i], cuda.laneid
    out[0, i] = cuda.shfl_sync(FULL, v, 3)
    out[1, i] = cuda.shfl_sync(FULL, v, lane * 5 + y[0])
    out[2, i] = cuda.shfl_up_sync(FULL, v, 3)
    out[3, i] = cuda.shfl_down_sync(mask=FULL, value=v, delta=y[0])
    out[4, i] = cuda.shfl_xor_sync(-1, v, 9)
    out[5, i] = cuda.shfl_sync(FULL, v, lane + 2, 8)
    out[6, i] = cuda.shfl_up_sync(FULL, v, 1, width=8)
    out[7, i] = cuda.shfl_down_sync(FULL, v, 6, width=8)
    out[8, i] = cuda.shfl_xor_sync(FULL, v, 9, width=8)
    out[9, i] = cuda.shfl_xor_sync(FULL, v, 1, width=2)


def shuffled(x):
    """Return the results of `shuffles` where y is 5."""
    own, lane = np.arange(64), lanes()
    warp, eight = own - lane, own - own % 8
    first_of = np.where(lane ^ 9 <= lane | 7, warp + (lane ^ 9), own)
    sources = [
        warp + 3,
        warp + (lane * 5 + 5) % 32,
        np.where(lane < 3, own, own - 3),
        np.where(lane + 5 > 31, own, own + 5),
        warp + (lane ^ 9),
        eight + (lane + 2) % 8,
        np.where(own % 8 < 1, own, own - 1),
        np.where(own % 8 + 6 > 7, own, own + 6),
        first_of,
        own ^ 1,
    ]
    return np.array([x[source] for source in sources])


@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64", "int8", "complex64"]
)
def test_a_shuffle_reads_the_value_of_another_lane(run, dtype):
    """All modes, with and without groups, of numbers of every width."""
    x = np.random.default_rng(5).integers(0, 256, 64 * np.dtype(dtype).itemsize, np.uint8)
    x = x.view(dtype)
    if x.dtype.kind in "fc":
        x = np.where(np.isnan(x), 1, x).astype(dtype)
    out = np.zeros((10, 64), dtype)

    run(shuffles, (64,), x, np.array([5], np.int32), out)

    assert is_same(out, shuffled(x))


@cuda.jit
def sums(x, out):
    i = cuda.grid(1)
    v = x[i]
    for k in range(5):
        v += cuda.shfl_xor_sync(FULL, v, 16 >> k)
    if cuda.laneid == 0:
        out[i // cuda.warpsize] = v


def test_a_sum_over_warps_of_several_blocks(run):
    """The usual butterfly, in a loop."""
    x, out = np.arange(192.0), np.zeros(6)

    run(sums, (96,), x, out, grid=(2,))

    assert out.tolist() == x.reshape(6, 32).sum(1).tolist()


@cuda.jit
def scan(x, out):
    i = cuda.grid(1)
    v, step = x[i], 1
    while step < 32:
        below = cuda.shfl_up_sync(FULL, v, step)
        if cuda.laneid >= step:
            v += below
        step *= 2
    out[i] = v


def test_a_scan_of_two_warps(run):
    """The value read is the one before the lane that it belongs to goes on."""
    x, out = np.arange(64, dtype=np.int32) ** 2, np.zeros(64, np.int32)

    run(scan, (64,), x, out)

    assert out.tolist() == x.reshape(2, 32).cumsum(1).ravel().tolist()


@cuda.jit
def divergent(x, out):
    i, lane = cuda.threadIdx.x, cuda.laneid
    v = x[i]
    if lane < 16:
        for _ in range(lane // 8 + 3):  # groups leave at different times
            v += cuda.shfl_xor_sync(0xFF if lane < 8 else 0xFF00, v, 1)
    else:
        v = cuda.shfl_sync(0xFFFF0000, v, 16) * 100
        if lane % 2 == 0:
            v += cuda.shfl_down_sync(EVEN << 16 & 0xFFFF0000, v, 2)
    out[i] = v + cuda.shfl_sync(FULL, v, 31)


def test_branches_have_masks_of_their_own(run):
    """Lanes of different branches do not wait for each other, and meet again after them."""
    x, out = np.arange(1, 33, dtype=np.int64), np.zeros(32, np.int64)

    run(divergent, (32,), x, out)

    v = x.copy()
    for first, rounds in ((0, 3), (8, 4)):
        for _ in range(rounds):
            v[first : first + 8] += v[np.arange(first, first + 8) ^ 1]
    v[16:] = 1700
    v[16:30:2] += 1700
    v[30] += 1700  # there is no lane 32
    assert out.tolist() == (v + v[31]).tolist()


@cuda.jit
def partial(x, out):
    i = cuda.threadIdx.x
    mask = cuda.activemask()
    last = cuda.popc(mask) - 1
    out[0, i] = cuda.shfl_sync(mask, x[i], last)
    out[1, i] = mask
    out[2, i] = cuda.ballot_sync(FULL, x[i] > 2)
    out[3, i] = cuda.all_sync(FULL, x[i] > 0)


def test_a_block_may_end_within_a_warp(run):
    """Lanes that the block does not have take no part."""
    x, out = np.arange(1, 41, dtype=np.int32), np.zeros((4, 40), np.int64)

    run(partial, (40,), x, out)

    assert out[0].tolist() == [32] * 32 + [40] * 8
    assert out[1].tolist() == [FULL] * 32 + [0xFF] * 8
    assert out[2].tolist() == [FULL - 3] * 32 + [0xFF] * 8
    assert out[3].tolist() == [1] * 40


@cuda.jit
def numbers(out):
    i, j = cuda.grid(2)
    out[0, j, i] = cuda.laneid
    out[1, j, i] = cuda.lanemask_lt()
    out[2, j, i] = cuda.clz(j)


def test_lanes_without_functions_that_wait(run):
    """In blocks of two axes, several of them."""
    out = np.zeros((3, 12, 20), np.int64)

    run(numbers, (10, 4), out, grid=(2, 3))

    lane = np.tile(lanes(40).reshape(4, 10), (3, 2))
    assert out[0].tolist() == lane.tolist()
    assert out[1].tolist() == ((1 << lane) - 1).tolist()
    assert out[2, :, 0].tolist() == [64 - k.bit_length() for k in range(12)]


# ---------------------------------------------------------------- votes and matches


@cuda.jit
def votes(x, out):
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    k = j * cuda.blockDim.x + i
    v = x[k]
    out[0, k] = cuda.ballot_sync(FULL, v)
    out[1, k] = cuda.all_sync(FULL, v > 0)
    out[2, k] = cuda.any_sync(FULL, v > 2)
    out[3, k] = cuda.eq_sync(FULL, v == 2)
    if k % 2 == 0:
        out[4, k] = cuda.ballot_sync(EVEN, v == 1)
    out[5, k] = cuda.laneid
    out[6, k] = cuda.lanemask_lt()


def test_votes_in_a_block_of_two_axes(run):
    """A warp is 32 threads in linear order, x fastest."""
    x = np.concatenate([np.arange(32) % 3, np.full(32, 2), np.arange(1, 33)]).astype(np.int32)
    out = np.zeros((7, 96), np.int64)

    run(votes, (8, 12), x, out)

    bits = 1 << lanes(96).astype(np.int64)
    warps = x.reshape(3, 32)
    mask = lambda tests: np.repeat((tests.reshape(3, 32) * bits[:32]).sum(1), 32)  # noqa: E731
    assert out[0].tolist() == mask(x != 0).tolist()
    assert out[1].tolist() == np.repeat((warps > 0).all(1), 32).tolist()
    assert out[2].tolist() == np.repeat((warps > 2).any(1), 32).tolist()
    assert out[3].tolist() == np.repeat([0, 1, 0], 32).tolist()
    even = np.arange(96) % 2 == 0
    assert out[4].tolist() == np.where(even, mask((x == 1) & even), 0).tolist()
    assert out[5].tolist() == lanes(96).tolist()
    assert out[6].tolist() == (bits - 1).tolist()


@cuda.jit
def matches(x, y, out):
    i = cuda.threadIdx.x
    out[0, i] = cuda.match_any_sync(FULL, x[i])
    mask, same = cuda.match_all_sync(FULL, y[i])
    out[1, i] = mask
    out[2, i] = same
    mask, same = cuda.match_all_sync(FULL, x[i])
    out[3, i] = mask + same


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint8"])
def test_values_are_compared_by_their_bits(run, dtype):
    """NaN equals NaN, and the zeros differ."""
    x = (np.arange(40) % 5).astype(dtype)
    if x.dtype.kind == "f":
        x[5:15:5], x[1::5] = -0.0, np.nan
    y = np.repeat(np.array([7, 9], dtype), 32)[:40]
    out = np.zeros((4, 40), np.int64)

    run(matches, (40,), x, y, out)

    bits = x.view(f"u{x.itemsize}")
    same = bits[:, None] == bits[None, :]
    same &= np.arange(40)[:, None] // 32 == np.arange(40)[None, :] // 32
    assert out[0].tolist() == (same * (1 << lanes(40).astype(np.int64))).sum(1).tolist()
    assert out[1].tolist() == [FULL] * 32 + [0xFF] * 8
    assert out[2].tolist() == [1] * 40
    assert out[3].tolist() == [0] * 40


@cuda.jit
def active(out):
    i, lane = cuda.threadIdx.x, cuda.laneid
    if lane % 3 == 0:
        out[0, i] = cuda.activemask()
    else:
        if lane > 20:
            out[1, i] = cuda.activemask()
            return
        out[2, i] = cuda.activemask()
    cuda.syncwarp()
    out[3, i] = cuda.activemask()


def test_active_lanes_are_those_at_the_same_call(run):
    """Lanes of another branch, and lanes that have returned, are not active."""
    out = np.zeros((4, 32), np.int64)

    run(active, (32,), out)

    lane = np.arange(32)
    three, left = lane % 3 == 0, (lane % 3 != 0) & (lane > 20)
    tests = [three, left, ~three & ~left, ~left]
    expected = [np.where(test, (test * (1 << lane)).sum(), 0) for test in tests]
    assert out.tolist() == np.array(expected).tolist()


# ---------------------------------------------------------------- with shared memory and barriers


@cuda.jit
def transposed(x, out):
    memory = cuda.shared.array(64, float32)
    i, lane = cuda.threadIdx.x, cuda.laneid
    warp = i - lane
    for k in range(3):
        memory[i] = x[i] + k
        cuda.syncwarp()
        out[k, i] = memory[warp + 31 - lane]
        cuda.syncwarp(FULL)


def test_lanes_that_wait_see_the_memory_of_others(run):
    """Without a barrier of the block."""
    x, out = np.arange(64, dtype=np.float32), np.zeros((3, 64), np.float32)

    run(transposed, (64,), x, out)

    back = x.reshape(2, 32)[:, ::-1].ravel()
    assert out.tolist() == [(back + k).tolist() for k in range(3)]


@cuda.jit
def block_sums(x, out):
    memory = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    v = x[i] if i < x.size else float32(0)
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(FULL, v, offset)
        offset //= 2
    if lane == 0:
        memory[warp] = v
    cuda.syncthreads()
    if warp == 0:
        v = memory[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        for k in range(5):
            v += cuda.shfl_down_sync(FULL, v, 16 >> k)
        if lane == 0:
            out[cuda.blockIdx.x] = v


def test_warps_and_blocks_wait_in_turn(run):
    """One warp goes on while the others have ended."""
    x, out = np.arange(250, dtype=np.float32), np.zeros(2, np.float32)

    run(block_sums, (128,), x, out, grid=(2,))

    assert out.tolist() == [x[:128].sum(), x[128:].sum()]


@cuda.jit
def counted(x, out):
    i = cuda.threadIdx.x
    for k in range(3):
        out[0, k] = cuda.syncthreads_count(x[i] > k)
        out[1, k] = cuda.syncthreads_and(x[i] > k - 1)
        out[2, k] = cuda.syncthreads_or(x[i] > k + 1)
    cuda.syncthreads()
    if cuda.all_sync(FULL, x[i] == 2):
        out[3, i // 32] = cuda.shfl_sync(FULL, i, 7)
    out[3, 3] = cuda.syncthreads_count(1)


def test_barriers_count_their_threads(run):
    """In a loop, and beside functions of warps."""
    x = np.repeat(np.array([1, 2, 3], np.int64), 32)
    out = np.zeros((4, 4), np.int32)

    run(counted, (96,), x, out)

    assert out[:3, :3].tolist() == [[96, 64, 32], [1, 1, 0], [1, 1, 0]]
    assert out[3].tolist() == [0, 39, 0, 96]


# ---------------------------------------------------------------- bits


@cuda.jit
def bits(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[0, i] = cuda.popc(v)
    out[1, i] = cuda.clz(v)
    out[2, i] = cuda.ffs(v)
    out[3, i] = cuda.brev(v)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bits_are_counted_within_the_type(run, dtype):
    """Of 0 there is no lowest bit, and all are zeros above the highest."""
    info = np.iinfo(dtype)
    x = np.array([0, 1, 2, 12, 80, info.max, info.min, info.max // 3], dtype)
    out = np.zeros((4, x.size), np.uint64)

    run(bits, (x.size,), x, out)

    width = info.bits
    texts = [f"{int(v) & (1 << width) - 1:0{width}b}" for v in x]
    wide = max(width, 32)
    reverse = [f"{int(v) & (1 << wide) - 1:0{wide}b}"[::-1] for v in x]
    assert out[0].tolist() == [text.count("1") for text in texts]
    assert out[1].tolist() == [width - len(text.lstrip("0")) for text in texts]
    assert out[2].tolist() == [(text[::-1].find("1") + 1) for text in texts]
    assert out[3].tolist() == [int(text, 2) for text in reverse]


def test_the_types_of_results():
    """Masks are unsigned and counts are int32, as in CUDA C++; a shuffle keeps the type."""

    @cuda.jit
    def kernel(x, out):
        a = cuda.shfl_sync(FULL, x[0], 0)
        b, c = cuda.ballot_sync(FULL, a), cuda.any_sync(FULL, a)
        d, e = cuda.popc(b), cuda.match_any_sync(FULL, a)
        f, g = cuda.brev(cuda.int8(1)), cuda.activemask()
        h, k = cuda.syncthreads_count(a), cuda.laneid
        out[0] = a + b + c + d + e + f + g + h + k

    found = kernel.inspect_types(*[cuda.ArrayType(cuda.float64, 1)] * 2)
    types = [found[name][0].name for name in "abcdefghk"]

    assert types == (
        ["float64", "uint32", "bool", "int32", "uint32", "uint32", "uint32", "int32", "int32"]
    )
    assert cuda.warpsize == 32
    assert repr(cuda.laneid) == "cuda.laneid"


# ---------------------------------------------------------------- errors


def stuck(out):
    i = cuda.threadIdx.x
    if i < 4:
        out[i] = cuda.shfl_sync(FULL, i, 0)
    else:
        out[i] = cuda.any_sync(FULL, i)


def stuck_at_a_barrier(out):
    out[0] = 1
    if cuda.threadIdx.x == 9:
        cuda.syncwarp(FULL)
    else:
        cuda.syncthreads()


@pytest.mark.parametrize(("function", "line"), [(stuck, 3), (stuck_at_a_barrier, 3)])
@pytest.mark.parametrize("debug", [False, True])
def test_lanes_that_never_meet_are_an_error(function, line, debug):
    """The launch names the line of a call that waits; a GPU would hang."""
    kernel, out = cuda.jit(debug=debug)(function), np.zeros(32, np.int32)

    with pytest.raises(KernelError, match=r"CPY-WARP-3") as caught:
        kernel[1, 32](out)

    assert caught.value.line == function.__code__.co_firstlineno + line
    with pytest.raises(WarpError):
        on_ptx(kernel)((1,), (32,), [out])


def leaves_itself_out(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_sync(EVEN, i, 0)


def names_the_absent(out):
    i = cuda.threadIdx.x
    if i < 5:
        return
    cuda.syncwarp()
    out[i] = cuda.any_sync(FULL, i)


@pytest.mark.parametrize(
    ("function", "line", "thread"), [(leaves_itself_out, 2, 1), (names_the_absent, 5, 5)]
)
def test_masks_are_checked_in_debug_mode(function, line, thread):
    """By the same report on the CPU and in PTX."""
    kernel, out = cuda.jit(debug=True)(function), np.zeros(32, np.int32)

    with pytest.raises(KernelError, match=r"CPY-WARP-2") as caught:
        kernel[1, 32](out)
    program = kernel.typed(*types_of([out]))
    report = np.zeros(32, np.int32)
    launch_checked(program, (32,), out, report)

    assert caught.value.line == function.__code__.co_firstlineno + line
    assert caught.value.thread == (thread, 0, 0)
    assert program.places[report[0] - 1].rule == "CPY-WARP-2"
    assert report[1] == thread


def launch_checked(program, block, out, report):
    """Interpret the PTX of debug mode, whose last parameter is the address of the report."""
    machine = Machine(to_ptx(program, checks=True))
    address = machine.map("global", report)
    machine.launch(program.name, (1,), block, [out, np.uint64(address)])


@pytest.mark.emulated
@pytest.mark.usefixtures("cuda_driver")
def test_the_emulated_driver_reports_lanes_that_never_meet():
    """The report names the kernel; in debug mode the launch raises."""
    kernel = cuda.jit(debug=True)(stuck)
    out = cuda.to_device(np.zeros(32, np.int32))

    with pytest.raises(KernelError, match=r"CPY-WARP-3"):
        kernel[1, 32](out)
