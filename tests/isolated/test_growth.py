"""Nothing grows: not the memory, not the reference counts of owners."""

from __future__ import annotations

import functools
import platform

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/self/statm"),
]

MOST = 20  # [bytes] of growth per operation; the smallest struct has 64, the smallest object 16
IMPORTS = (
    "import-ndarray",
    "import-ndarray-looked-at",
    "import-on-cpu",
    "import-legacy-capsule",
    "import-versioned-capsule",
    "import-bare-producer",
    "import-modern-producer",
    "import-fresh",
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
"""One of each group, which are run together."""
GROUPS = [SAMPLE] + [
    tuple(name for name in group if name not in SAMPLE)
    for group in (IMPORTS, EXPORTS, ROUND_TRIPS, REFUSALS)
]


@pytest.fixture(scope="module")
def growth(run_isolated):
    """Return bytes per operation and references gained, by operation; each group runs once."""

    @functools.cache
    def run(group):
        lines = map(str.split, run_isolated("growth.py", *group).splitlines())
        return {name: (int(size) / int(times), int(more)) for name, times, size, more in lines}

    return run


def test_a_leak_is_seen(growth):
    """The harness sees the smallest leak that it is there to see."""
    per_operation, _ = growth(("control-leak",))["control-leak"]

    assert per_operation > MOST


@pytest.mark.exhaustive(but=SAMPLE)
@pytest.mark.parametrize(
    ("group", "name"),
    [pytest.param(group, name, id=name) for group in GROUPS for name in group],
)
def test_nothing_grows(growth, group, name):
    """Done over and over, an import, export, round trip or refusal leaves nothing behind.

    Exports are dropped unconsumed; refusals come before and after the capsule is taken.
    """
    per_operation, references = growth(group)[name]

    assert (per_operation < MOST, references) == (True, 0)


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("name", ARROW)
def test_structs_of_arrow_leave_nothing(growth, name):
    """Exported, taken, refused: by the core in use, and exported by the native one."""
    per_operation, references = growth(ARROW)[name]

    assert (per_operation < MOST, references) == (True, 0)


@pytest.mark.interop
def test_the_exchange_table_leaves_nothing(growth, need):
    """Imports through the C exchange table of torch leave nothing behind."""
    need("torch")
    per_operation, references = growth(("import-exchange-table",))["import-exchange-table"]

    assert (per_operation < MOST, references) == (True, 0)
