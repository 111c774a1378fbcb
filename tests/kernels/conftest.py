"""What of these tests is left out where there is no LLVM: what imports it."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("llvmlite") else ["test_ptx.py", "ptx_machine.py"]
