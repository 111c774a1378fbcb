"""Threads that do the same at once: with the GIL, and on a free-threaded Python without it.

`tox -e freethreaded` runs this, and the tests of the layers, if there is such a Python.
"""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = pytest.mark.isolated

ACTS = (
    "import_and_drop",
    "consume_one_capsule",
    "meet_a_type",
    "meet_a_dtype",
    "export_first",
    "describe_first",
    "change_fields",
    "compute",
    "check_contracts",
)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("seconds", [0.3, pytest.param(10, marks=pytest.mark.slow)])
def test_eight_threads_do_not_disturb_each_other(run_isolated, core_env, seconds, act):
    """Each thread gets the result that it gets alone, and nothing leaks."""
    assert run_isolated("together.py", seconds, act, env=core_env) == "True [] 0\n"


def test_the_core_needs_no_gil(run_isolated, core_env, has_gil):
    """Its import on a free-threaded Python does not switch the GIL on, of which CPython warns."""
    script = """
import sys
import interchange
print(interchange.core_name, getattr(sys, "_is_gil_enabled", lambda: True)())
"""
    said = run_isolated(script, env={**core_env, "PYTHON_GIL": ""})

    assert said.split() == [core_env["INTERCHANGE_CORE"], str(has_gil)]


def test_a_capsule_is_claimed_under_its_own_lock(run_isolated, has_gil):
    """A capsule is consumed under CPython's object lock, as other consumers do."""
    if has_gil or ix.core_name != "native":
        pytest.skip("for the native core on a free-threaded Python")

    assert run_isolated("claiming.py").split() == ["lock", "import"]
