"""Atomic operations and memory fences: on the CPU, on the emulated driver, and in PTX.

Source: CUDA C++ Programming Guide, "Atomic Functions"; numba.cuda.atomic.
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import bfloat16, float32, int32, uint64

from .comparing import is_same, left_by, on_device, on_host, run_in_threads
from .programs import Case, types_of
from .ptx_kernels import ARCHITECTURES, any_ptx, assembled, find_ptxas
from .ptx_machine import Machine

pytestmark = pytest.mark.interop

BINS = 8


@cuda.jit
def histogram(x, bins, order):
    part = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        part[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(part, x[i], 1)
    cuda.syncthreads()
    if t < BINS:
        order[cuda.blockIdx.x, t] = cuda.atomic.add(bins, t, part[t])


@cuda.jit
def counted(x, bins):
    i = cuda.grid(2)
    if i[0] < x.shape[0] and i[1] < x.shape[1]:
        cuda.atomic.add(bins, (x[i] >> 2, x[i] & 3), 1)


@cuda.jit
def locked(lock, total):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] = total[0] + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def extremes(x, least, most):
    i = cuda.grid(1)
    cuda.atomic.min(least, 0, x[i])
    cuda.atomic.max(most, 0, x[i])
    cuda.atomic.nanmin(least, 1, x[i])
    cuda.atomic.nanmax(most, 1, x[i])


@cuda.jit
def every_operation(x, u, old):
    old[0] = cuda.atomic.add(x, 0, 7)
    old[1] = cuda.atomic.sub(x, 0, 3)
    old[2] = cuda.atomic.min(x, 0, -9)
    old[3] = cuda.atomic.max(x, 0, 100)
    old[4] = cuda.atomic.exch(x, (0,), 5)
    old[5] = cuda.atomic.inc(u, 0, 1)
    old[6] = cuda.atomic.inc(u, 0, 1)
    old[7] = cuda.atomic.dec(u, 0, 9)
    old[8] = cuda.atomic.dec(u, 0, 9)
    old[9] = cuda.atomic.and_(u, 0, 12)
    old[10] = cuda.atomic.or_(u, 0, 3)
    old[11] = cuda.atomic.xor(u, 0, 1)
    old[12] = cuda.atomic.cas(u, 0, 1, 2)
    old[13] = cuda.atomic.cas(u, 0, 10, 2)
    old[14] = cuda.atomic.compare_and_swap(u, 2, 77)
    cuda.threadfence_block()
    cuda.threadfence_system()
    old[15] = u[0]


def every_case(number, unsigned):
    """Return the results of each operation, computed by hand."""
    x, u, old = np.ones(1, number), np.zeros(1, unsigned), np.zeros(16, number)
    least = 0 if number[0] == "u" else -9  # -9 is a large number of unsigned types
    lowest = 5 if number[0] == "u" else least
    olds = [1, 8, 5, lowest, 100, 0, 1, 0, 9, 8, 8, 11, 10, 10, 2, 77]
    return Case((1,), (1,), (x, u, old), {0: [5], 1: [77], 2: olds})


def on_ptx(kernel, architecture="sm_75"):
    """Return a function for `left_by` that interprets the kernel's PTX."""

    def launch(grid, block, given):
        ptx = any_ptx(kernel, *types_of(given), architecture=architecture)
        Machine(ptx).launch(kernel.__name__, grid, block, given)

    return launch


TARGETS = [
    pytest.param(on_host, id="CPU"),
    pytest.param(on_ptx, id="PTX"),
    pytest.param(on_device, id="device", marks=[pytest.mark.emulated, pytest.mark.gpu]),
]


@pytest.fixture(params=TARGETS)
def target(request):
    """How a kernel is run."""
    if request.param is on_device:
        request.getfixturevalue("cuda_driver")
    return request.param


@pytest.mark.parametrize("number", ["i4", "i8", "u4", "u8", "f4", "f8"])
@pytest.mark.parametrize("unsigned", ["u4", "u8"])
def test_every_operation_returns_the_old_value(target, number, unsigned):
    """The new values are those of the table of CUDA."""
    case = every_case(number, unsigned)
    found = left_by(target(every_operation), case)

    assert {place: array.tolist() for place, array in found.items()} == case.expected


@cuda.jit
def halves(x, old):
    old[0] = cuda.atomic.add(x, 0, 2049)
    old[1] = cuda.atomic.sub(x, 0, 0.5)
    old[2] = cuda.atomic.max(x, 0, 3000)
    old[3] = cuda.atomic.min(x, 0, 3)
    old[4] = cuda.atomic.exch(x, 0, 1 / 3)
    cuda.atomic.add(x, 1, 1)


@cuda.jit
def every_operation_locally(x, u, old):
    own, mine = cuda.local.array(1, float32), cuda.local.array(1, uint64)
    own[0], mine[0] = x[0], u[0]
    old[0] = cuda.atomic.add(own, 0, 7)
    old[1] = cuda.atomic.sub(own, 0, 3)
    old[2] = cuda.atomic.min(own, 0, -9)
    old[3] = cuda.atomic.nanmax(own, 0, 100)
    old[4] = cuda.atomic.exch(own, 0, 5)
    old[5] = cuda.atomic.inc(mine, 0, 1)
    old[6] = cuda.atomic.inc(mine, 0, 1)
    old[7] = cuda.atomic.dec(mine, 0, 9)
    old[8] = cuda.atomic.cas(mine, 0, 9, 12)
    old[9] = cuda.atomic.or_(mine, 0, 3)
    old[10] = mine[0]
    old[11] = own[0]


@cuda.jit
def in_other_memory(x, y):
    part, own = cuda.shared.array(1, bfloat16), cuda.local.array(2, bfloat16)
    count = cuda.local.array(2, int32)
    part[0] = own[0] = x[0]
    count[0] = 4
    cuda.atomic.max(part, 0, 3)
    cuda.atomic.exch(own, 0, 5)
    cuda.atomic.add(own, 0, 5)
    x[0] = part[0] + own[0]
    y[0] = cuda.atomic.add(count, 0, 3) + cuda.atomic.cas(count, 0, 7, 1) + count[0]


def test_operations_in_memory_of_the_thread_are_plain(target):
    """PTX has atomic operations in global and in shared memory only."""
    pytest.importorskip("ml_dtypes")
    given = np.ones(1, "bfloat16"), np.zeros(1, "i4")
    found = left_by(target(in_other_memory), Case((1,), (1,), given, {0: None, 1: None}))

    assert (found[0].tolist(), found[1].tolist()) == ([13], [4 + 7 + 1])
    case = Case((1,), (1,), (np.ones(1, "f4"), np.zeros(1, "u8"), np.zeros(12)), {2: None})
    olds = [1, 8, 5, -9, 100, 0, 1, 0, 9, 12, 15, 5]
    assert left_by(target(every_operation_locally), case)[2].tolist() == olds
    assert "atom." not in any_ptx(every_operation_locally, *types_of(case.arguments))
    atoms = [each for each in any_ptx(in_other_memory, *types_of(given)).split() if "atom." in each]
    assert atoms == ["atom.relaxed.gpu.shared.cas.b16"]


@pytest.mark.parametrize(
    ("element", "olds"),
    [("float16", [1, 2048, 2048, 3000, 3]), ("bfloat16", [1, 2048, 2048, 3008, 3])],
)
def test_halves_are_rounded_once(target, element, olds):
    """2049 is 2048 as either, 3000 is 3008 as a bfloat16, and sums are rounded to even."""
    pytest.importorskip("ml_dtypes")
    x = np.array([1, 0], element)
    given = x, np.zeros(5, element)
    found = left_by(target(halves), Case((1,), (1,), given, {0: None, 1: None}))

    assert found[1].tolist() == olds
    assert found[0].tolist() == [np.array(1 / 3).astype(element).item(), 1]


@pytest.mark.parametrize("element", ["f4", "f8"])
def test_nan_is_never_stored_and_replaced_on_request_only(target, element):
    """Zeros of both signs are equal, so that none replaces the other."""
    x = np.array([np.nan, 0.0, 3, -2, np.inf, -np.inf, -0.0], element)
    for start in ([1, np.nan], [np.nan, 1]):
        given = (x, np.array(start, element), np.array(start, element))
        found = left_by(target(extremes), Case((1,), (len(x),), given, {1: None, 2: None}))
        for bound, array in ((-np.inf, found[1]), (np.inf, found[2])):
            kept = np.nan if np.isnan(start[0]) else bound
            assert is_same(array, np.array([kept, bound], element))
    for x, start in (([-0.0], [0.0] * 2), ([0.0], [-0.0] * 2)):
        given = [np.array(each, element) for each in (x, start, start)]
        found = left_by(target(extremes), Case((1,), (1,), given, {1: None, 2: None}))
        assert all(is_same(each, given[1]) for each in found.values())


def test_a_histogram_of_several_blocks_counts_everything(target):
    """Sums in shared memory are added to those in global memory, whose old values differ."""
    n, blocks, threads = (64, 2, 8) if target is on_ptx else (40_000, 16, 512)
    x = np.random.default_rng(5).integers(0, BINS, n).astype("i4")
    given = (x, np.zeros(BINS, "i4"), np.zeros((blocks, BINS), "i4"))
    case = Case((blocks,), (threads,), given, {1: None, 2: None})
    bins, order = left_by(target(histogram), case).values()

    assert bins.tolist() == np.bincount(x, minlength=BINS).tolist()
    assert (order.min(axis=0) == 0).all()
    assert (order < bins + 1).all()


def test_an_index_is_an_int_or_a_tuple_or_the_name_of_one(target):
    """Two axes are indexed by a tuple."""
    x = np.arange(48, dtype="i4").reshape(6, 8) % 16
    case = Case((2, 2), (4, 4), (x, np.zeros((4, 4), "u8")), {1: None})
    found = left_by(target(counted), case)[1]

    assert (found == 3).all()


def test_a_lock_is_held_by_one_thread_of_all_blocks(target):
    """Threads on several workers count without atomic operations."""
    blocks, threads = (2, 2) if target is on_ptx else (64, 128)
    given = (np.zeros(1, "i4"), np.zeros(1, "i8"))
    found = left_by(target(locked), Case((blocks,), (threads,), given, {0: None, 1: None}))

    assert found[0].tolist() == [0]
    assert found[1].tolist() == [blocks * threads]


def test_launches_of_several_threads_add_to_one_array():
    """Each operation is atomic for all threads of the process."""
    total = np.zeros(2, "f8")

    @cuda.jit
    def add(total):
        cuda.atomic.add(total, 0, 1)
        cuda.atomic.sub(total, 1, 2)

    add[1, 1](total)
    run_in_threads(4, lambda _: [add[4, 256](total) for _ in range(20)])

    assert total.tolist() == [1 + 4 * 20 * 1024, -2 - 2 * 4 * 20 * 1024]


def test_a_sum_of_float32_in_global_memory_has_no_subnormal_numbers_on_a_gpu():
    """PTX ISA, "atom": only shared memory has them; on a CPU all memory does."""

    @cuda.jit
    def add(x):
        part = cuda.shared.array(1, float32)
        part[0] = x[1]
        cuda.atomic.add(part, 0, x[2])
        x[1] = part[0]
        cuda.atomic.add(x, 0, x[2])

    x = np.array([0, 0, 1e-40], "f4")
    case = Case((1,), (1,), (x,), {0: None})

    assert left_by(on_host(add), case)[0].tolist() == [x[2]] * 3
    assert left_by(on_ptx(add), case)[0].tolist() == [0, x[2], x[2]]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_every_operation(architecture, tmp_path):
    """Ints and floats of both widths."""
    ptxas = find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    for number, unsigned in (("f4", "u4"), ("f8", "u8"), ("i4", "u4"), ("i8", "u8")):
        types = types_of(every_case(number, unsigned).arguments)
        ptx = any_ptx(every_operation, *types, architecture=architecture)
        assert assembled(ptxas, ptx, architecture, tmp_path)[0] == ""


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_the_assembler_takes_operations_of_halves(element, tmp_path):
    """A sum of float16 is one instruction."""
    pytest.importorskip("ml_dtypes")
    ptxas = find_ptxas() or pytest.skip("no ptxas, of a toolkit or of the wheel nvidia-cuda-nvcc")
    for architecture in ARCHITECTURES:
        types = types_of((np.zeros(2, element), np.zeros(5, element)))
        ptx = any_ptx(halves, *types, architecture=architecture)
        assert ptx.count("add.noftz.f16") == (3 if element == "float16" else 0)
        assert ptx.count("cas.b16") == (3 if element == "float16" else 6)
        assert "cas.b32" not in ptx
        assert assembled(ptxas, ptx, architecture, tmp_path)[0] == ""


@cuda.jit
def waiting(x, y, out):
    cuda.nanosleep(100)
    out[0] = cuda.fma(x[0], y[0], out[0])
    while cuda.atomic.add(out, 1, 1) < 3:
        cuda.nanosleep(x[0])


@pytest.mark.parametrize("element", ["f4", "f8"])
def test_a_product_and_sum_is_rounded_once(target, element):
    """The low part of a product is exact; a wait has no other effect."""
    x = np.array([1 + np.finfo(element).eps], element)
    given = x, x, np.array([-1 - 2 * x.dtype.type(np.finfo(element).eps), 0], element)
    found = left_by(target(waiting), Case((1,), (1,), given, {2: None}))[2]

    assert found.tolist() == [float(np.finfo(element).eps) ** 2, 4]


def test_sums_are_single_instructions_in_ptx():
    """Differences are sums, and an unused old value costs nothing."""

    @cuda.jit
    def kernel(x, y):
        cuda.atomic.add(x, 0, 1)
        cuda.atomic.sub(x, 0, 1)
        cuda.atomic.max(y, 0, 1)

    for element, name in (("f4", "add.f32"), ("f8", "add.f64"), ("i4", "add.u32")):
        types = types_of((np.zeros(1, element), np.zeros(1, "i8")))
        ptx = any_ptx(kernel, *types)
        assert ptx.count(f"atom.global.{name}") == 2
        assert ptx.count("atom.global.max.s64") == 1
        assert "cas" not in ptx


def test_atomic_operations_read_and_write():
    """The race detector of the emulated driver, and the order of streams, depend on it."""
    program = counted.typed(*types_of((np.zeros((2, 2), "i4"), np.zeros((4, 4), "u8"))))

    assert (program.reads, program.writes) == ({0, 1}, {1})
