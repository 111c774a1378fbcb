"""Two processes share memory, and end in every order, also by SIGKILL."""

from __future__ import annotations

import os
import sys

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="handles are for Linux"),
]

ROUNDS = int(os.environ.get("INTERCHANGE_SHARING_ROUNDS", "1"))
"""Rounds of each cell of the matrix; 1,000 take hours."""


@pytest.mark.parametrize("memory", ["mmap", "shm", "memfd"])
def test_forked_processes_share(run_isolated, memory):
    """The data is right, the last process reads on, and no descriptor is left."""
    assert run_isolated("sharing.py", memory, "fork", "all", ROUNDS).split() == [str(5 * ROUNDS)]


def test_unrelated_processes_share(run_isolated):
    """A handle that was pickled into a pipe opens in a process that is no relative."""
    assert run_isolated("sharing.py", "memfd", "unrelated", "exporter_killed", 1).split() == ["1"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["spawn", "unrelated"])
@pytest.mark.parametrize("memory", ["mmap", "shm", "memfd"])
def test_started_processes_share(run_isolated, memory, how):
    """As forked processes."""
    passed = run_isolated("sharing.py", memory, how, "all", ROUNDS, timeout=110 * ROUNDS)
    assert passed.split() == [str(5 * ROUNDS)]
