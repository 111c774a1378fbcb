"""An exchange that is interrupted at a random moment leaks nothing."""

from __future__ import annotations

import platform

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(platform.system() == "Windows", reason="signal.setitimer is of POSIX"),
]

ROUNDS = 1500


def run(run_isolated, loop, core_env):
    """Return the counts of a loop, by name."""
    _, *words = run_isolated("interrupts.py", loop, ROUNDS, env=core_env).split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


@pytest.mark.parametrize(
    "loop",
    [
        "export",
        "numpy",
        "capsule",
        "arrow",
        pytest.param("torch", marks=pytest.mark.interop),
        pytest.param("cai", marks=pytest.mark.emulated),
    ],
)
def test_an_interrupt_leaks_no_owner(run_isolated, need, request, core_env, loop):
    """No reference to an owner is left, and no finaliser raised."""
    if loop == "torch":
        need("torch")
    if loop == "arrow":
        request.getfixturevalue("cores")  # the native one makes what both take
    found = run(run_isolated, loop, core_env)

    assert (found["rounds"], found["ours"], found["left"]) == (ROUNDS, 0, 0)
