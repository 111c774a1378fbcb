"""Errors of each function if NumPy is older than interchange requires, or claims to be."""

from __future__ import annotations

import sys

import numpy as np

if len(sys.argv) > 1:
    np.__version__ = sys.argv[1]  # before any use of interchange

import interchange as ix

CALLS = {
    "from_dlpack": lambda: ix.from_dlpack(np.arange(6.0)),
    "again": lambda: ix.from_dlpack(np.arange(6.0)),
    "asarray": lambda: ix.asarray(np.arange(6.0)),
    "copy=True": lambda: ix.asarray(np.arange(6.0), copy=True),
    "a subclass": lambda: ix.asarray(np.arange(6.0).view(np.recarray)),
    "accepts_arrays": lambda: ix.accepts_arrays("x")(lambda x: x)(np.arange(6.0)),
    "borrow": lambda: ix.borrow(np.arange(6.0), stream=None).__enter__(),
    "computing": lambda: ix.asarray(bytearray(8)) + 1,
    "namespace": lambda: ix.xp.zeros(3),
    "copy": lambda: ix.asarray(bytearray(8)).copy(),
    "index": lambda: ix.asarray(bytearray(8))[[1, 2]],
    "convert": lambda: ix.convert(bytearray(8), "numpy"),
    "repr": lambda: repr(ix.asarray(bytearray(8))),
}


def said(name):
    """Return the exception of a call: its rule, its class and its message."""
    try:
        CALLS[name]()
    except ix.InterchangeError as error:
        return f"{type(error).__name__} [{error.rule}] {error}"
    except Exception as error:  # noqa: BLE001 - any exception is shown
        return f"{type(error).__name__}: {error}"
    return "nothing"


for name in CALLS:
    told = said(name)
    print(f"{name}: {told}")
    if "[IX-NUMPY-1]" not in told or f"NumPy {np.__version__} is loaded" not in told:
        sys.exit(f"{name} says something else")
if ix.asarray(bytearray(b"needs no NumPy")).nbytes != len("needs no NumPy"):
    sys.exit("a buffer needs NumPy")
if ix.core_name == "ctypes":  # whose capsules have NumPy's deleters
    CALLS["export"] = ix.asarray(bytearray(8)).__dlpack__
    if "[IX-NUMPY-1]" not in said("export"):
        sys.exit(f"export: {said('export')}")
