"""Two worker processes: Arrays are sent and returned with as many copies as ndarrays."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.interop, pytest.mark.slow]

COUNT = 8
ELEMENTS = 125_000  # of 8 bytes: large enough to be sent apart, small enough for any machine


def describe(array):
    """Return, in a worker, the address and the owner of an array."""
    import numpy as np

    if isinstance(array, np.ndarray):
        base = array
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        return type(base).__name__, array.flags.writeable
    return type(array.owner.obj).__name__, not array.readonly


def passed_on(array):
    """Return the argument."""
    return array


def same_memory(array, again):
    """Return whether a worker that holds an Array passes the same one to every task."""
    return array.ptr == again.ptr


@pytest.fixture
def arrays():
    """Return Arrays of numbers that do not compress."""
    random = np.random.default_rng(0)
    return [ix.asarray(random.random(ELEMENTS)) for _ in range(COUNT)]


def test_arrays_come_back_through_tasks(client, arrays, same):
    """An array is unchanged by being sent, used in a task, and returned."""
    sent = client.scatter(arrays, hash=False)

    found = client.gather(client.map(passed_on, sent, pure=False))

    assert all(map(same, found, arrays))


def test_every_kind_of_array_comes_back(client, traveller, same):
    """Layouts, element types and rights survive two processes."""
    (sent,) = client.scatter([traveller], hash=False)

    assert same(client.submit(passed_on, sent, pure=False).result(), traveller)


def test_arrays_within_the_graph_come_back(client, traveller, same):
    """An argument in the graph is pickled with it."""
    assert same(client.submit(passed_on, traveller, pure=False).result(), traveller)


@pytest.mark.parametrize("maker", [np.asarray, ix.asarray], ids=["numpy", "interchange"])
def test_a_worker_uses_the_memory_it_received_into(client, maker):
    """The array is over the writable buffer of the connection: no copy was made."""
    (sent,) = client.scatter([maker(np.random.default_rng(0).random(ELEMENTS))], hash=False)

    assert client.submit(describe, sent, pure=False).result() == ("ndarray", True)


def test_the_client_uses_the_memory_it_received_into(client, arrays):
    """The client uses the received memory, also through a scheduler without pickle buffers."""
    (sent,) = client.scatter(arrays[:1], hash=False)

    found = client.submit(passed_on, sent, pure=False).result()

    assert describe(found) == ("ndarray", True)


def test_arrays_go_from_worker_to_worker(client, arrays):
    """A task on one worker receives an array of another one."""
    workers = list(client.scheduler_info()["workers"])
    (here,) = client.scatter(arrays[:1], workers=workers[:1], hash=False)

    found = client.submit(describe, here, workers=workers[1:], pure=False).result()

    assert found == ("ndarray", True)


def test_tasks_of_one_worker_share_an_array(client, arrays):
    """Within a process nothing is sent."""
    (sent,) = client.scatter(arrays[:1], hash=False)

    assert client.submit(same_memory, sent, sent, pure=False).result()


def test_the_scheduler_knows_how_large_arrays_are(client, arrays):
    """The scheduler counts elements, as for ndarrays."""
    sent = client.scatter(arrays, hash=False)

    sizes = client.nbytes([future.key for future in sent], summary=False)

    assert set(sizes.values()) == {8 * ELEMENTS}


def test_a_dask_array_of_arrays_is_computed_by_the_cluster(client):
    """Blocks are created, computed and joined in other processes; the result is an Array."""
    da = pytest.importorskip("dask.array")
    numbers = np.arange(24.0).reshape(4, 6)
    blocks = da.from_array(ix.asarray(numbers), chunks=(2, 3), asarray=False)

    found = client.compute(blocks.map_blocks(lambda block: block + 1).rechunk((4, 2))).result()

    assert type(found) is ix.Array
    assert found.tolist() == (numbers + 1).tolist()


def test_blocks_made_by_workers_are_gathered_as_an_array(client):
    """The client has seen no Array before it receives one."""
    da = pytest.importorskip("dask.array")

    found = client.compute(da.ones((4, 6), chunks=(2, 3)).map_blocks(ix.from_dlpack)).result()

    assert type(found) is ix.Array
    assert found.tolist() == np.ones((4, 6)).tolist()
