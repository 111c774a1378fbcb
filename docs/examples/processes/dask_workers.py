"""Two Dask workers of one host: an Array in shared memory goes from one to the other uncopied."""

import numpy as np

import interchange as ix
from distributed import Client, LocalCluster


def table():
    """Return numbers in shared memory of a worker."""
    return ix.open_shared(ix.share(np.zeros(1_000_000), copy=True))


def look(array):
    """Return what another worker has received, and write into it."""
    array[0] = 7.0
    return type(array.owner).__name__, array.size


def first(array):
    """Return the first number."""
    return array[0].item()


def main():
    """Create an array on one worker, write it on the other one, and read it on the first."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        here, there = client.scheduler_info()["workers"]
        made = client.submit(table, workers=[here])
        seen = client.submit(look, made, workers=[there]).result()
        print(seen, client.submit(first, made, workers=[here]).result())


if __name__ == "__main__":
    main()
