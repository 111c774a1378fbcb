"""Nothing grows where columns of Arrow come in, go out and are refused: 100,000 times."""

from __future__ import annotations

import platform

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.usefixtures("arrow_zoo", "cores"),  # the native core makes what both take
    pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc/self/statm"),
]

MOST = 20  # [bytes] of growth per operation; the smallest struct has 72
IMPORTS = (
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
EXPORTS = (
    "out-array",
    "out-stream",
    "out-device-array",
    "out-device-stream",
    "out-schema",
    "out-table",
    "out-and-in",
    "out-and-in-tensor",
)
REFUSALS = (
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
SAMPLE = ("native-in-array", "ctypes-refuse-nulls")
"""What the default run tries, beside an export."""


def grown(run_isolated, name, core):
    """Return the growth per operation [bytes], and the references gained."""
    said = run_isolated("growth_columns.py", name, env={"INTERCHANGE_CORE": core}).split()
    found, times, size, more = said[0], *map(int, said[1:])
    assert found == name
    return size / times, more


@pytest.mark.exhaustive(but=SAMPLE)
@pytest.mark.parametrize("name", [*IMPORTS, *REFUSALS])
def test_imports_and_refusals_leave_nothing(run_isolated, core_env, name):
    """Of arrays and streams, shared and copied; refused before and after anything was taken."""
    per_operation, references = grown(run_isolated, name, core_env["INTERCHANGE_CORE"])

    assert (per_operation < MOST, references) == (True, 0)


@pytest.mark.exhaustive(but=["out-array"])
@pytest.mark.parametrize("name", EXPORTS)
def test_exports_leave_nothing(run_isolated, name):
    """Dropped untaken, or taken by ourselves."""
    per_operation, references = grown(run_isolated, name, "native")

    assert (per_operation < MOST, references) == (True, 0)
