"""What an Array finds out later is there as a whole, or not yet: two threads may use it first."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

ARRAYS = ["import", "capsule", "buffer", "pointer", "result", "view", "read-only"]


@pytest.mark.slow
@pytest.mark.parametrize("array", ARRAYS)
def test_a_first_use_between_two_bytecodes_of_another_changes_nothing(
    run_isolated, core_env, array
):
    """Both give what they give alone: computing, looking, exporting, and naming a library.

    In the native core most of that is no bytecode, between which threads could change.
    """
    changed, wrong = run_isolated("first_uses.py", "switched", array, env=core_env).split(
        maxsplit=1
    )

    assert (changed == "True" or core_env["INTERCHANGE_CORE"] == "native", wrong) == (True, "{}\n")


@pytest.mark.exhaustive(but=["import", "pointer"])
@pytest.mark.parametrize("array", ARRAYS)
def test_many_threads_use_an_array_first(run_isolated, array):
    """As often as they change by themselves."""
    assert run_isolated("first_uses.py", "many", array).strip() == "True {}"
