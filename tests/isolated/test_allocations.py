"""An exchange for which there is no memory leaves nothing behind."""

from __future__ import annotations

import pytest

pytest.importorskip("_testcapi", reason="allocations are made to fail by CPython's test module")
pytestmark = pytest.mark.isolated

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


@pytest.mark.parametrize("act", ACTS)
def test_a_failed_allocation_leaks_no_owner(run_isolated, act):
    """Whichever allocation fails, and whatever ctypes makes of the error, no reference is left."""
    assert run_isolated("allocations.py", act) == "True []\n"
