"""Events of Arrow's device arrays where a process ends or forks, or an exception is in flight."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.emulated,
    pytest.mark.skipif(ix.core_name != "native", reason="exports are the native core's"),
]


@pytest.mark.parametrize(
    "where", ["in_globals", "in_builtins", "in_cycles", "in_atexit", "in_daemon_thread"]
)
def test_the_end_is_clean(run_isolated, where):
    """A process with exports and imports of them ends cleanly."""
    assert not run_isolated("arrow_events.py", where)


def test_a_forked_child_leaves_the_events_of_its_parent(run_isolated):
    """A forked child does not destroy or record events; the parent destroys its own."""
    said = run_isolated("arrow_events.py", "forked", warnings="ignore").splitlines()

    assert said == ["child True", "child IX-DRIVER-3", "parent 4 0"]


def test_an_exception_in_flight_survives_the_release_of_an_event(run_isolated):
    """The exception survives for every kind of holder, and the event is destroyed."""
    said = run_isolated("arrow_events.py", "in_flight").splitlines()

    assert said == ["('on its way',)"] * 4 + ["0"]
