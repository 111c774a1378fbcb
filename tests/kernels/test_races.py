"""Races are found on the CPU whatever the order of the threads, and nothing else is reported.

Source: Compute Sanitizer, "Racecheck"; CUDA C++ Programming Guide, "Synchronization Functions".
"""

from __future__ import annotations

import ast
import inspect
import linecache

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import RaceError, float32, int32

from . import programs
from .comparing import left_by, on_host, wrong
from .programs import PROGRAMS

pytestmark = pytest.mark.interop  # that extra installs LLVM

DROPPED = {
    ("matrix_product", 0): ("left", "right"),
    ("matrix_product", 1): ("left", "right"),
    ("block_sums", 0): ("held",),
    ("block_sums", 1): ("held",),
    ("prefix_sums", 0): ("held",),
    ("prefix_sums", 1): ("held",),
    ("fourier", 0): ("held",),
    ("fourier", 1): ("held",),
}
"""Program, and the number of a barrier that it loses -> arrays of which a race may be reported."""


def checked(function):
    """Return a kernel that finds races, of a function or of a kernel."""
    return cuda.jit(getattr(function, "__wrapped_kernel__", function), races=True)


def tree_of(kernel):
    """Return the syntax tree of a kernel."""
    return ast.parse(inspect.getsource(kernel.__wrapped_kernel__))


def without_barrier(kernel, number):
    """Return a kernel without one of its barriers, that finds races."""
    function, tree = kernel.__wrapped_kernel__, tree_of(kernel)
    tree.body[0].decorator_list = []
    kept = barriers(tree)[number]
    for node in ast.walk(tree):
        for body in (getattr(node, "body", []), getattr(node, "orelse", [])):
            if isinstance(body, list) and kept in body:
                body.remove(kept)
    text, name = ast.unparse(tree), f"<{function.__name__} without barrier {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = dict(vars(programs))
    exec(compile(text, name, "exec"), scope)  # noqa: S102 - a program of this file
    return checked(scope[function.__name__])


def barriers(tree):
    """Return the statements that are barriers."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and ast.unparse(node) == "cuda.syncthreads()"
    ]


def named(each):
    """Return the part of a test's name for a value: a function's name, the start of a text."""
    return getattr(each, "__name__", None) or str(each)[:20]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_without_a_race_is_not_reported(name):
    """Its results are those without detection."""
    case = PROGRAMS[name].make(PROGRAMS[name].size)

    found = left_by(on_host(checked(PROGRAMS[name].kernel)), case)

    assert wrong(case, found, case.expected) == []


@pytest.mark.parametrize(("name", "number"), DROPPED)
def test_a_missing_barrier_is_reported(name, number):
    """The error names the array, both lines, and both threads, which differ."""
    case = PROGRAMS[name].make(PROGRAMS[name].size)

    with pytest.raises(RaceError, match=r"syncthreads\(\) between") as caught:
        left_by(on_host(without_barrier(PROGRAMS[name].kernel, number)), case)

    error = caught.value
    assert error.array in DROPPED[name, number]
    assert error.thread != error.other_thread
    assert error.block == error.other_block
    assert error.rule == "CPY-RACE-1"


def test_the_table_has_all_barriers():
    """Each barrier of each program matters."""
    found = [
        (name, number)
        for name, program in PROGRAMS.items()
        for number in range(len(barriers(tree_of(program.kernel))))
    ]

    assert sorted(found) == sorted(DROPPED)


def sum_of_all(x):
    x[0] += 1


def everyone_writes(x):
    x[0] = cuda.grid(1)


def neighbour(x):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = x[i + 1]


def neighbour_before(x):
    i = cuda.grid(1)
    if i > 0:
        x[i] = x[i - 1]


def read_by_many(x):
    i = cuda.grid(1)
    if x[7] == 0 and i == 3:
        x[7] = 1


def last_of_three_epochs(x):
    held = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    held[t] = t
    cuda.syncthreads()
    x[t] = held[7 - t]
    cuda.syncthreads()
    held[t] = 1
    x[t] = held[7 - t]


RACES = [
    (sum_of_all, 1, 2, "written", "(0,)"),
    (sum_of_all, 2, 1, "of block", "(0,)"),
    (everyone_writes, 1, 2, "and was written", "(0,)"),
    (everyone_writes, 2, 1, "atomic", "(0,)"),
    (neighbour, 1, 8, "", ""),
    (neighbour, 8, 1, "", ""),
    (neighbour_before, 1, 8, "", ""),
    (neighbour_before, 8, 1, "", ""),
    (read_by_many, 1, 8, "was read", "(7,)"),
    (read_by_many, 8, 1, "", "(7,)"),
    (last_of_three_epochs, 1, 8, "held", ""),
]


@pytest.mark.parametrize("dtype", ["int32", "int8", "float64"])
@pytest.mark.parametrize(("function", "blocks", "threads", "text", "index"), RACES, ids=named)
def test_a_race_is_found_in_any_order(function, blocks, threads, text, index, dtype):
    """Accesses of one element by two threads or blocks, of which one writes."""
    x = np.zeros(8, dtype)

    with pytest.raises(RaceError) as caught:
        checked(function)[blocks, threads](x)

    assert text in str(caught.value)
    assert index in f"{caught.value.index}"
    assert (caught.value.block == caught.value.other_block) == (blocks == 1)


def same_value(x):
    x[0] = 5


def read_only(x):
    if x[0] == 1:
        x[cuda.grid(1)] = 0


def own_elements(x):
    i = cuda.grid(1)
    for _ in range(3):
        x[i] += x[i] + 1


def epochs(x):
    held = cuda.shared.array(8, float32)
    t = cuda.threadIdx.x
    for k in range(8):
        if t == k:
            held[(k + 1) % 8] = held[k] + 1 if k else 1
        cuda.syncthreads()
    x[cuda.grid(1)] = held[t]


def shared_by_two_blocks(x):
    held = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        held[0] = cuda.blockIdx.x
    cuda.syncthreads()
    x[cuda.grid(1)] = held[0]


@pytest.mark.parametrize(
    "function", [same_value, read_only, own_elements, epochs, shared_by_two_blocks],
    ids=lambda function: function.__name__,
)  # fmt: skip
@pytest.mark.parametrize(("blocks", "threads"), [(1, 8), (8, 1), (2, 4)])
def test_what_is_ordered_is_no_race(function, blocks, threads):
    """Also: threads that write the same value, whose order does not change the result."""
    if function is epochs and threads < 8:
        pytest.skip("a thread for each epoch")
    checked(function)[blocks, threads](np.zeros(64, np.int32))


def shift(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


def test_two_views_of_one_array_are_seen_as_one():
    """Also where their elements differ in size."""
    x = np.zeros(9, np.float32)
    checked(shift)[1, 8](x[:8], x[:8])
    for a, b in ((x[1:], x[:-1]), (x[:-1], x[1:]), (x.view(np.int16), x[:8])):
        with pytest.raises(RaceError):
            checked(shift)[1, 8](a, b)


def test_strides_and_several_axes():
    """An element is found in an array whose strides are negative; the error has its index."""

    def turned(x):
        i, j = cuda.grid(2)
        x[i, j] = x[j, i]

    checked(turned)[1, (1, 1)](np.zeros((3, 3))[::-1, ::-1])
    with pytest.raises(RaceError) as caught:
        checked(turned)[1, (3, 3)](np.zeros((3, 3))[::-1, ::-1])
    assert sorted(caught.value.index) == [0, 1]


def of_records(pair, points):
    i = cuda.grid(1)
    x, n = pair
    points[i].y = x[i] + n
    points[0].x = points[i].y


def test_arrays_in_tuples_and_fields_of_records():
    """Two fields are two elements."""
    points = np.zeros(4, [("x", "i1"), ("y", "f8")])

    with pytest.raises(RaceError) as caught:
        checked(of_records)[1, 4]((np.arange(4), 2), points)

    assert "points[0].x" in str(caught.value).splitlines()[1]
    checked(of_records)[1, 1]((np.arange(4), 2), points)
    assert points[0].tolist() == (2, 2)


def twice_as_much(x):
    row = x[cuda.threadIdx.x]
    row[0] = row[1] * 2


def one_too_far(x):
    row = x[cuda.threadIdx.x, 1:]
    row[0] = x[cuda.threadIdx.x - 1, 1] if cuda.threadIdx.x else 0


def test_rows_and_slices():
    """A view is memory of its array."""
    checked(twice_as_much)[1, 3](np.ones((3, 4)))
    with pytest.raises(RaceError):
        checked(one_too_far)[1, 3](np.arange(12.0).reshape(3, 4))


@pytest.mark.emulated
@pytest.mark.usefixtures("cuda_driver")
@pytest.mark.parametrize("race", RACES[:4], ids=lambda race: f"{race[0].__name__} {race[1]}")
def test_the_emulated_driver_reports_the_same(race):
    """Also where two arrays are parts of one allocation; a launch without a race follows."""
    function, blocks, threads, text, index = race
    kernel, memory = checked(function), cuda.to_device(np.zeros(16, np.int32))

    with pytest.raises(RaceError) as caught:
        kernel[blocks, threads](memory[8:])
    kernel[1, 1](memory[:8])
    with pytest.raises(RaceError, match=r"y\[1\]"):
        checked(shift)[1, 8](memory[8:], memory[7:15])

    assert text in str(caught.value)
    assert index in f"{caught.value.index}"


# ---------------------------------------------------------------- warps, atomic operations, fences

FULL = 0xFFFFFFFF


def neighbours_in_a_warp(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for k in range(3):
        held[t] = t + k
        cuda.syncwarp()
        x[t] = held[t ^ 1]
        cuda.syncwarp()


def neighbours_without_the_second_wait(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for k in range(3):
        held[t] = t + k
        cuda.syncwarp()
        x[t] = held[t ^ 1]


def neighbours_in_two_warps(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = t
    cuda.syncwarp()
    x[t] = held[t ^ 32]


def half_a_warp(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
        x[t] = held[15 - t]


def the_other_half(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
        x[t] = held[t + 16]


def by_way_of_a_third_lane(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = t
    if t < 2:
        cuda.syncwarp(0b011)
    if 0 < t < 3:
        cuda.syncwarp(0b110)
    if t == 2:
        x[0] = held[0]


def only_a_shuffle(x):
    held = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    held[t] = t
    x[t] = cuda.shfl_sync(FULL, t, 0)
    x[t] = held[t ^ 1]


def counted(x):
    cuda.atomic.add(x, 0, 1)


def counted_and_read(x):
    cuda.atomic.add(x, 0, 1)
    if cuda.grid(1) == 1:
        x[1] = x[0]


def counted_then_read(x):
    held = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        held[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(held, 0, 1)
    cuda.syncthreads()
    x[cuda.grid(1)] = held[0]


def set_without_barrier(x):
    held = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        held[0] = 0
    cuda.atomic.add(held, 0, 1)
    x[cuda.grid(1)] = 0


def last_block_sums(x):
    last = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        x[1 + cuda.blockIdx.x] = 1
        cuda.threadfence()
        last[0] = cuda.atomic.add(x, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and cuda.threadIdx.x == 1:
        for k in range(cuda.gridDim.x):
            x[40] += x[1 + k]


def last_block_sums_without_fence(x):
    last = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        x[1 + cuda.blockIdx.x] = 1
        last[0] = cuda.atomic.add(x, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and cuda.threadIdx.x == 1:
        for k in range(cuda.gridDim.x):
            x[40] += x[1 + k]


def locked(x):
    while cuda.atomic.cas(x, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    x[1] += 1
    cuda.threadfence()
    cuda.atomic.exch(x, 0, 0)


def unlocked(x):
    cuda.threadfence()
    x[1] += 1
    cuda.threadfence()
    cuda.atomic.exch(x, 0, 0)


ORDERED = [
    (neighbours_in_a_warp, 1, 64, False),
    (neighbours_without_the_second_wait, 1, 64, True),
    (neighbours_in_two_warps, 1, 64, True),
    (half_a_warp, 1, 32, False),
    (the_other_half, 1, 32, True),
    (by_way_of_a_third_lane, 1, 32, False),
    (only_a_shuffle, 1, 32, True),
    (counted, 2, 32, False),
    (counted_and_read, 1, 32, True),
    (counted_and_read, 3, 1, True),
    (counted_then_read, 2, 32, False),
    (set_without_barrier, 1, 32, True),
    (last_block_sums, 4, 2, False),
    (last_block_sums_without_fence, 4, 2, True),
    (locked, 1, 8, False),
    (locked, 8, 1, False),
    (locked, 3, 3, False),
    (unlocked, 1, 2, True),
    (unlocked, 2, 1, True),
]


@pytest.mark.parametrize(("function", "blocks", "threads", "is_race"), ORDERED, ids=named)
def test_warps_atomic_operations_and_fences_order_accesses(function, blocks, threads, is_race):
    """Of functions of warps only syncwarp; an atomic operation after a fence, and one before."""
    kernel, x = checked(function), np.zeros(64, np.int32)

    if not is_race:
        kernel[blocks, threads](x)
        return
    with pytest.raises(RaceError):
        kernel[blocks, threads](x)
