"""Beginnings of programs that tests run in processes of their own, and their launcher."""

import os
import subprocess
import sys

PYTHON = sys.executable
CLEAN = {name: text for name, text in os.environ.items() if not name.startswith("EMUCUDA_")}

ON_DRIVER = """
from interchange_conformance.emucuda import load
emulator = load()
from cuda.bindings import driver as d

d.cuInit(0)
d.cuCtxSetCurrent(d.cuDevicePrimaryCtxRetain(0)[1])
"""
"""Loads the emulated driver, by cuda.bindings; its first device is current."""
BY_CTYPES = """
import ctypes, os, sys

def check(code):
    if code:
        sys.exit(f"code {code}")

def start():
    cu, context, ptr = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    check(cu.cuInit(0))
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cu.cuCtxSetCurrent(context))
    check(cu.cuMemAlloc_v2(ctypes.byref(ptr), ctypes.c_size_t(64)))
    return cu, ptr

def new_stream(cu):
    stream = ctypes.c_void_p()
    check(cu.cuStreamCreate(ctypes.byref(stream), 1))
    return stream

def race(streams=2):
    cu, ptr = start()
    for _ in range(streams):
        check(cu.cuMemsetD8Async(ptr, 7, ctypes.c_size_t(64), new_stream(cu)))
    check(cu.cuCtxSynchronize())
    return cu, ptr

"""
"""Defines `race`, in which streams write the same memory; the driver is found by its name."""


def launch(*words, timeout=100, **environment):
    """Run the launcher, and return the completed process."""
    return subprocess.run(
        [PYTHON, "-m", "interchange_conformance.emucuda", *map(str, words)],
        env={**CLEAN, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
