"""Ray: its store is shared memory, in which Arrays are stored as ndarrays are.

Source: Ray, Serialization: objects are pickled with protocol 5, buffers are put into the store.
"""

from __future__ import annotations

import json
import sys

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SCRIPT = """
import json, os
from pathlib import Path

import numpy as np
import ray

import interchange as ix


def is_shared(ptr):
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, end = (int(part, 16) for part in line.split()[0].split("-"))
        if first <= ptr < end:
            return "/dev/shm" in line
    return False


@ray.remote
def look(array):
    return os.getpid(), is_shared(array.ptr), array.readonly, array.tolist()


ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False,
         object_store_memory=100_000_000, configure_logging=False)
try:
    memory = np.random.default_rng(0).random((100, 1000))
    stored = ray.put(ix.asarray(memory))
    got, again = ray.get(stored), ray.get(stored)
    theirs = ray.get(ray.put(memory))
    process, shared, readonly, elements = ray.get(look.remote(stored))
    print(json.dumps({
        "values": got.tolist() == memory.tolist(),
        "one memory": got.ptr == again.ptr,
        "shared": [is_shared(got.ptr), is_shared(theirs.ctypes.data)],
        "read-only": [got.readonly, not theirs.flags.writeable],
        "in a task": [process != os.getpid(), shared, readonly, elements == memory.tolist()],
    }))
finally:
    ray.shutdown()
"""
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


@pytest.fixture(scope="module")
def found(need, run_child):
    """Results of a process that started Ray, put an Array into its store, and got it back."""
    need("ray")
    if sys.platform != "linux":
        pytest.skip("shared memory is looked for in /proc")
    done = run_child(SCRIPT, env=QUIET)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


EXPECTED = {
    "values": True,  # the retrieved Array equals the stored one
    "shared": [True, True],  # `ray.get` copies nothing, as for ndarrays
    "one memory": True,  # two calls return views of the same memory
    "read-only": [True, True],  # it is shared with other processes, as for ndarrays
    "in a task": [True, True, True, True],  # the argument of a task is in shared memory, too
}


@pytest.mark.parametrize("fact", EXPECTED)
def test_arrays_are_stored_as_ndarrays_are(found, fact):
    """Elements survive the store, whose memory is shared and read-only, in tasks as well."""
    assert found[fact] == EXPECTED[fact]
