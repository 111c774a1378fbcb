"""Arrays from one process to another on one host: ``python tests/bench/sharing.py``.

A process of its own receives arrays by a pipe and answers when it has read one byte of each page.
Figures are the medians of several rounds: time from sending to the answer, and the bytes that user
programs and the kernel copied, by the way of transport.  ``--bytes`` sets the sizes, ``--rounds``
how often, and ``--markdown FILE`` writes the table of the docs and, next to it, a plot.
``--often N`` shares and opens N times instead, and prints the growth of both processes.
Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import statistics
import sys
import time
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from import_time import commit, machine, releases, today
from plots import Line, lines

import interchange as ix

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10**6, 16 * 10**6, 256 * 10**6, 10**9)
MEGABYTE = 10**6
PAGE = mmap.PAGESIZE


# ---------------------------------------------------------------- what is sent


def shared_array(nbytes: int) -> ix.Array:
    """Return an Array in shared memory, whose pages exist."""
    descriptor = os.memfd_create("bench")
    os.ftruncate(descriptor, nbytes)
    block = mmap.mmap(descriptor, nbytes)
    os.close(descriptor)
    array = ix.from_buffer(block)
    np.asarray(array)[:] = 1
    return array


def ordinary(nbytes: int) -> np.ndarray:
    """Return an ndarray in memory of this process."""
    return np.ones(nbytes, np.uint8)


def torch_tensor(nbytes: int) -> Any:
    """Return a tensor in ordinary memory, which torch.multiprocessing moves to shared memory."""
    import torch
    import torch.multiprocessing  # its reducers

    return torch.ones(nbytes, dtype=torch.uint8)


def torch_shared(nbytes: int) -> Any:
    """Return a tensor that torch.multiprocessing has moved to shared memory before."""
    return torch_tensor(nbytes).share_memory_()


WAYS: dict[str, tuple[Callable[[int], Any], str, str]] = {
    "share": (shared_array, "`ix.share`, `ix.open_shared`; shared memory", "none"),
    "queue": (shared_array, "`multiprocessing`, an Array in shared memory", "none"),
    "copied": (lambda n: ix.asarray(ordinary(n)), "`multiprocessing`, an Array elsewhere", "1"),
    "pickle": (ordinary, "`multiprocessing`, pickle of an ndarray", "4"),
    "torch shared": (torch_shared, "`torch.multiprocessing`, shared before", "none"),
    "torch": (torch_tensor, "`torch.multiprocessing`, a tensor elsewhere", "1"),
    "Dask": (ordinary, "Dask, TCP, an ndarray", "2"),
    "Ray": (ordinary, "Ray's store, an ndarray", "1"),
}
"""Way of transport -> what makes the array, its name, copies of each element."""


# ---------------------------------------------------------------- the other process


def read(array: Any) -> int:
    """Return the sum of one byte of each page."""
    return int(np.from_dlpack(array)[::PAGE].sum())


def receive(pipe: Any) -> None:
    """Answer for each array that arrives, until None."""
    while (sent := pipe.recv()) is not None:
        array = ix.open_shared(sent) if isinstance(sent, ix.SharedHandle) else sent
        pipe.send(read(array))
        del array, sent


def transfer(way: str, array: Any, pipe: Any) -> float:
    """Return the time to send an array, and to get the answer [s]."""
    started = time.perf_counter()
    pipe.send(ix.share(array) if way == "share" else array)
    pages = pipe.recv()
    seconds = time.perf_counter() - started
    if pages != -(-array.nbytes // PAGE):
        raise RuntimeError(f"{way}: {pages} pages arrived")
    return seconds


def measure(way: str, nbytes: int, rounds: int) -> float:
    """Return the median time of a way [s]."""
    if way in CLUSTERS:
        return CLUSTERS[way](nbytes, rounds)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=receive, args=(theirs,), daemon=True)
    child.start()
    theirs.close()
    make = WAYS[way][0]
    times = []
    for _ in range(rounds + 1):  # the first one imports and connects
        array = make(nbytes)
        times.append(transfer(way, array, ours))
        del array
        gc.collect()
    ours.send(None)
    child.join()
    return statistics.median(times[1:])


def measure_dask(nbytes: int, rounds: int) -> float:
    """Return the median time from a worker to another one [s]."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        here, there = client.scheduler_info()["workers"]
        times = []
        for _ in range(rounds + 1):
            (sent,) = client.scatter([ordinary(nbytes)], workers=[here], hash=False)
            started = time.perf_counter()
            client.submit(read, sent, workers=[there], pure=False).result()
            times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def measure_ray(nbytes: int, rounds: int) -> float:
    """Return the median time from a driver to an actor [s]."""
    import ray

    quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    ray.init(num_cpus=1, object_store_memory=max(10**8, 4 * nbytes), **quiet)
    try:
        reader = ray.remote(read)
        times = []
        for _ in range(rounds + 1):
            array = ordinary(nbytes)
            started = time.perf_counter()
            ray.get(reader.remote(array))
            times.append(time.perf_counter() - started)
    finally:
        ray.shutdown()
    return statistics.median(times[1:])


CLUSTERS = {"Dask": measure_dask, "Ray": measure_ray}
NEEDED = {"torch": "torch", "torch shared": "torch", "Dask": "distributed", "Ray": "ray"}
PLOTTED = ("share", "torch", "Dask", "pickle")


# ---------------------------------------------------------------- latency and growth


def latency(count: int) -> tuple[float, float]:
    """Return the median times of `share`, and of opening memory that is not mapped yet [s]."""
    array = shared_array(PAGE)
    shares, opens = [], []
    for _ in range(count):
        started = time.perf_counter()
        handle = ix.share(array)
        shared = time.perf_counter()
        opened = ix.open_shared(handle)
        opens.append(time.perf_counter() - shared)
        shares.append(shared - started)
        del opened
    return statistics.median(shares), statistics.median(opens)


def state() -> tuple[int, int]:
    """Return descriptors and resident memory [KiB] of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    resident = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    return sum(1 for _ in Path("/proc/self/fd").iterdir()), resident


def open_often(pipe: Any) -> None:
    """Open every handle that arrives; answer None with the state of this process."""
    while True:
        handle = pipe.recv()
        if handle is None:
            gc.collect()
            pipe.send(state())
        elif handle == "end":
            return
        else:
            ix.open_shared(handle)
            pipe.send(0)


def grow(count: int) -> dict[str, Any]:
    """Share and open `count` times, and return how both processes have grown."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=open_often, args=(theirs,), daemon=True)
    child.start()
    array = shared_array(10 * PAGE)

    def share_often(times: int) -> list[tuple[int, int]]:
        for i in range(times):
            own = shared_array(PAGE) if i % 10 == 0 else array[i % 7 :]
            handle = ix.share(own)
            ours.send(handle)
            ours.recv()
        ours.send(None)
        gc.collect()
        return [state(), ours.recv()]

    before = share_often(1000)
    after = share_often(count)
    ours.send("end")
    child.join()
    names = ("exporter", "opener")
    return {
        name: {"descriptors": late[0] - early[0], "kilobytes": late[1] - early[1]}
        for name, early, late in zip(names, before, after, strict=True)
    }


# ---------------------------------------------------------------- the page


def table(found: dict[str, dict[int, float]]) -> str:
    """Return the table of times [ms]."""
    sizes = sorted({size for row in found.values() for size in row})
    heads = " | ".join(f"{size // MEGABYTE:,} MB" for size in sizes)
    text = [f"| Transport | Copies | {heads} |", f"|---|---|{'--:|' * len(sizes)}"]
    for way, row in found.items():
        _, name, copies = WAYS[way]
        cells = " | ".join(f"{1e3 * row[size]:,.2f}" if size in row else "" for size in sizes)
        text.append(f"| {name} | {copies} | {cells} |")
    return "\n".join(text)


def page(found: dict[str, dict[int, float]], times: tuple[float, float]) -> str:
    """Return the page: where it was measured, latency and table."""
    versions = ", ".join(
        f"{name} {version}"
        for name, version in releases(("numpy", "torch", "distributed", "ray")).items()
        if version
    )
    share, opening = (1e6 * one for one in times)
    where = (
        f"Measured on {today()} at commit {commit()}, on {machine()}, with {versions}, while"
        f" {os.getloadavg()[0]:.1f} processes wanted to run."
    )
    return (
        f"{where}\n`share` takes {share:.0f} µs, `open_shared` of memory that is not mapped yet"
        f" {opening:.0f} µs (medians).\nTimes are in ms, from sending to the answer of a process"
        f" that has read each page.\n\n{table(found)}\n"
    )


def main() -> int:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--often", type=int, metavar="N")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.often:
        print(json.dumps(grow(options.often)))
        return 0
    found: dict[str, dict[int, float]] = {}
    for way in options.ways:
        if not find_spec(NEEDED.get(way, "numpy")):
            continue
        found[way] = {size: measure(way, size, options.rounds) for size in options.bytes}
    text = page(found, latency(1000))
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
        ticks = [f"{size // MEGABYTE:,}" for size in options.bytes]
        series = [
            Line(way, [1e3 * row[size] for size in options.bytes])
            for way, row in found.items()
            if way in PLOTTED
        ]
        words = ("size [MB]", "time [ms]")
        plot = lines("Time to another process of the host", ticks, series, words)
        options.markdown.with_suffix(".svg").write_text(plot, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
