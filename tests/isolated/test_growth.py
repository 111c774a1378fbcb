"""Neither memory nor reference counts of owners grow."""

from __future__ import annotations

import platform

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/self/statm"),
]

MOST = 20  # [bytes] of growth per operation; the smallest struct has 64, the smallest object 16
MOST_OF_TABLE = 2  # what C callers do is done 100,000 times each
SAMPLE = ("import-ndarray", "export-struct-versioned", "round-struct", "refuse-struct")
"""One operation of each group, which run together."""
GROUPS = ("import-", "export-", "round-", "refuse-")


@pytest.fixture
def growing(run_isolated):
    """Return a function that runs operations, and returns those that leak memory or references."""

    def run(kind, *names, core=None, most=MOST):
        env = {} if core is None else {"INTERCHANGE_CORE": core}
        lines = run_isolated("growth.py", kind, *names, env=env).splitlines()
        assert len(lines) >= len(names) > 0 or len(lines) == 14
        found = [(name, *map(int, numbers)) for name, *numbers in map(str.split, lines)]
        return [name for name, times, size, more in found if size / times >= most or more]

    return run


def test_a_leak_is_detected(growing):
    """The harness detects the smallest leak that matters."""
    assert growing("arrays", "control-leak") == ["control-leak"]


@pytest.mark.exhaustive(but=["sample"])
@pytest.mark.parametrize("names", [SAMPLE, *GROUPS], ids=["sample", *GROUPS])
def test_nothing_grows(growing, names):
    """Imports, unconsumed exports, round trips, and refusals before and after consumption."""
    assert growing("arrays", *([names] if names in GROUPS else names)) == []


@pytest.mark.usefixtures("cores")
def test_structs_of_arrow_leave_nothing(growing):
    """Exported, consumed, refused: by the core in use, and exported by the native one."""
    assert growing("arrays", "arrow-") == []


@pytest.mark.interop
def test_the_exchange_table_of_torch_leaves_nothing(growing, need):
    """Imports through the C exchange table of torch leak nothing."""
    need("torch")

    assert growing("arrays", "torch-exchange-table") == []


@pytest.mark.slow
@pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core has no exchange table")
def test_what_c_callers_do_leaves_nothing(growing):
    """Exports, loans, imports, refusals and allocations through the table, cycles, subclasses."""
    assert growing("table", most=MOST_OF_TABLE) == []


@pytest.mark.usefixtures("arrow_zoo", "cores")  # the native core makes what both import
@pytest.mark.exhaustive(but=["native-in-array"])
@pytest.mark.parametrize("names", ["in-array", "refuse-nulls", "in-", "refuse-"])
def test_imports_and_refusals_of_columns_leave_nothing(growing, core_env, names):
    """Arrow arrays and streams are shared, copied, and refused before and after consumption."""
    assert growing("columns", names, core=core_env["INTERCHANGE_CORE"]) == []


@pytest.mark.usefixtures("arrow_zoo", "cores")
@pytest.mark.exhaustive(but=["out-array"])
@pytest.mark.parametrize("names", ["out-array", "out-"])
def test_exports_of_columns_leave_nothing(growing, names):
    """Dropped unconsumed, or imported again."""
    assert growing("columns", names, core="native") == []
