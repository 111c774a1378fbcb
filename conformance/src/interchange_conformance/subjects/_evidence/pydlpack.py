"""The behaviour of pydlpack 0.2.1, without the checks.

Source: https://github.com/pearu/pydlpack
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

import dlpack
import numpy as np

from interchange_conformance.zoo.structs import Claim

ENDS: Final = {
    "capsules_die_while_an_exception_flies": "SIGSEGV",
    "deleters_run_after_python": "SIGSEGV",
}


def capsules_die_while_an_exception_flies() -> None:
    """The destructor is a ctypes callback, which fails if an exception is in flight."""
    x, numbers = dlpack.asdlpack(np.arange(6.0)), iter(())
    with contextlib.suppress(StopIteration):
        max(x.__dlpack__(), next(numbers))
    dlpack.asdlpack(np.arange(6.0)).__dlpack__()


def deleters_run_after_python() -> None:
    """The deleter is a ctypes callback, too, which a C++ consumer may call after finalisation."""
    claim = Claim(dlpack.asdlpack(np.arange(6.0)).__dlpack__())
    deleter, struct = ctypes.c_void_p(claim.managed.deleter), ctypes.c_void_p(claim.address)
    ctypes.CDLL(None).__cxa_atexit(deleter, struct, None)  # like a static object of C++
