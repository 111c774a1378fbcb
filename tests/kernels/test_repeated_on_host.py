"""A launch on the CPU like an earlier one is made by the core, with the same results and errors.

Source: interchange.cuda.host_launch; The Arrow C data interface (columns).
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import float32, void
from interchange.cuda.configuration import MOST_DYNAMIC

from .comparing import run_in_threads

pytestmark = pytest.mark.interop

COUNT = 32


@cuda.jit
def add(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] += x[i]


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i] * factor


@cuda.jit
def reverse(x, out):
    part = cuda.shared.array(COUNT, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    out[t] = part[cuda.blockDim.x - 1 - t]


@cuda.jit
def diverge(x):
    if cuda.threadIdx.x < x[0]:
        cuda.syncthreads()


@pytest.fixture
def again():
    """Return ``again(kernel, configuration, *arguments)``: the answer of the core, 1 or 0."""
    if ix.core_name != "native":
        pytest.skip("the ctypes core leaves launches to Python")

    def launch(kernel, configuration, *arguments):
        return kernel._repeater.launch(kernel[configuration]._configuration, arguments)

    return launch


def learned(kernel, configuration, *arguments):
    """Return a new kernel that was launched before."""
    found = cuda.jit(kernel.__wrapped_kernel__)
    found[configuration](*arguments)
    return found


def ones(dtype="f4", count=COUNT):
    """Return a new array."""
    return np.ones(count, dtype)


def columns():
    """Return functions that make a column of a library that is installed."""
    found = {}
    for name, make in {
        "polars": lambda m, x: m.Series(x),
        "pyarrow": lambda m, x: m.array(x),
        "pandas": lambda m, x: m.Series(x),
        "torch": lambda m, x: m.from_numpy(x),
        "memoryview": None,
        "Array": None,
    }.items():
        if make is None:
            found[name] = memoryview if name == "memoryview" else ix.asarray
        elif importlib.util.find_spec(name):
            found[name] = lambda x, name=name, make=make: make(importlib.import_module(name), x)
    return found


FAST = ("polars", "pyarrow", "torch", "memoryview", "Array")


@pytest.mark.parametrize("library", columns())
def test_columns_of_a_library_are_taken_by_the_core(again, library):
    """Those of pandas are left to Python; the elements are right in both cases."""
    make, out = columns()[library], ones()
    kernel = learned(add, (1, COUNT), make(ones()), ones())

    assert again(kernel, (1, COUNT), make(np.arange(COUNT, dtype="f4")), out) == (library in FAST)
    if library in FAST:
        assert out.tolist() == list(range(1, COUNT + 1))
    kernel[1, COUNT](make(ones()), out)
    assert out[0] == 2


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_column_with_nulls_is_refused_as_before(library):
    """Python raises the error, with the name of the argument."""
    module = pytest.importorskip(library)
    make = module.Series if library == "polars" else module.array
    plain, holes = make([1.0, 2.0]), make([1.0, None])
    errors = []
    for kernel in (cuda.jit(add.__wrapped_kernel__), learned(add, (1, 2), plain, ones("f8", 2))):
        out = ones("f8", 2)
        with pytest.raises((ix.ExchangeError, TypeError)) as caught:
            kernel[1, 2](holes, out)
        errors.append(str(caught.value))
        assert out.tolist() == [1, 1]

    assert errors[0] == errors[1]


OTHER = {
    "another element type": lambda: (ones("f8"), ones()),
    "every second": lambda: (ones(count=2 * COUNT)[::2], ones()),
    "not aligned to 8 bytes": lambda: (ones(count=COUNT + 1)[1:], ones()),
    "two axes": lambda: (ones().reshape(4, 8), ones()),
    "a number": lambda: (1, ones()),
    "None": lambda: (None, ones()),
    "too few": lambda: (ones(),),
    "too many": lambda: (ones(), ones(), ones()),
    "a capsule": lambda: (ones().__dlpack__(), ones()),
    "a list": lambda: ([1.0] * COUNT, ones()),
}


@pytest.mark.parametrize("kind", OTHER)
def test_other_arguments_are_left_to_python(again, kind):
    """Nothing ran, and a capsule can still be consumed."""
    kernel = learned(add, (1, COUNT), ones(), ones())
    arguments = OTHER[kind]()

    assert again(kernel, (1, COUNT), *arguments) == 0
    assert arguments[-1].tolist() == [1] * COUNT
    if kind == "a capsule":
        kernel[1, COUNT](*arguments)
        assert arguments[-1].tolist() == [2] * COUNT


def test_lengths_and_numbers_are_those_of_each_launch(again):
    """They are passed, and are no part of the kind of a launch."""
    kernel = learned(scale, (1, COUNT), ones(), 2.0, ones())
    out = ones(count=5)

    assert again(kernel, (1, COUNT), ones(count=5), 7.5, out) == 1
    assert out.tolist() == [7.5] * 5


def test_a_read_only_array_is_refused_each_time(again):
    """The kind of a launch contains the flag."""
    kernel, out = learned(add, (1, COUNT), ones(), ones()), ones()
    out.flags.writeable = False
    for _ in range(3):
        assert again(kernel, (1, COUNT), ones(), out) == 0
        with pytest.raises(ix.ReadOnlyError, match=r"\[CPY-ARG-2\]"):
            kernel[1, COUNT](ones(), out)
    assert out.tolist() == [1] * COUNT


def test_shared_memory_and_barriers_have_memory_of_the_launch(again):
    """A block has its own, and frames of waiting threads."""
    kernel = learned(reverse, (1, COUNT), ones(), ones())
    x, out = np.arange(COUNT, dtype="f4"), ones()

    assert again(kernel, (1, COUNT), x, out) == 1
    assert out.tolist() == x[::-1].tolist()


def test_more_shared_memory_than_a_block_has_is_left_to_python_each_time(again):
    """The kernel's own array and that of the launch count together."""
    kernel = learned(reverse, (1, COUNT), ones(), ones())
    room = MOST_DYNAMIC - 4 * COUNT
    most, more = (1, COUNT, None, room), (1, COUNT, None, room + 1)

    assert again(kernel, most, ones(), ones()) == 1
    for _ in range(2):
        assert again(kernel, more, ones(), ones()) == 0
        with pytest.raises(ix.ArgumentError, match=r"\[CPY-LAUNCH-2\]"):
            kernel[more](ones(), ones())


def test_a_barrier_that_not_all_threads_reach_is_told_each_time():
    """A launch by the core has the same error."""
    x, errors = np.zeros(1, "i4"), []
    kernel = learned(diverge, (1, COUNT), x)
    x[0] = 7
    for _ in range(3):
        with pytest.raises(ix.ExchangeError, match=r"\[CPY-BARRIER-1\]") as caught:
            kernel[1, COUNT](x)
        errors.append(str(caught.value))

    assert len(set(errors)) == 1


@pytest.mark.parametrize("configuration", [(200, COUNT), (1, COUNT, 7)], ids=["large", "stream"])
def test_large_grids_and_named_streams_are_left_to_python(again, configuration):
    """Workers run the blocks; the stream of a GPU is waited for."""
    kernel = learned(add, (1, COUNT), ones(), ones())

    assert again(kernel, configuration, ones(), ones()) == 0


def test_a_stream_of_the_cpu_has_no_effect(again, monkeypatch):
    """Programs for a GPU name streams."""
    monkeypatch.setattr("interchange.cuda.streams.find_driver", lambda _: None)
    kernel, out = learned(add, (1, COUNT), ones(), ones()), ones()

    assert again(kernel, (1, COUNT, cuda.stream()), ones(), out) == 1
    assert out.tolist() == [2] * COUNT


def test_checks_are_made_at_each_launch():
    """Kernels in debug mode are launched in Python."""
    kernel = cuda.jit(debug=True)(add.__wrapped_kernel__)
    for _ in range(2):
        kernel[1, COUNT](ones(), ones())
    with pytest.raises(cuda.KernelError, match=r"\[CPY-INDEX-3\]"):
        kernel[1, COUNT](ones(count=3), ones())
    assert kernel._repeater.launch is None


def test_a_signature_sets_the_types_of_numbers(again):
    """An int that does not fit is refused by Python."""
    kernel = cuda.jit(void(float32[::1], cuda.int8, float32[::1]))(scale.__wrapped_kernel__)
    out = ones()
    kernel[1, COUNT](ones(), 3, out)

    assert again(kernel, (1, COUNT), ones(), 4, out) == 1
    assert out.tolist() == [4] * COUNT
    assert again(kernel, (1, COUNT), ones(), 400, out) == 0
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-ARG-1\]"):
        kernel[1, COUNT](ones(), 400, out)


class Interrupting:
    """An array whose export is interrupted."""

    error: type[BaseException] | None = None

    def __init__(self):
        self.x = ones()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if self.error is not None:
            raise self.error
        return self.x.__dlpack__(**keywords)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_an_exception_of_a_producer_reaches_the_caller(error, monkeypatch):
    """The kernel does not run."""
    kernel, out = learned(add, (1, COUNT), Interrupting(), ones()), ones()
    kernel[1, COUNT](Interrupting(), out)
    monkeypatch.setattr(Interrupting, "error", error)
    with pytest.raises(error):
        kernel[1, COUNT](Interrupting(), out)
    assert out.tolist() == [2] * COUNT


def test_threads_launch_at_once():
    """Each has arrays of another type."""
    kernel, found = cuda.jit(add.__wrapped_kernel__), {}

    def launch(number):
        dtype = ("f4", "f8", "i4")[number % 3]
        x, out = ones(dtype), ones(dtype)
        for _ in range(300):
            kernel[1, COUNT](x, out)
        found[number] = out.tolist()

    run_in_threads(6, launch)

    assert found == {number: [301] * COUNT for number in range(6)}


def test_launches_keep_nothing():
    """Arrays are released when the launch returns."""
    kernel, x, out = learned(add, (1, COUNT), ones(), ones()), ones(), ones()
    count = sys.getrefcount(x)
    for _ in range(1000):
        kernel[1, COUNT](x, out)
    other = ix.asarray(ones())
    kernel[1, COUNT](other, out)
    gone = weakref.ref(other)
    del other
    gc.collect()

    assert (sys.getrefcount(x), gone()) == (count, None)


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if it was imported
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python
def test_a_forked_process_launches_on_the_cpu():
    """The code is memory of the process, which a child has as well."""
    kernel, out = learned(add, (1, COUNT), ones(), ones()), ones()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        kernel[1, COUNT](ones(), out)
        os.write(write, bytes([int(out[0])]))
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(read, 1) == b"\x02"
