"""print() writes the same lines on the CPU, on the emulated driver and in PTX.

Source: Numba for CUDA, "Supported Python features" (print).
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import float32, int64
from interchange.cuda.llvm.ptx import to_ptx

from .ptx_machine import Machine

pytestmark = pytest.mark.interop  # that extra installs LLVM
UNIT = "% of é"


def shown(x, n):
    i = cuda.grid(1)
    print("thread", i, x[i], UNIT, x[i] > 1)
    if i == 1:
        print()
        print(cuda.uint64(18446744073709551615), cuda.int8(-3), 0.1, 1e300 * x[i], "%d%s")
        x[i] = 1 / (x[i] - 2)
        print(x[i], -x[i], n)


def waiting(x, n):  # noqa: ARG001 - as `shown`
    print("before", cuda.threadIdx.x)
    cuda.syncthreads()
    print("after", cuda.threadIdx.x)


LINES = {
    shown: [
        "thread 0 1.000000 % of é False",
        "thread 1 2.000000 % of é True",
        "",
        f"18446744073709551615 -3 0.100000 {2e300:f} %d%s",
        "inf -inf 7",
    ],
    waiting: ["before 0", "before 1", "after 0", "after 1"],
}
CASES = pytest.mark.parametrize("function", LINES, ids=lambda function: function.__name__)


@CASES
def test_lines_are_written_when_the_launch_is_done(function, where, capsys):
    """On a driver, when the host waits for it; in the order of each thread."""
    x = np.array([1, 2], np.float32)
    kernel = cuda.jit(function)

    kernel[1, 2](x if where == "CPU" else cuda.to_device(x), 7)
    cuda.synchronize()

    assert capsys.readouterr().out.splitlines() == LINES[function]


@CASES
def test_ptx_calls_vprintf(function):
    """Its formats are those of Numba."""
    machine = Machine(to_ptx(cuda.jit(function).typed(float32[::1], int64)))
    machine.launch(function.__name__, (1,), (2,), [np.array([1, 2], np.float32), np.int64(7)])

    assert machine.printed.splitlines() == LINES[function]


def test_many_blocks_print_at_once(capsys):
    """Lines of several workers are whole, and those of a thread in their order."""

    @cuda.jit
    def twice():
        i = cuda.grid(1)
        if i % 64 == 0:
            print(i, "first")
            print(i, "second")

    twice[200, 64]()
    lines = capsys.readouterr().out.splitlines()

    pairs = [(f"{64 * i} first", f"{64 * i} second") for i in range(200)]
    assert sorted(lines) == sorted(line for pair in pairs for line in pair)
    assert all(lines.index(first) < lines.index(second) for first, second in pairs)


def test_lines_are_written_before_an_error_is_raised(capsys):
    """They show how far the thread came."""

    @cuda.jit(debug=True)
    def wrong(x):
        print("index", 9)
        x[9] = 1

    with pytest.raises(cuda.KernelError):
        wrong[1, 1](np.zeros(3))
    assert capsys.readouterr().out == "index 9\n"


def test_each_launch_prints(capsys):
    """Also those that the core could repeat."""
    kernel, x = cuda.jit(waiting), np.zeros(1)
    for _ in range(5):
        kernel[1, 1](x, 0)
    assert capsys.readouterr().out == "before 0\nafter 0\n" * 5


def test_another_standard_output_is_used(monkeypatch):
    """As in a notebook."""

    class Written(list):
        write = list.append

    written = Written()
    monkeypatch.setattr(sys, "stdout", written)

    cuda.jit(waiting)[1, 1](np.zeros(1), 0)

    assert "".join(written) == "before 0\nafter 0\n"
