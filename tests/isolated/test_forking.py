"""A forked child imports and exports as its parent did."""

from __future__ import annotations

import os

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork"),
]


@pytest.mark.parametrize("how", ["plain", "leaving", "with_threads", "with_multiprocessing"])
def test_a_child_exchanges(run_isolated, how):
    """Arrays cross a fork, also one in the middle of another thread's import."""
    assert run_isolated("forking.py", how).split() == ["0"]
