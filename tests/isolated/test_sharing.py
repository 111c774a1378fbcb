"""Two processes share memory, and end in every order, also by SIGKILL."""

from __future__ import annotations

import json
import os
import sys

import pytest

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="handles are for Linux"),
]

ROUNDS = int(os.environ.get("INTERCHANGE_SHARING_ROUNDS", "1"))
"""Rounds of each cell of the matrix; tests/bench/sharing_matrix.py runs more in pieces."""
HOST = ("mmap", "shm", "memfd")
ENDS = 7


@pytest.fixture
def check(run_isolated):
    """Return a function that runs all orders of the ends, and checks what was found."""

    def run(memory, way, orders="all"):
        said = run_isolated("sharing.py", memory, way, orders, ROUNDS, timeout=110 * ROUNDS)
        cells = json.loads(said)
        assert len(cells) == (ENDS if orders == "all" else 1)
        for order, found in cells.items():
            expected = {"rounds": ROUNDS, "crashes": 0, "leaks": 0, "said": []}
            assert found == expected, (memory, way, order)

    return run


@pytest.mark.parametrize("memory", HOST)
def test_forked_processes_share(check, memory):
    """The data is right, the last process reads on, and no descriptor is left."""
    check(memory, "fork")


def test_started_processes_share(check):
    """A handle that was pickled into a pipe opens in a process that is no relative."""
    check("memfd", "started", "exporter_killed")


@pytest.mark.emulated
@pytest.mark.parametrize("memory", ["cuMalloc", "pool", "virtual", "managed", "pinned"])
def test_processes_share_device_memory(check, need, memory):
    """As host memory, with the driver's count; memory without handles is refused, and copied."""
    need("cuda.bindings.driver")
    check(memory, "unrelated")


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["spawn", "started", "unrelated"])
@pytest.mark.parametrize("memory", HOST)
def test_other_processes_share(check, memory, way):
    """As forked processes."""
    check(memory, way)


@pytest.mark.emulated
@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["fork", "spawn", "started"])
@pytest.mark.parametrize("memory", ["cuMalloc", "pool", "virtual", "managed", "pinned"])
def test_other_processes_share_device_memory(check, need, memory, way):
    """Processes that were forked before the driver was used, and those of other interpreters."""
    need("cuda.bindings.driver")
    check(memory, way)


@pytest.mark.emulated
def test_a_process_forked_after_the_driver_was_used_is_refused(run_isolated, need):
    """CUDA cannot be used in it: neither call reaches the driver, and the parent goes on."""
    need("cuda.bindings.driver")
    assert run_isolated("sharing_forked.py").split() == ["IX-DRIVER-3", "IX-DRIVER-3", "0", "0"]


@pytest.mark.emulated
def test_an_exporter_that_ends_while_its_memory_is_opened_is_named(run_isolated, need):
    """The error is that of memory which does not exist any more, not the driver's."""
    need("cuda.bindings.driver")
    assert run_isolated("sharing_ended.py").split() == ["IX-SHARE-4"]
