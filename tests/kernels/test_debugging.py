"""Exceptions of kernels are reported in debug mode, with the thread, on both targets.

Source: Numba for CUDA, "Debugging CUDA Python".
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import KernelError, float32
from interchange.cuda.llvm.ptx import to_ptx

from .ptx_machine import Machine, MachineError

pytestmark = pytest.mark.interop  # that extra installs LLVM
LIMIT = "at most 100"


def root(x):
    assert x >= 0, "no root"
    return x + 1


def roots(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = root(x[i])


def raises(x):
    i = cuda.grid(1)
    if i >= x.size:
        raise IndexError("too many threads", 3)
    x[i] = 1


def limited(x):
    i = cuda.grid(1)
    assert x[i] <= 100, LIMIT
    cuda.syncthreads()
    x[i] += 1


def outside(x):
    x[cuda.grid(1) * 2] = 1


CASES = {
    roots: ("AssertionError", "AssertionError: no root", "root", "no root", (2, 0, 0), (1, 0, 0)),
    raises: (
        "IndexError",
        "IndexError: too many threads, 3",
        "raises",
        "raise",
        (2, 0, 0),
        (2, 0, 0),
    ),
    limited: (
        "AssertionError",
        "AssertionError: at most 100",
        "limited",
        "LIMIT",
        (0, 0, 0),
        (2, 0, 0),
    ),
    outside: ("", "an index is out of bounds", "outside", "* 2", (1, 0, 0), (1, 0, 0)),
}


def values():
    """Return ten numbers: the seventh is negative, and the ninth large."""
    x = np.ones(10, np.float32)
    x[6], x[8] = -1, 101
    return x


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_an_exception_is_reported_with_its_thread(function, where):
    """The first thread that raises in a block order is named, with the line."""
    exception, what, inside, shown, thread, block = CASES[function]
    x = values() if where == "CPU" else cuda.to_device(values())
    kernel = cuda.jit(function, debug=True)

    with pytest.raises(KernelError) as caught:
        kernel[3, 4](x)

    error = caught.value
    assert (error.exception, error.thread, error.block) == (exception, thread, block)
    assert (
        error.what == f"{what}, in thread {thread} of block {block} of kernel {function.__name__}"
    )
    assert f"in {inside}()" in error.call
    assert shown in str(error).splitlines()[1]
    kernel[1, 4](np.ones(9, np.float32))  # the report is gone


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_ptx_reports_the_same(function):
    """The last parameter is the address of the report."""
    _, _, _, _, thread, block = CASES[function]
    kernel, x, report = cuda.jit(function), values(), np.zeros(32, np.int32)
    program = kernel.typed(float32[::1])
    machine = Machine(to_ptx(program, checks=True))
    with nullcontext() if function is not limited else pytest.raises(MachineError, match="wait"):
        machine.launch(function.__name__, (3,), (4,), [x, *_address(machine, report)])

    assert report[0] > 0
    assert tuple(report[1:7]) == thread + block


def _address(machine, report):
    return [np.int64(machine.map("global", report))]


@pytest.mark.parametrize("debug", [False, True])
def test_a_raised_exception_ends_its_thread(debug):
    """Other threads go on; without debug mode nothing is reported."""
    x = values()[:2].copy()
    kernel = cuda.jit(raises, debug=debug)
    if debug:
        with pytest.raises(KernelError, match="too many threads"):
            kernel[1, 3](x)
    else:
        kernel[1, 3](x)

    assert x.tolist() == [1, 1]


def test_an_assertion_costs_nothing_without_debug_mode():
    """Its test is not compiled."""
    assert "icmp" in cuda.jit(limited, debug=True).inspect_llvm(float32[::1])
    text = to_ptx(cuda.jit(limited).typed(float32[::1]))
    assert "setp" not in text


def test_a_name_that_an_assertion_assigns_is_not_used_elsewhere():
    """It would have no value without debug mode."""

    def named(x):
        assert (n := x[0]) > 0  # noqa: RUF018 - it is refused
        x[1] = n

    with pytest.raises(KernelError, match="n is assigned in an assertion"):
        cuda.jit(named).typed(float32[::1])
