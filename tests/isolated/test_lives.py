"""Arrays have the same lifetime with both cores: subclasses, weak references, races, exceptions."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

VALUES = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
SHAPES = "(2, 3)"
RAISED = ("BufferError", "KeyboardInterrupt", "MemoryError", "RecursionError")
SAID = {
    "subclasses": ["[True, True] (2, 3) (3,)", "[None, None]"],
    "finalizers": [f"[(2, 3)] {VALUES} 15.0", "1"],
    "rescued_from_a_cycle": [f"True {VALUES} {VALUES}", "1"],
    "failing_finalizers": ["['OSError'] 1"],
    "odd_slots": ["TypeError", "AttributeError", SHAPES, "TypeError", "3 (3, 1)"],
    "other_class": ["(2, 3) True"],
    "copies": [f"{cls} {cls} {VALUES}" for cls in ("Array", "Slotted", "Open") for _ in range(3)],
    "callbacks": ["[(None, (2, 3))] ['KeyError'] [None, None]"],
    "callbacks_in_cycles": ["1 None"],
    "dying_types": ["0 True"],
    "changing_types": [str([shape] * 3) for shape in ((2, 3), (9,), (2, 3))],
    "first_exports": ["{(0, 1)}"],
    "deleters": ["20 {'KeyError'} {(2, 3)}"],
    "producers_that_raise": [
        f"{ {(name, True)} } True" for name in (*RAISED, "AttributeError", "OSError")
    ],
    "subclasses_that_raise": [str({(name, True)}) for name in RAISED],
}
"""The expected output of the functions of the script."""


@pytest.mark.parametrize("how", SAID)
def test_an_odd_life_ends_well(run_isolated, core_env, how):
    """Subclasses, finalizers, weak references, dying types, threads and rude callbacks."""
    assert run_isolated("lives.py", how, env=core_env).splitlines() == SAID[how]


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_threads_that_race(run_isolated, core_env, seconds):
    """Eight threads that import and drop one array leave its reference count unchanged."""
    assert run_isolated("lives.py", "racing", seconds, env=core_env).split() == ["[]", "0", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["versioned", "legacy", "described", "owner"])
def test_a_chain_of_many_imports_is_freed(run_isolated, core_env, link):
    """A chain of 100,000 imports of capsules of imports is released without recursion."""
    assert run_isolated("chains.py", "thread", link, 100_000, env=core_env) == "freed True\n"
