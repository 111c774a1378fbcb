"""Attributes computed on first use are complete or absent: two threads may use an Array first."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

ARRAYS = ["import", "capsule", "buffer", "pointer", "result", "view", "read-only"]


@pytest.mark.slow
@pytest.mark.parametrize("array", ARRAYS)
def test_a_first_use_between_two_bytecodes_of_another_changes_nothing(
    run_isolated, core_env, array
):
    """Both threads get their results; in the native core most of it is no bytecode."""
    changed, wrong = run_isolated("first_uses.py", "switched", array, env=core_env).split(
        maxsplit=1
    )

    assert (changed == "True" or core_env["INTERCHANGE_CORE"] == "native", wrong) == (True, "{}\n")


@pytest.mark.exhaustive(but=["import", "pointer"])
@pytest.mark.parametrize("array", ARRAYS)
def test_many_threads_use_an_array_first(run_isolated, array):
    """Many threads switch at arbitrary moments, and all get their results."""
    assert run_isolated("first_uses.py", "many", array).strip() == "True {}"
