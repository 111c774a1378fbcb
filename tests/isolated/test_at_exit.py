"""The interpreter exits cleanly while memory is still exported."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.exhaustive(but=["in_globals", "in_cycles", "in_daemon_thread", "with_an_error"])
@pytest.mark.parametrize(
    "where",
    [
        "in_globals",
        "in_modules",
        "in_builtins",
        "in_cycles",
        "on_their_owner",
        "in_atexit",
        "in_finalizers",
        "in_delete",
        "in_thread_locals",
        "in_daemon_thread",
        "immortal",
        "with_an_error",
        "after_the_interpreter",
    ],
)
def test_the_end_is_clean(run_isolated, where):
    """Live arrays, views, exports and unconsumed capsules do not disturb the end of a process."""
    assert not run_isolated("at_exit.py", where)


@pytest.mark.interop
def test_the_end_is_clean_with_other_libraries(run_isolated, need):
    """References between interchange and other libraries do not disturb it either."""
    need("torch")

    last = run_isolated("at_exit.py", "with_libraries").splitlines()[-1]

    assert int(last) >= 10
