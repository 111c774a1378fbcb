"""Neither memory nor reference counts of owners grow."""

from __future__ import annotations

import functools
import platform

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/self/statm"),
]

MOST = 20  # [bytes] of growth per operation; the smallest struct has 64, the smallest object 16
MOST_OF_TABLE = 2  # what C callers do is done 100,000 times each
IMPORTS = (
    "import-ndarray",
    "import-ndarray-looked-at",
    "import-on-cpu",
    "import-legacy-capsule",
    "import-versioned-capsule",
    "import-bare-producer",
    "import-modern-producer",
    "import-buffer",
    "import-pointer",
    "import-view",
    "import-copy",
)
EXPORTS = (
    "export-struct-legacy",
    "export-struct-versioned",
    "export-first",
    "export-first-float32",
    "export-numpy-legacy",
    "export-numpy-versioned",
    "export-read-only",
    "export-unknown-legacy",
    "export-unknown-versioned",
    "export-copy",
)
ROUND_TRIPS = (
    "round-struct",
    "round-read-only",
    "round-bfloat16",
    "round-import",
    "round-legacy",
)
REFUSALS = (
    "refuse-struct",
    "refuse-strides",
    "refuse-consumed",
    "refuse-read-only",
    "refuse-max-version",
    "refuse-stream",
    "refuse-assumption",
    "refuse-by-numpy",
)
ARROW = ("arrow-capsule", "arrow-array", "arrow-stream", "arrow-taken", "arrow-refused")
SAMPLE = ("import-ndarray", "export-struct-versioned", "round-struct", "refuse-struct")
"""One operation of each group, which run together."""
GROUPS = [SAMPLE] + [
    tuple(name for name in group if name not in SAMPLE)
    for group in (IMPORTS, EXPORTS, ROUND_TRIPS, REFUSALS)
]
COLUMNS_IN = (
    "in-array",
    "in-device-array",
    "in-stream",
    "in-lists",
    "in-tensors",
    "in-bits",
    "in-copy",
    "in-nulls",
    "in-storage",
    "in-chunks",
    "in-asarray",
)
COLUMNS_OUT = (
    "out-array",
    "out-stream",
    "out-device-array",
    "out-device-stream",
    "out-schema",
    "out-table",
    "out-and-in",
    "out-and-in-tensor",
)
COLUMNS_REFUSED = (
    "refuse-nulls",
    "refuse-count",
    "refuse-type",
    "refuse-storage",
    "refuse-buffer",
    "refuse-chunks",
    "refuse-stream",
    "refuse-device",
    "refuse-order",
    "refuse-elements",
)
SAMPLE_OF_COLUMNS = ("native-in-array", "ctypes-refuse-nulls")


@pytest.fixture(scope="module")
def growth(run_isolated):
    """Return bytes per operation and references gained, by operation; each call runs once."""

    @functools.cache
    def run(kind, *names, core=None):
        env = {} if core is None else {"INTERCHANGE_CORE": core}
        lines = map(str.split, run_isolated("growth.py", kind, *names, env=env).splitlines())
        return {name: (int(size) / int(times), int(more)) for name, times, size, more in lines}

    return run


def is_stable(found, most=MOST):
    """Whether neither the memory nor the references grew."""
    per_operation, references = found
    return (per_operation < most, references) == (True, 0)


def test_a_leak_is_detected(growth):
    """The harness detects the smallest leak that matters."""
    per_operation, _ = growth("arrays", "control-leak")["control-leak"]

    assert per_operation > MOST


@pytest.mark.exhaustive(but=SAMPLE)
@pytest.mark.parametrize(
    ("group", "name"),
    [pytest.param(group, name, id=name) for group in GROUPS for name in group],
)
def test_nothing_grows(growth, group, name):
    """Repeated imports, exports, round trips and refusals leak nothing.

    Exports are dropped unconsumed; refusals come before and after the capsule is consumed.
    """
    assert is_stable(growth("arrays", *group)[name])


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("name", ARROW)
def test_structs_of_arrow_leave_nothing(growth, name):
    """Exported, consumed, refused: by the core in use, and exported by the native one."""
    assert is_stable(growth("arrays", *ARROW)[name])


@pytest.mark.interop
def test_the_exchange_table_of_torch_leaves_nothing(growth, need):
    """Imports through the C exchange table of torch leak nothing."""
    need("torch")

    assert is_stable(growth("arrays", "import-exchange-table")["import-exchange-table"])


@pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core has no exchange table")
def test_what_c_callers_do_leaves_nothing(growth):
    """Exports, loans, imports, refusals and allocations through the table, cycles, subclasses."""
    found = growth("table")

    assert [name for name in found if not is_stable(found[name], MOST_OF_TABLE)] == []
    assert len(found) == 14


@pytest.mark.usefixtures("arrow_zoo", "cores")  # the native core makes what both import
@pytest.mark.exhaustive(but=SAMPLE_OF_COLUMNS)
@pytest.mark.parametrize("name", [*COLUMNS_IN, *COLUMNS_REFUSED])
def test_imports_and_refusals_of_columns_leave_nothing(growth, core_env, name):
    """Imports of Arrow arrays and streams leak nothing.

    They are shared, copied, and refused before and after a struct was consumed.
    """
    assert is_stable(growth("columns", name, core=core_env["INTERCHANGE_CORE"])[name])


@pytest.mark.usefixtures("arrow_zoo", "cores")
@pytest.mark.exhaustive(but=["out-array"])
@pytest.mark.parametrize("name", COLUMNS_OUT)
def test_exports_of_columns_leave_nothing(growth, name):
    """Dropped unconsumed, or imported again."""
    assert is_stable(growth("columns", name, core="native")[name])
