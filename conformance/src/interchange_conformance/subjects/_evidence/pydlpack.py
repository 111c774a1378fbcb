"""What pydlpack 0.2.1 does, seen by hand.

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
    """The destructor is a callback of ctypes, which does not bear an exception in flight."""
    x, numbers = dlpack.asdlpack(np.arange(6.0)), iter(())
    with contextlib.suppress(StopIteration):
        max(x.__dlpack__(), next(numbers))
    dlpack.asdlpack(np.arange(6.0)).__dlpack__()


def deleters_run_after_python() -> None:
    """So is the deleter, which a consumer in C++ may call when Python has ended."""
    claim = Claim(dlpack.asdlpack(np.arange(6.0)).__dlpack__())
    deleter, struct = ctypes.c_void_p(claim.managed.deleter), ctypes.c_void_p(claim.address)
    ctypes.CDLL(None).__cxa_atexit(deleter, struct, None)  # what a static of C++ does
