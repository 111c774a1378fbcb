"""A launch that is similar to an earlier one has the same result, on both cores and in order.

Source: CUDA driver API, ``cuLaunchKernel``; CUDA Array Interface, version 3, Synchronization.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange._streams import _cuda_modules as modules
from interchange._streams.pending import BorrowedWork, PendingWork, WorkOnConsumer
from interchange.cuda.consumer import OrderedByUser

from .comparing import run_in_threads

pytestmark = [pytest.mark.interop, pytest.mark.emulated]

COUNT = 32


@cuda.jit
def add(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] += x[i]


@pytest.fixture
def again(emulator):  # noqa: ARG001 - it is loaded
    """Return ``again(arguments, stream)``: whether the core launches `add` without Python.

    It was launched with two arrays before.
    """
    if ix.core_name != "native":
        pytest.skip("the ctypes core leaves launches to Python")
    kernel = cuda.jit(add.__wrapped_kernel__)
    kernel[1, COUNT](ones(), ones())

    def launch(*arguments, stream=1):
        return kernel._repeater.launch(kernel[1, COUNT, stream]._configuration, arguments)

    return launch


def ones(dtype="f4", count=COUNT, stream=None):
    """Return a new array on the device."""
    return cuda.to_device(np.ones(count, dtype), stream=stream)


def on_host(x):
    """Return the elements."""
    return np.asarray(x.to_device("cpu")).tolist()


# ---------------------------------------------------------------- both cores


@pytest.fixture(scope="module")
def told(run_isolated, cores):
    """Return the result of each launch, by core."""
    found = {}
    for core in cores:
        rows = run_isolated("launches.py", env={"INTERCHANGE_CORE": core}).splitlines()
        found[core] = [json.loads(row) for row in rows]
    return found


@pytest.mark.isolated
def test_launches_of_all_kinds_end_alike_on_both_cores(told):
    """The results are the elements; or class, rule and message of the error."""
    assert told["native"] == told["ctypes"]


@pytest.mark.isolated
def test_a_launch_ends_like_the_one_before(told):
    """The fast path gives the same results and the same errors."""
    rows = told["native"]

    assert [row for row, *more in zip(*[iter(rows)] * 3, strict=True) if more != [row, row]] == []


@pytest.mark.isolated
def test_there_are_launches_of_every_end(told):
    """Many launches succeed, and others are refused for several reasons."""
    said = [row[1] for row in told["native"]]
    rules = {each[1] for each in said if isinstance(each, list)}

    assert sum(isinstance(each, str) for each in said) > len(said) / 3
    assert {"CPY-ARG-1", "CPY-ARG-2", "CPY-ARG-3", "CPY-LAUNCH-1", "CPY-NPM-1"} <= rules


# ---------------------------------------------------------------- fast path of the core


def test_a_launch_like_an_earlier_one_is_done_by_the_core(again):
    """Other arrays of the same kind use the fast path."""
    x, out = ones(), ones()

    assert again(x, out) == 1
    assert on_host(out) == [2] * COUNT


def test_an_array_of_any_length_is_like_another(again):
    """Lengths are passed, and are not part of the cached launch."""
    x, out = ones(count=7), ones(count=5)

    assert again(x, out) == 1
    assert on_host(out) == [2] * 5


DECLINED = {
    "another element type": lambda: (ones("f8"), ones()),
    "a number": lambda: (1, ones()),
    "of NumPy": lambda: (np.ones(COUNT, "f4"), ones()),
    "None": lambda: (None, ones()),
    "too few": lambda: (ones(),),
    "too many": lambda: (ones(), ones(), ones()),
    "another layout": lambda: (ones(count=2 * COUNT)[::2], ones()),
    "more axes": lambda: (ones().reshape((4, 8)), ones()),
    "less aligned": lambda: (ones(count=COUNT + 1)[1:], ones()),
    "another device": lambda: (ix.asarray(np.ones(COUNT, "f4")).to_device("cuda_host"), ones()),
    "on the host": lambda: (ix.asarray(np.ones(COUNT, "f4")), ones()),
    "another stream": lambda: (ones(stream=cuda.stream()), ones()),
}


@pytest.mark.parametrize("kind", DECLINED)
def test_another_argument_is_left_to_python(again, kind):
    """Nothing was enqueued in this case."""
    arguments = DECLINED[kind]()

    assert again(*arguments) == 0
    assert on_host(arguments[-1]) == [1] * COUNT


@pytest.mark.parametrize("readonly", [True, None])
def test_an_array_that_may_not_be_written_is_left_to_python(again, readonly):
    """Python refuses it if the kernel writes it."""
    x, out = ones(), ones()
    out._flags = None if readonly is None else 1

    assert again(x, out) == 0
    with pytest.raises(ix.ReadOnlyError):
        add[1, COUNT](x, out)


WORK = {
    "none": (None, False),
    "on the stream": (PendingWork(1, 0, None), True),
    "on another": (PendingWork(7, 0, None), False),
    "on no stream": (PendingWork(None, 0, None), False),
    "made ready": (WorkOnConsumer(1, 0, None), True),
    "made ready elsewhere": (WorkOnConsumer(7, 0, None), False),
    "of a producer": (WorkOnConsumer(1, 0, None, PendingWork(1, 0, None)), False),
    "lent": (BorrowedWork(1, 0, None, None), False),
    "ordered by the user": (OrderedByUser(7, 0, None), True),
}


@pytest.mark.parametrize("kind", WORK)
def test_the_core_launches_if_no_stream_has_to_wait(again, kind):
    """`is_settled` decides this; the test has its table."""
    work, is_settled = WORK[kind]
    x, out = ones(), ones()
    if work is None:
        cuda.synchronize()
        del x._pending_work
    else:
        x._pending_work = work

    assert cuda.consumer.is_settled(x, 1) is is_settled
    assert again(x, out) == is_settled
    cuda.synchronize()


def test_the_default_stream_of_a_thread_is_left_to_python(again):
    """The handle is a different stream in each thread."""
    assert again(ones(stream=2), ones(stream=2), stream=2) == 0


def test_a_launch_that_the_driver_refuses_is_left_to_python(again):
    """Python resolves the error, or raises it."""
    x, out = ones(), ones()
    seen = []

    def launch(_):
        seen.append(again(x, out))  # this thread has no context
        add[1, COUNT](x, out)

    add[1, COUNT](x, out)
    run_in_threads(1, launch)

    assert seen == [0]
    assert on_host(out) == [3] * COUNT


def test_more_kinds_of_arguments_than_a_core_learns_are_launched(emulator):  # noqa: ARG001 - it is loaded
    """Further kinds are launched by Python."""
    kernel = cuda.jit(add.__wrapped_kernel__)
    names = ("i1", "i2", "i4", "i8", "f4", "f8")
    for _ in range(2):
        for first in names:
            for second in names:
                out = ones(second)
                kernel[1, COUNT](ones(first), out)
                assert on_host(out) == [2] * COUNT


# ---------------------------------------------------------------- brackets


@pytest.mark.parametrize("brackets", [(True, COUNT), (1.0, COUNT), (1, float(COUNT)), (1, True)])
def test_brackets_that_only_equal_known_ones_are_refused(brackets):
    """A bool or a float is not a size, with and without a stream."""
    stream = cuda.stream()
    for known in ((1, COUNT), (1, COUNT, stream), (1, 1)):
        assert add[known]._configuration.grid == (1, 1, 1)

    for given in (brackets, (*brackets, stream)):
        with pytest.raises(ix.ArgumentError, match=r"\[CPY-LAUNCH-1\]"):
            add[given]


def test_known_brackets_name_the_stream_that_is_given(emulator):  # noqa: ARG001 - it is loaded
    """The stream is used for each launch."""
    add[1, COUNT]
    for stream in (cuda.stream(), cuda.stream()):
        found = add[1, COUNT, stream]._configuration

        assert found == ((1, 1, 1), (COUNT, 1, 1), stream.handle, stream, 0)


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_wait_that_is_taken_away_is_missed(emulator, times):
    """The detector sees the reads and writes of each launch, on the fast path as well."""
    stream, other = cuda.stream(), cuda.stream()
    x, out = ones(stream=stream), ones(stream=stream)
    add[1, COUNT, other](ones(stream=other), ones(stream=other))  # loaded in advance: this may wait
    for _ in range(times):
        add[1, COUNT, stream](x, out)
    with emulator.without_waits():
        add[1, COUNT, other](out, x)
    words = f"add on stream {other.handle:#x}.*not ordered after add on stream {stream.handle:#x}"
    reports = emulator.expect_reports(match=words)

    assert reports
    cuda.synchronize()


def test_launches_on_two_streams_are_in_order(emulator):
    """A stream waits for the other if an array is used on both."""
    stream, other = cuda.stream(), cuda.stream()
    x, out = ones(stream=stream), ones(stream=stream)
    for _ in range(4):
        add[1, COUNT, stream](x, out)
        add[1, COUNT, other](x, out)

    assert on_host(out) == [9] * COUNT
    assert emulator.reports() == []


def test_threads_launch_at_once(emulator):  # noqa: ARG001 - it is loaded
    """Each thread has separate arrays of several kinds, while others add new kinds."""
    kernel, threads, found = cuda.jit(add.__wrapped_kernel__), 6, {}
    start = threading.Barrier(threads)

    def launch(number):
        stream = cuda.stream()
        dtype = ("f4", "f8", "i4")[number % 3]
        x, out = ones(dtype, stream=stream), ones(dtype, stream=stream)
        start.wait()
        for _ in range(200):
            kernel[1, COUNT, stream](x, out)
        found[number] = on_host(out)

    run_in_threads(threads, launch)

    assert found == {number: [201] * COUNT for number in range(threads)}


def test_threads_load_a_kernel_once(emulator, monkeypatch):  # noqa: ARG001 - it is loaded
    """Code that one thread launched is not replaced by that of another, while it may run."""
    kernel, threads, loads = cuda.jit(add.__wrapped_kernel__), 4, []
    start, load = threading.Barrier(threads), modules.load_function

    def slowly(*given):
        loads.append(given)
        time.sleep(0.05)  # the other threads arrive
        return load(*given)

    monkeypatch.setattr(modules, "load_function", slowly)

    def launch(_):
        stream = cuda.stream()
        x, out = ones(stream=stream), ones(stream=stream)
        start.wait()
        kernel[1, COUNT, stream](x, out)
        assert on_host(out) == [2] * COUNT

    run_in_threads(threads, launch)

    assert len(loads) == 1


# ---------------------------------------------------------------- leaks

OFTEN = 100_000


def test_launches_leave_nothing_behind(emulator):  # noqa: ARG001 - it is loaded
    """No memory or references are left, whatever the number of launches."""
    x, out = ones(), ones()
    watched = [x, out, x.dtype, type(x._pending_work), None, True, False]

    def launch(count):
        for k in range(count):
            add[1, COUNT](x, out)
            if k % 1000 == 0:
                cuda.synchronize()

    launch(1100)
    cuda.synchronize()
    gc.collect()
    counts = [sys.getrefcount(each) for each in watched]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    launch(OFTEN)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    cuda.synchronize()

    assert grown < OFTEN / 10  # bytes: less than one per ten launches
    grown_counts = [sys.getrefcount(each) - n for each, n in zip(watched, counts, strict=True)]
    assert max(map(abs, grown_counts)) < OFTEN / 1000


@pytest.mark.isolated
def test_a_forked_process_launches_nothing_that_its_parent_loaded(run_isolated, core_env):
    """The cache of the core is cleared in the child, and the launch is refused with an error."""
    said = run_isolated("launch_after_fork.py", env=core_env, warnings="ignore").split("\n")
    by_core = core_env["INTERCHANGE_CORE"] == "native"

    assert said == [str(by_core), "False", "IX-DRIVER-3", f"[{4.0 if by_core else 3.0}]", ""]
