"""An exchange that runs out of memory leaks nothing."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

import pytest

pytest.importorskip("_testcapi", reason="allocations are made to fail by CPython's test module")
pytestmark = pytest.mark.isolated

ALONE = """
import _testcapi, sys
def act():
    return (lambda: 1)()
(code,) = [one for one in act.__code__.co_consts if hasattr(one, "co_code")]
kept = [code] * 1000
before = sys.getrefcount(code)
for place in range(60):
    _testcapi.set_nomemory(place, place + 1)
    try:
        act()
    except MemoryError:
        pass
    finally:
        _testcapi.remove_mem_hooks()
print(sys.getrefcount(code) - before)
"""
"""Creates a function without memory, in pure Python, and counts references."""
ACTS = (
    "export-versioned",
    "export-legacy",
    "export-first",
    "import-versioned",
    "import-legacy",
    "import-own",
    "import-numpy",
    "import-buffer",
)
MAKES_FUNCTIONS = {"export-first", "import-buffer"}  # generator expressions among them


@lru_cache(maxsize=1)
def keeps_code():
    """Whether a failed creation of a function releases no code in use, as in CPython 3.13.0."""
    command = [sys.executable, "-c", ALONE]
    return int(subprocess.run(command, check=True, capture_output=True).stdout) == 0


ARROW = ("arrow-array", "arrow-stream", "arrow-take", "arrow-ask")


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("act", ARROW)
def test_a_failed_allocation_leaks_no_struct_of_arrow(run_isolated, core_env, act):
    """No Arrow struct leaks, exported by the native core and imported by either."""
    assert run_isolated("allocations.py", act, env=core_env).strip() == "True []"


@pytest.mark.exhaustive(
    but=[f"{core}-{act}-versioned" for core in ("ctypes", "native") for act in ("export", "import")]
)
@pytest.mark.parametrize("act", ACTS)
def test_a_failed_allocation_leaks_no_owner(run_isolated, core_env, act):
    """Whichever allocation fails, and whatever error ctypes raises, no reference is left."""
    if act in MAKES_FUNCTIONS and not keeps_code():
        pytest.skip("this CPython frees code in use where a function gets no memory: see ALONE")
    assert run_isolated("allocations.py", act, env=core_env) == "True []\n"
