"""What of these tests is left out where there is no LLVM: what imports it."""

from __future__ import annotations

import importlib.util

_NEED_LLVM = (
    "ptx_kernels.py",
    "ptx_machine.py",
    "test_differential.py",
    "test_mathematics.py",
    "test_ptx.py",
    "test_rulings.py",
)
collect_ignore = [] if importlib.util.find_spec("llvmlite") else list(_NEED_LLVM)
