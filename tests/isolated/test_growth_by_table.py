"""Nothing grows where C callers exchange: 100,000 times each."""

from __future__ import annotations

import platform

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/self/statm"),
    pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core serves no C callers"),
]
MOST = 2  # [bytes] of growth per operation


def test_nothing_grows(run_isolated):
    """Exports, loans, imports, refusals and allocations through the table, cycles, subclasses."""
    rows = map(str.split, run_isolated("growth_by_table.py").splitlines())
    found = {name: (int(size) / int(times) < MOST, int(more)) for name, times, size, more in rows}

    assert found == dict.fromkeys(found, (True, 0))
    assert len(found) == 14
