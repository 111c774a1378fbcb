"""An exchange for which there is no memory leaves nothing behind."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("_testcapi", reason="allocations are made to fail by CPython's test module")
pytestmark = pytest.mark.isolated

of_cpython = pytest.mark.skipif(
    sys.version_info[:2] == (3, 13),
    reason="CPython 3.13.0 crashes in a generator expression that gets no memory",
)
ACTS = (
    "export-versioned",
    "export-legacy",
    pytest.param("export-first", marks=of_cpython),
    "import-versioned",
    "import-legacy",
    "import-own",
    "import-numpy",
    pytest.param("import-buffer", marks=of_cpython),
)


@pytest.mark.parametrize("act", ACTS)
def test_a_failed_allocation_leaks_no_owner(run_isolated, act):
    """Whichever allocation fails, and whatever ctypes makes of the error, no reference is left."""
    assert run_isolated("allocations.py", act) == "True []\n"
