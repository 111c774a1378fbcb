"""A capsule is consumed in one step: by one thread, and regardless of interrupts."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_one_thread_wins(run_isolated, generation):
    """One of two threads consumes a capsule, and the deleter runs once."""
    report = run_isolated("racing.py", "alike", generation).strip()

    assert report == "winners 1 released 0 then 1"


@pytest.mark.usefixtures("cores")
def test_one_thread_wins_a_struct_of_arrow(run_isolated, core_env):
    """One of two threads moves the struct out of a capsule, and it is released once."""
    report = run_isolated("racing.py", "arrow", env=core_env).strip()

    assert report == "winners 1 held 1.0 then 0"


@pytest.mark.interop
def test_one_library_wins(run_isolated, need):
    """Either interchange or torch, which consumes in one step of C, gets the capsule."""
    need("torch")

    assert run_isolated("racing.py", "torch").strip() == "both won 0 and torch won some"


@pytest.mark.parametrize("by", ["by_the_collector", "by_a_signal"])
def test_an_import_may_interrupt_an_import(run_isolated, core_env, has_gil, by):
    """A finaliser or a signal handler that imports during an import does not deadlock.

    In the native core collections begin between two imports only, and only without the GIL.
    """
    is_interrupted = by == "by_a_signal" or core_env["INTERCHANGE_CORE"] == "ctypes"
    expected = is_interrupted or not has_gil

    assert run_isolated("reentering.py", by, env=core_env).strip() == f"interrupted {expected}"
