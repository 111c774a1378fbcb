"""Launches on the CPU that are interrupted or run while the process exits."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.interop

KERNEL = """
import atexit, os, signal, threading, time
import numpy as np
from interchange import cuda

@cuda.jit
def slow(x, rounds):
    i = cuda.grid(1)
    s = 0.0
    for k in range(rounds):
        s = s * 0.5 + k
    if i < x.shape[0]:
        x[i] = s
"""
INTERRUPTED = """
x = np.zeros(8192)
slow[64, 128](x, 1)
interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
interrupt.start()
try:
    slow[64, 128](x, 1_000_000)
except KeyboardInterrupt:
    pass
at_first = x.copy()
time.sleep(0.5)
print((x == at_first).all())
"""
AT_EXIT = """
def last():
    x = np.zeros(8192)
    slow[64, 128](x, 2)
    print((x == 1).all())

atexit.register(last)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_when_an_interrupted_launch_has_ended_nothing_is_written_any_more(run_isolated, tmp_path):
    """Its arrays may be freed, and their memory reused."""
    program = tmp_path / "interrupted.py"
    program.write_text(KERNEL + INTERRUPTED)

    assert run_isolated(str(program)).split() == ["True"]


def test_a_kernel_runs_while_the_process_ends(run_isolated, tmp_path):
    """New threads cannot be started at that time."""
    program = tmp_path / "at_exit.py"
    program.write_text(KERNEL + AT_EXIT)

    assert run_isolated(str(program)).split() == ["True"]
