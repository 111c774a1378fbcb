"""The first export of a process, which imports NumPy, made by many threads at once."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from interchange._core._numpy import is_ndarray

EXPORT = """
import ctypes, sys, threading, time
sys.setswitchinterval(1e-6)
import interchange as ix

THREADS = 16
block = (ctypes.c_float * 64)()
start = threading.Barrier(THREADS)
outcomes = []

def export(number):
    dtype = ("bfloat16", "float32")[number % 2]
    array = ix.from_pointer(ctypes.addressof(block), (4, 4), dtype, owner=block)
    start.wait()
    time.sleep(number * 0.004)  # [seconds]; NumPy's import takes longer than all of them
    try:
        outcomes.append(ix.from_dlpack(array.__dlpack__(max_version=(1, 0))).shape)
    except BaseException as error:
        outcomes.append(repr(error))

before = "numpy" in sys.modules
threads = [threading.Thread(target=export, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(before, "numpy" in sys.modules, outcomes == [(4, 4)] * THREADS or outcomes)
"""


@pytest.mark.isolated
def test_threads_that_export_first_all_succeed(run_isolated):
    """Threads that export first all succeed, even while one of them is importing NumPy."""
    env = {"INTERCHANGE_CORE": "ctypes"}  # the native core needs no NumPy to export

    assert run_isolated(EXPORT, env=env).strip() == "False True True"


@pytest.mark.parametrize("numpy", [ModuleType("numpy"), None], ids=["half imported", "blocked"])
def test_without_numpy_nothing_is_an_ndarray(monkeypatch, numpy):
    """A module that is being imported is listed before it has anything in it."""
    monkeypatch.setitem(sys.modules, "numpy", numpy)

    assert (is_ndarray(bytearray(4)), is_ndarray(None)) == (False, False)


def test_an_ndarray_is_known_by_its_exact_type():
    """Subclasses keep memory in ways of their own."""
    assert is_ndarray(np.zeros(2))
    assert not is_ndarray(np.zeros(2).view(np.recarray))
