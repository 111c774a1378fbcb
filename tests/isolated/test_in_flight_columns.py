"""An exception in flight survives the release of columns of Arrow: ours, and everybody's."""

from __future__ import annotations

import functools

import pytest

pytestmark = [pytest.mark.isolated, pytest.mark.usefixtures("arrow_zoo", "cores")]

METHODS = ("array", "stream", "device array", "device stream")
IMPORTS = (*METHODS, "view", "DLPack", "memoryview", "copy", "data and mask")
OF_OURS = (
    *(f"import of {name}" for name in IMPORTS),
    *(f"in __del__ {name}" for name in IMPORTS),
    *(f"capsules of {name}" for name in METHODS),
    "in a generator",
    "refused meanwhile",
    "seen in flight",
)
OF_OTHERS = ("its column", "takes ours", "takes ours and hands it back")


@pytest.fixture(scope="module")
def verdicts(run_isolated, need):
    """Return what became of every case of a subject, by case; each runs once on each core."""

    @functools.cache
    def run(subject, core):
        if subject != "interchange":
            need(subject)
        said = run_isolated("in_flight_columns.py", subject, env={"INTERCHANGE_CORE": core})
        return dict(line.rsplit(": ", 1) for line in said.splitlines() if ": " in line)

    return lambda subject, core_env: run(subject, core_env["INTERCHANGE_CORE"])


def test_every_case_is_tried(verdicts, core_env):
    """None of ours is left out."""
    assert set(verdicts("interchange", core_env)) == set(OF_OURS)


@pytest.mark.parametrize("case", OF_OURS)
def test_ours_dies_quietly(verdicts, core_env, case):
    """An import or a capsule, dropped while an exception unwinds, leaves it in place."""
    assert verdicts("interchange", core_env)[case] == "ok"


@pytest.mark.interop
@pytest.mark.parametrize("case", OF_OTHERS)
@pytest.mark.parametrize("library", ["pyarrow", "polars", "nanoarrow"])
def test_columns_of_others_die_quietly(verdicts, core_env, library, case):
    """What we import of a library, and what it takes of ours, is freed all the same."""
    assert verdicts(library, core_env)[case] == "ok"
