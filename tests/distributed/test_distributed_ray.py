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


def test_elements_survive_the_store(found):
    """The retrieved Array equals the stored one."""
    assert found["values"]


def test_an_array_lies_in_the_store_as_an_ndarray_does(found):
    """`ray.get` copies nothing: the memory is shared, as for ndarrays."""
    assert found["shared"] == [True, True]


def test_who_asks_twice_is_given_the_same_memory(found):
    """Two calls return views of the same memory."""
    assert found["one memory"]


def test_what_lies_in_the_store_is_read_only(found):
    """Memory in the store is shared with other processes and read-only, as for ndarrays."""
    assert found["read-only"] == [True, True]


def test_a_task_in_another_process_reads_the_same_store(found):
    """The argument of a task is in shared memory, too."""
    assert found["in a task"] == [True, True, True, True]
