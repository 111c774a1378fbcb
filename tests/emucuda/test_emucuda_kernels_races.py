"""Race detection for kernels: reports have their names and use the bytes of their arrays."""

from __future__ import annotations

import ctypes
import itertools
import random

import pytest

from .host_kernels import AXPY, PAINT, array, doubles

pytestmark = pytest.mark.emulated

LEGACY, PER_THREAD = 1, 2
ITEM = 4  # [bytes]


@pytest.fixture
def touch(kernels):
    """Return a function that launches a kernel which declares that it reads or writes an array."""
    functions = {}

    def launch(stream, start, lengths, strides, access="w"):
        key = len(lengths), access
        if key not in functions:
            parameters = f"a{ITEM}:{len(lengths)}:{access}"
            functions[key] = kernels.function(("idle", 0, 0, parameters), name=f"touch_{access}")
        kernels.launch(functions[key], stream, array(start, lengths, strides))

    return launch


def add(kernels, stream, x, y):
    """Launch ``y += x`` for four elements."""
    function = kernels.function(AXPY)
    values = ctypes.c_double(1), doubles(x, 4), doubles(y, 4)
    kernels.launch(function, stream, *values, block=(4, 1, 1))


# ---------------------------------------------------------------- order


HAZARDS = {"RAW": ("w", "r"), "WAR": ("r", "w"), "WAW": ("rw", "rw")}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_missing_wait_is_reported_by_the_kernels_names(cuda, streams, memory, touch, hazard):
    """Each pair of accesses with a write is reported, whatever the timing."""
    before, after = HAZARDS[hazard]
    touch(streams[0], memory, (8,), (4,), before)
    touch(streams[1], memory, (8,), (4,), after)
    (report,) = cuda.emulator.expect_reports(1)

    assert f"({hazard}): touch_{after} on stream {int(streams[1]):#x}" in report
    assert f"not ordered after touch_{before} on stream {int(streams[0]):#x}" in report


def test_kernels_in_order_are_no_race(cuda, kernels, streams, memory):
    """Kernels ordered by an event, by their stream or by the host do not race."""
    add(kernels, streams[0], memory, memory + 64)
    cuda.order(*streams)
    add(kernels, streams[1], memory + 64, memory)
    add(kernels, streams[1], memory, memory + 64)
    cuda.cuStreamSynchronize(streams[1])
    add(kernels, streams[0], memory, memory + 64)

    assert cuda.emulator.reports() == []


def test_a_wait_that_is_taken_away_is_missed(cuda, kernels, streams, memory):
    """The kernels were correct because of the wait."""
    add(kernels, streams[0], memory, memory + 64)
    with cuda.emulator.without_waits():
        cuda.order(*streams)
    add(kernels, streams[1], memory + 64, memory + 128)

    cuda.emulator.expect_reports(1, match="RAW.*: axpy on .*not ordered after axpy on")


def test_two_readers_are_no_race(cuda, streams, memory, touch):
    """Two reads do not race, in either order."""
    touch(streams[0], memory, (8,), (4,), "r")
    touch(streams[1], memory, (8,), (4,), "r")

    assert cuda.emulator.reports() == []


def test_an_array_that_is_left_alone_is_no_access(cuda, streams, memory, touch):
    """An array without access needs no memory at its address."""
    touch(streams[0], memory, (8,), (4,), "w")
    touch(streams[1], memory, (8,), (4,), "-")
    touch(streams[1], 0x10, (8,), (4,), "-")

    assert cuda.emulator.reports() == []


def test_a_kernel_and_a_fill_race(cuda, streams, memory, touch):
    """A kernel races like any other operation."""
    cuda.cuMemsetD8Async(memory, 7, 64, streams[0])
    touch(streams[1], memory, (8,), (4,), "r")

    cuda.emulator.expect_reports(1, match="RAW.*: touch_r on .*after cuMemsetD8Async on")


def test_default_streams_order_kernels(cuda, memory, touch):
    """The legacy stream waits for blocking and per-thread streams; other streams race with it."""
    touch(PER_THREAD, memory, (8,), (4,))
    touch(LEGACY, memory, (8,), (4,))
    ordered = cuda.emulator.reports()
    touch(cuda.stream(), memory, (8,), (4,))

    assert ordered == []
    cuda.emulator.expect_reports(1, match="after touch_w on the legacy stream")


def test_kernels_of_two_devices_race_for_managed_memory(cuda, streams, touch):
    """Managed memory is the same memory on all devices."""
    managed = int(cuda.cuMemAllocManaged(64, 1))
    touch(streams[0], managed, (8,), (4,))
    with cuda.device(1):
        kernel = cuda.emulator.annotate
        kernel(cuda.stream(), managed, 32, write=False, what="theirs")

    cuda.emulator.expect_reports(1, match="RAW.*: theirs on .*after touch_w on")


def test_branches_of_a_graph_race(cuda, memory, touch):
    """No edge orders the branches, so launches do not order them either."""
    cuda.captured(lambda a, b: (touch(a, memory, (8,), (4,)), touch(b, memory, (8,), (4,), "r")))

    cuda.emulator.expect_reports(1, match="RAW.*: touch_r on .*after touch_w on")


def test_a_launch_of_a_graph_races_with_other_streams(cuda, streams, memory, touch):
    """Each launch counts as the kernels of the graph."""
    executable = cuda.instantiated(streams[0], lambda: touch(streams[0], memory, (8,), (4,)))
    cuda.cuGraphLaunch(executable, streams[0])
    touch(streams[1], memory, (8,), (4,), "r")
    cuda.order(streams[1], streams[0])
    cuda.cuGraphLaunch(executable, streams[0])
    touch(streams[1], memory, (8,), (4,), "r")

    cuda.emulator.expect_reports(2, match="RAW.*: touch_r on .*after touch_w on")


def test_a_kernel_and_the_end_of_its_memory_race(cuda, streams, touch):
    """An asynchronous free must be ordered after the kernel."""
    memory = int(cuda.cuMemAllocAsync(64, streams[0]))
    cuda.order(*streams)
    touch(streams[1], memory, (8,), (4,), "r")
    cuda.cuMemFreeAsync(memory, streams[0])

    cuda.emulator.expect_reports(1, match="free while in use: .*after touch_r on")


# ---------------------------------------------------------------- bytes


def test_interleaved_columns_are_no_race(cuda, kernels, streams, memory):
    """Even and odd columns of a matrix share no byte, with strides of either sign."""
    paint = kernels.function(PAINT)
    even = array(memory, (8, 8), (64, 8))
    odd = array(memory + 7 * 64 + 60, (8, 8), (-64, -8))
    kernels.launch(paint, streams[0], ctypes.c_int32(1), even)
    kernels.launch(paint, streams[1], ctypes.c_int32(2), odd)
    cuda.cuCtxSynchronize()

    assert cuda.emulator.reports() == []
    assert cuda.emulator.read(memory, 512) == b"\1\0\0\0\2\0\0\0" * 64


def test_columns_that_meet_are_a_race(cuda, kernels, streams, memory):
    """One shared column is sufficient for a race."""
    paint = kernels.function(PAINT)
    kernels.launch(paint, streams[0], ctypes.c_int32(1), array(memory, (8, 8), (64, 8)))
    kernels.launch(paint, streams[1], ctypes.c_int32(2), array(memory + 4, (8, 2), (64, 4)))

    cuda.emulator.expect_reports(1, match="WAW.*: paint on .*in 1x8 rows of 8 bytes")


def test_a_broadcast_array_is_one_element(cuda, streams, memory, touch):
    """The bytes beside the element belong to other allocations."""
    touch(streams[0], memory, (1000, 1000), (0, 0))
    touch(streams[1], memory + 4, (8,), (4,))

    assert cuda.emulator.reports() == []


def test_many_arrays_are_all_seen(cuda, kernels, streams, memory, touch):
    """All arrays count, even if they exceed the space of one operation, and in a graph as well."""
    parameters = " ".join([f"a{ITEM}:1:w"] * 20)
    function = kernels.function(("idle", 0, 0, parameters), name="scatter")
    cuda.begin(streams[0])
    kernels.launch(function, streams[0], *(array(memory + 64 * i, (4,), (4,)) for i in range(20)))
    executable = cuda.cuGraphInstantiate(cuda.cuStreamEndCapture(streams[0]), 0)
    cuda.cuGraphLaunch(executable, streams[0])
    for i in range(20):
        touch(streams[1], memory + 64 * i + 12, (4,), (4,))

    cuda.emulator.expect_reports(20, match="WAW.*after scatter on")


def offsets_of(lengths, strides):
    """Return the offsets of the bytes of an array from its first element."""
    steps = (
        [step * stride for step in range(length)]
        for length, stride in zip(lengths, strides, strict=True)
    )
    starts = {sum(place) for place in itertools.product(*steps)}
    return {start + byte for start in starts for byte in range(ITEM)}


def drawn(random_source, size):
    """Return a random array within `size` bytes: first offset, lengths and strides."""
    while True:
        axes = random_source.randint(0, 5)
        lengths = [random_source.randint(1, 4) for _ in range(axes)]
        strides = [ITEM * random_source.randint(-16, 16) for _ in range(axes)]
        offsets = offsets_of(lengths, strides)
        low, high = -min(offsets), size - max(offsets)
        if low < high:
            return random_source.randrange(low, high), lengths, strides


@pytest.mark.parametrize("seed", range(8))
def test_arrays_race_exactly_if_they_share_a_byte(cuda, streams, touch, seed):
    """Random arrays race if and only if they share a byte, as far as few regions describe them."""
    random_source, size, wrong, met = random.Random(seed), 256, [], 0  # noqa: S311 - no secrets
    memory = cuda.memory(size)
    for _ in range(100):
        pair = [drawn(random_source, size) for _ in range(2)]
        for stream, (first, lengths, strides) in zip(streams, pair, strict=True):
            touch(stream, memory + first, lengths, strides)
        one, other = (
            {first + offset for offset in offsets_of(lengths, strides)}
            for first, lengths, strides in pair
        )
        met += bool(one & other)
        if bool(one & other) != bool(cuda.emulator.reports()):
            wrong.append(pair)
        cuda.cuCtxSynchronize()
        cuda.emulator.reset()

    assert wrong == []
    assert 0 < met < 100


STRIDES = 8, 76, 688, 6196  # [bytes]: no two axes are one, and elements have gaps between them


@pytest.mark.parametrize(("lengths", "reports"), [((9, 9, 8, 8), 0), ((9, 9, 9, 8), 1)])
def test_an_array_of_many_regions_counts_as_its_span(cuda, streams, touch, lengths, reports):
    """Gaps count as well in this case, so that no race is missed."""
    memory = cuda.memory(65536)
    touch(streams[0], memory, lengths, STRIDES)
    touch(streams[1], memory + 4, (1,), (4,))

    found = cuda.emulator.reports()
    cuda.emulator.reset()

    assert len(found) == reports
